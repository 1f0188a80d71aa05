"""What a follower is told, and what it tells.

It stands apart from the rest, which a store loads when it first follows something.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from keyfold.errors import OptionInvalid
from keyfold.model._tables import Table
from keyfold.store._settings import StoreSettings

Start = Literal["oldest", "latest"]
DeadLetterState = Literal["failed", "waiting", "again"]

# What the name of a lease table ends in, after that of the table which is followed.
LEASE_TABLE_ENDING = "-leases"
# As many as GetRecords returns at once.
_MOST_RECORDS = 1_000
_match_name = re.compile(r"[A-Za-z0-9_.-]{1,100}").fullmatch


class Stop(Protocol):
    """Something that tells when to stop: an event of threading's or of asyncio's."""

    def is_set(self) -> bool:
        """Tell whether it is time."""
        ...


@dataclass(frozen=True, slots=True)
class Followed:
    """What a worker has done: records read, calls of handlers that went well, changes parked.

    `gaps` counts where the stream had dropped records before they were read.
    """

    records: int = 0
    handled: int = 0
    dead_letters: int = 0
    gaps: int = 0


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A change that a handler could not take, as people are shown it.

    `state` is "failed", "waiting" for an earlier change of the same item, or "again" when it is
    to be tried again. `error` is what the handler raised last.
    """

    handler: str
    key: str
    kind: str
    changed_at: datetime
    parked_at: datetime
    state: DeadLetterState
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """What a worker was told; `Store.follow` explains them."""

    table: Table
    name: str
    worker: str
    start: Start
    batch: int
    attempts: int
    lease_seconds: float
    poll_seconds: float
    until_caught_up: bool
    stop: Stop | None
    leases: str
    may_set_up: bool


def read_options(
    settings: StoreSettings,
    table: Table,
    *,
    name: str,
    worker: str | None,
    start: Start,
    batch: int,
    attempts: int,
    lease_seconds: float,
    poll_seconds: float,
    until_caught_up: bool,
    stop: Stop | None,
    leases: str | None,
    setup: bool | None,
) -> FollowOptions:
    """Return what a worker is told; raises OptionInvalid, WrongTable, DeclarationInvalid."""
    settings.check_table(table)
    table.check()
    if not table.handlers:
        advice = f"Declare one with @{table.name}.on_change."
        raise OptionInvalid("table", table.name, f"Nothing is told of its changes. {advice}")
    for option, text in (("name", name), ("worker", worker)):
        if text is not None and _match_name(text) is None:
            advice = "Give 1 to 100 letters, digits, '_', '-' and '.'."
            raise OptionInvalid(option, text, advice)
    if start not in ("oldest", "latest"):
        raise OptionInvalid("start", start, "Give 'oldest' or 'latest'.")
    if not 1 <= batch <= _MOST_RECORDS:
        raise OptionInvalid("batch", batch, f"Give a number from 1 to {_MOST_RECORDS}.")
    for option, number in (
        ("attempts", attempts),
        ("lease_seconds", lease_seconds),
        ("poll_seconds", poll_seconds),
    ):
        if not number > 0:
            raise OptionInvalid(option, number, "Give a number greater than 0.")
    return FollowOptions(
        table=table,
        name=name,
        worker=worker or f"{socket.gethostname()[:40]}.{os.getpid()}.{os.urandom(4).hex()}",
        start=start,
        batch=batch,
        attempts=attempts,
        lease_seconds=lease_seconds,
        poll_seconds=poll_seconds,
        until_caught_up=until_caught_up,
        stop=stop,
        leases=leases or lease_table_name(table),
        may_set_up=settings.is_embedded if setup is None else setup,
    )


def lease_table_name(table: Table) -> str:
    """Return the name of the table in which followers of another keep how far they are."""
    return table.name + LEASE_TABLE_ENDING
