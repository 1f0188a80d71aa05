"""What both stores share: their tables, their clock, their hooks."""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from keyfold.errors import (
    DeclarationInvalid,
    KeyfoldError,
    OptionInvalid,
    WrongTable,
)
from keyfold.model._keys import TableLike
from keyfold.model._requests import Request
from keyfold.model._tables import Table
from keyfold.store._cursors import KEY_BYTES, CursorBox, derive_key
from keyfold.store._plans import ApiCall, OnUnfit, RunContext
from keyfold.values import Item

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call of DynamoDB's API, as a hook sees it.

    A call that a client made again by itself is seen once for each try: `attempt` counts them, and
    `error` says what came of each that failed. What boto3 tries by itself is not seen.
    `request` is what was sent; the store may use it for the next call, so a hook that wants to
    keep of it what it is now copies that.
    """

    operation: str
    tables: tuple[str, ...]
    seconds: float
    consumed: float
    attempt: int
    error: KeyfoldError | None = None
    request: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


Hook = Callable[[CallRecord], None]


_LEAST_KEY_BYTES = 16


def check_cursor_key(key: bytes) -> None:
    """Raise OptionInvalid for a key that would not keep cursors secret."""
    if not isinstance(key, bytes) or len(key) < _LEAST_KEY_BYTES:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        # What it is stays out of the message: it may be a secret.
        received = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__  # pyright: ignore[reportUnnecessaryIsInstance] - as above
        advice = f"Give {_LEAST_KEY_BYTES} random bytes or more."
        raise OptionInvalid("cursor_key", received, advice)


def real_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class StoreSettings:
    """How a store runs requests."""

    is_guarded = False
    principal = ""

    def __init__(
        self,
        tables: Sequence[Table],
        *,
        cursor_key: bytes | None = None,
        clock: Clock = real_now,
        on_invalid: OnUnfit = "raise",
        on_call: Sequence[Hook] = (),
        jitter: Callable[[], float] = random.random,
        is_embedded: bool = False,
    ) -> None:
        for table in tables:
            if not isinstance(table, Table):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
                raise OptionInvalid("tables", table, "Give a Table, or several.")
            table.check()
        if clock().tzinfo is None:
            raise OptionInvalid("clock", clock(), "Give a clock whose times have a time zone.")
        self.tables = {table.name: table for table in tables}
        if len(self.tables) != len(tables):
            raise DeclarationInvalid(("a store takes tables of different names.",))
        if on_invalid not in ("raise", "raw"):
            raise OptionInvalid("on_invalid", on_invalid, "Give 'raise' or 'raw'.")
        if cursor_key is not None:
            check_cursor_key(cursor_key)
        self.clock = clock
        self.on_invalid: OnUnfit = on_invalid
        self.on_call = tuple(on_call)
        self.reports_capacity = bool(self.on_call)
        self.jitter = jitter
        # Whether tables that are needed may be made unasked.
        self.is_embedded = is_embedded
        self._cursor_key = cursor_key
        self._cursors: CursorBox | None = None

    @property
    def cursors(self) -> CursorBox:
        """What seals cursors; without a key that was given, they last as long as the store."""
        if self._cursors is None:
            if self._cursor_key is None:
                message = "no cursor_key was given: cursors will not outlive this process"
                warnings.warn(message, stacklevel=2)
            secret = self._cursor_key or os.urandom(KEY_BYTES)
            self._cursors = CursorBox(derive_key(secret))
        return self._cursors

    def start(self, request: Request[Any]) -> RunContext:
        """Return what a plan needs to know, now; raises WrongTable."""
        self.check(request)
        return RunContext(self.clock(), self)

    def check(self, request: Request[Any]) -> None:
        """Raise WrongTable for a request of another table."""
        for table in request.tables:
            # Not by way of check_table: every request comes past here.
            if self.tables.get(table.name) is not table:
                raise WrongTable(table.name, tuple(self.tables))

    def check_administration(self, operation: str, table: TableLike) -> None:
        """Raise AccessDenied for whoever may run requests alone; here, nobody."""

    def check_table(self, table: TableLike) -> None:
        """Raise WrongTable for a table that the store was not opened for."""
        if self.tables.get(table.name) is not table:
            raise WrongTable(table.name, tuple(self.tables))

    def seal(self, position: Item, binding: str) -> str:
        """Seal a cursor; the key is only looked for when there is one to seal."""
        return self.cursors.seal(position, binding)

    def open(self, cursor: str, binding: str) -> Item:
        """Open a cursor; raises CursorInvalid."""
        return self.cursors.open(cursor, binding)

    def use_cursor_key(self, key: bytes) -> None:
        """Seal cursors with this key from now on."""
        self._cursor_key, self._cursors = key, None

    def tell(
        self,
        call: ApiCall,
        seconds: float,
        response: dict[str, Any] | None,
        error: KeyfoldError | None = None,
    ) -> None:
        """Tell the hooks about a try of a call."""
        consumed = (response or {}).get("ConsumedCapacity")
        reports: list[Any] = consumed if isinstance(consumed, list) else [consumed or {}]  # pyright: ignore[reportUnknownVariableType]
        units = sum(float(each.get("CapacityUnits", 0.0)) for each in reports)
        record = CallRecord(
            call.operation,
            _tables_in(call.request),
            seconds,
            units,
            call.attempt,
            error,
            call.request,
        )
        for hook in self.on_call:
            hook(record)


class CallObserver:
    """Tells the hooks of each try of one call, and how long it took."""

    def __init__(self, settings: StoreSettings, call: ApiCall) -> None:
        self._settings, self._call = settings, call
        self._since = time.perf_counter()

    def note(self, error: KeyfoldError, pause_seconds: float) -> None:
        """Note what came of a try that is made again, after a pause."""
        self.end(None, error)
        self._call = self._call._replace(attempt=self._call.attempt + 1)
        self._since = time.perf_counter() + pause_seconds

    def end(self, response: dict[str, Any] | None, error: KeyfoldError | None = None) -> None:
        """Note what came of the last try."""
        seconds = max(time.perf_counter() - self._since, 0.0)
        self._settings.tell(self._call, seconds, response, error)


def _tables_in(request: dict[str, Any]) -> tuple[str, ...]:
    if "TableName" in request:
        return (request["TableName"],)
    if "RequestItems" in request:
        return tuple(request["RequestItems"])
    bodies = [body for member in request.get("TransactItems", ()) for body in member.values()]
    return tuple(dict.fromkeys(body["TableName"] for body in bodies))
