"""The options and results of following a table.

Separate from the modules that do it, which a store imports only when it first follows a table.
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
DeadLetterState = Literal["failed", "waiting", "retrying"]

# The name of a lease table is that of the followed table with this suffix.
LEASE_TABLE_ENDING = "-leases"
# The limit of GetRecords.
_MAX_RECORDS = 1_000
_match_name = re.compile(r"[A-Za-z0-9_.-]{1,100}").fullmatch


class Stop(Protocol):
    """Signals when to stop: a `threading.Event` or an `asyncio.Event`."""

    def is_set(self) -> bool:
        """Return whether it is time to stop."""
        ...


@dataclass(frozen=True, slots=True)
class Followed:
    """The result of following: records read, successful handler calls, dead letters added.

    `gaps` counts the places where the stream had dropped records before they were read.
    """

    records: int = 0
    handled: int = 0
    dead_letters: int = 0
    gaps: int = 0


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A change that a handler failed on, or that waits behind such a change.

    `state` is "failed", "waiting" for an earlier change of the same item, or "retrying" if it is
    marked for retry. `error` is the last error of the handler, with its type.
    """

    handler: str
    key: str
    kind: str
    changed_at: datetime
    added_at: datetime
    state: DeadLetterState
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """The options of a worker; see `Store.follow`."""

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
    """Validate the options of a worker; raises OptionInvalid, WrongTable, DeclarationInvalid."""
    settings.check_table(table)
    table.check()
    if not table.handlers:
        advice = f"Declare one with @{table.name}.on_change."
        raise OptionInvalid("table", table.name, f"It has no change handlers. {advice}")
    for option, text in (("name", name), ("worker", worker)):
        if text is not None and _match_name(text) is None:
            advice = "Give 1 to 100 letters, digits, '_', '-' and '.'."
            raise OptionInvalid(option, text, advice)
    if start not in ("oldest", "latest"):
        raise OptionInvalid("start", start, "Give 'oldest' or 'latest'.")
    if not 1 <= batch <= _MAX_RECORDS:
        raise OptionInvalid("batch", batch, f"Give a number from 1 to {_MAX_RECORDS}.")
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
    """Return the default name of the lease table for a followed table."""
    return table.name + LEASE_TABLE_ENDING
