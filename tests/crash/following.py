"""A process that follows a table until it is killed, and notes what it was told.

    python -m tests.crash.following FILE WORKER

What it was told goes into another table of the same file: one item for each change, with how often
it came, and one for each account with the changes in the order of their coming.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import keyfold
from keyfold import Change, Entity, Key, Request, Store, Table, part

LEASE_SECONDS = 0.3
SHARD_RECORDS = 40

accounts = Table("Accounts", key=Key("pk"), stream="new and old")
notes = Table("Notes", key=Key("pk"))


class Account(Entity, table=accounts, key="A#{name}"):
    name: str = part()
    number: int


class Note(Entity, table=notes, key="N#{name}"):
    """The numbers that an account had, as a handler was told."""

    name: str = part()
    told: list[int]


@accounts.on_change(Account)
def note(change: Change[Account]) -> Iterator[Request[Any]]:
    """Add the number to what was told of the account."""
    account = change.new
    assert account is not None
    yield Note(name=account.name, told=[]).create().or_get()
    yield Note.update(name=account.name).append(Note.f.told, account.number)


def open_both(path: str) -> Store:
    """Open the file, whose shards are split often."""
    return keyfold.open([accounts, notes], path, busy_seconds=120.0, shard_records=SHARD_RECORDS)


def main() -> None:
    path, worker = sys.argv[1:]
    with open_both(path) as store:
        os.write(1, b"ready\n")
        store.follow(
            accounts,
            worker=worker,
            batch=7,
            lease_seconds=LEASE_SECONDS,
            poll_seconds=0.01,
        )


if __name__ == "__main__":
    main()
