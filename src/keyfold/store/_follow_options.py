"""The options and results of following a table.

Separate from the modules that do it, which a store imports only when it first follows a table.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from keyfold.errors import OptionInvalid
from keyfold.model._tables import Table
from keyfold.store._settings import StoreSettings

if TYPE_CHECKING:
    from keyfold.store._followers import Follower

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
    """The arguments of `Store.follow`, which explains them."""

    table: Table
    _: KW_ONLY
    name: str = "default"
    worker: str | None = None
    start: Start = "oldest"
    batch: int = 100
    attempts: int = 5
    lease_seconds: float = 30.0
    poll_seconds: float = 1.0
    until_caught_up: bool = False
    stop: Stop | None = None
    leases: str | None = None
    setup: bool | None = None

    def check(self) -> None:
        """Raise OptionInvalid for an invalid option, DeclarationInvalid for an invalid table."""
        self.table.check()
        if not self.table.handlers:
            advice = f"Declare one with @{self.table.name}.on_change."
            raise OptionInvalid("table", self.table.name, f"It has no change handlers. {advice}")
        for option in ("name", "worker"):
            text = getattr(self, option)
            if text is not None and _match_name(text) is None:
                advice = "Give 1 to 100 letters, digits, '_', '-' and '.'."
                raise OptionInvalid(option, text, advice)
        if self.start not in ("oldest", "latest"):
            raise OptionInvalid("start", self.start, "Give 'oldest' or 'latest'.")
        if not 1 <= self.batch <= _MAX_RECORDS:
            raise OptionInvalid("batch", self.batch, f"Give a number from 1 to {_MAX_RECORDS}.")
        for option in ("attempts", "lease_seconds", "poll_seconds"):
            number = getattr(self, option)
            if not number > 0:
                raise OptionInvalid(option, number, "Give a number greater than 0.")


def open_follower(settings: StoreSettings, table: Table, name: str, leases: str | None) -> Follower:
    """Return a follower of a table; raises AccessDenied, WrongTable."""
    from keyfold.store._followers import Follower  # noqa: PLC0415 - loaded with the first one

    return Follower(settings, table, name, leases)


def lease_table_name(table: Table) -> str:
    """Return the default name of the lease table for a followed table."""
    return table.name + LEASE_TABLE_ENDING
