"""Settings shared by the sync and async stores: tables, clock, cursor key and hooks."""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from datetime import datetime
from typing import Any, Self, cast

from keyfold.clocks import Clock, check_clock, read_as_datetime
from keyfold.errors import (
    DeclarationInvalid,
    KeyfoldError,
    OptionInvalid,
    WrongTable,
)
from keyfold.model._calls import ApiCall, Calls
from keyfold.model._keys import TableLike
from keyfold.model._requests import Request
from keyfold.model._tables import Table
from keyfold.store._call_records import (
    CallRecord,
    Hook,
    is_logged,
    list_hooks,
    log_call,
    tables_in,
)
from keyfold.store._cursors import CursorBox
from keyfold.store._handles import Handles, derive_handle_key
from keyfold.store._plans import OnInvalid
from keyfold.store._read_ratios import ReadRatios
from keyfold.store._sealing import KEY_BYTES, derive_key
from keyfold.store._system_keys import find_system_keys
from keyfold.values import Item

_MIN_KEY_BYTES = 16


def check_cursor_key(key: bytes) -> None:
    """Raise OptionInvalid for a key that is too short to keep cursors secret."""
    if not isinstance(key, bytes) or len(key) < _MIN_KEY_BYTES:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        # The message does not show the value: it may be a secret.
        received = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__  # pyright: ignore[reportUnnecessaryIsInstance] - as above
        advice = f"Give at least {_MIN_KEY_BYTES} random bytes."
        raise OptionInvalid("cursor_key", received, advice)


class StoreSettings:
    """The tables of a store, and how it runs requests on them."""

    is_guarded = False
    principal = ""

    def __init__(
        self,
        tables: Sequence[Table],
        *,
        cursor_key: bytes | None = None,
        clock: Clock = time.time,
        on_invalid: OnInvalid = "report",
        on_call: Hook | Sequence[Hook] = (),
        jitter: Callable[[], float] = random.random,
        is_embedded: bool = False,
    ) -> None:
        for table in tables:
            if not isinstance(table, Table):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
                raise OptionInvalid("tables", table, "Give a Table, or several.")
            table.check()
        check_clock(clock)
        self.tables = {table.name: table for table in tables}
        if len(self.tables) != len(tables):
            raise DeclarationInvalid(("the tables of a store must have different names.",))
        if on_invalid not in ("report", "raise"):
            raise OptionInvalid("on_invalid", on_invalid, "Give 'report' or 'raise'.")
        if cursor_key is not None:
            check_cursor_key(cursor_key)
        self.clock, self.now = clock, read_as_datetime(clock)
        self.on_invalid: OnInvalid = on_invalid
        self.on_call = list_hooks(on_call)
        self.reports_capacity = bool(self.on_call)
        self.jitter = jitter
        self.read_ratios = ReadRatios()
        # Whether missing tables may be created without being asked to.
        self.is_embedded = is_embedded
        self._cursor_key = cursor_key
        self._cursors: CursorBox | None = None
        self._handles: Handles | None = None

    @property
    def cursors(self) -> CursorBox:
        """Seals and opens cursors; without a `cursor_key` they are only valid in this store."""
        if self._cursors is None:
            if self._cursor_key is None:
                message = "no cursor_key was given: cursors will be invalid after this process ends"
                warnings.warn(message, stacklevel=2)
            secret = self._cursor_key or os.urandom(KEY_BYTES)
            self._cursors = CursorBox(derive_key(secret, "cursor"))
        return self._cursors

    @property
    def handles(self) -> Handles | None:
        """Shows and reads ids as end users see them; None where ids are not hidden."""
        return None

    def make_handles(self) -> Handles:
        """Return the handles of no principal, to make others from; raises OptionInvalid without a key."""
        if self._handles is None:
            if self._cursor_key is None:
                advice = (
                    f"Handles have to stay the same: give at least {_MIN_KEY_BYTES} random bytes."
                )
                raise OptionInvalid("cursor_key", None, advice)
            kinds = {kind for table in self.tables.values() for kind in find_system_keys(table)}
            # Kept: finding the types and compiling patterns for them takes a millisecond.
            self._handles = Handles(kinds, derive_handle_key(self._cursor_key))
        return self._handles

    def with_hook(self, hook: Hook) -> Self:
        """Return the same settings with one more hook, which is called after the others."""
        made = copy(self)
        made.on_call = (*self.on_call, hook)
        made.reports_capacity = True
        return made

    def derive_secret(self, purpose: str) -> bytes:
        """Return a secret for one purpose; raises OptionInvalid if the store has no key."""
        if self._cursor_key is None:
            advice = (
                f"Other processes have to know it: give at least {_MIN_KEY_BYTES} random bytes."
            )
            raise OptionInvalid("cursor_key", None, advice)
        return derive_key(self._cursor_key, f"secret of {purpose}")

    def show_tables(self) -> str:
        """Return the names of the tables, for the text of a store."""
        return ", ".join(self.tables)

    def admit(self, request: Request[Any], now: datetime) -> Calls:
        """Return the calls that a request is known to make.

        Raises WrongTable if it is for a table that the store was not opened for.
        """
        for table in request.tables:
            # Inlined rather than calling check_table: this runs for every request.
            if self.tables.get(table.name) is not table:
                raise WrongTable(table.name, tuple(self.tables))
        return request.calls(now)

    def admit_raw(self, operation: str, request: dict[str, Any]) -> ApiCall:
        """Return a raw call, which may be made: a store that is no principal's denies nothing."""
        return ApiCall(operation, request)

    def check_call(self, call: ApiCall) -> None:
        """Raise AccessDenied in the store of a principal, for a call that its role denies."""

    def check_administration(self, operation: str, table: TableLike) -> None:
        """Raise AccessDenied in the store of a principal, which may only run requests."""

    def check_table(self, table: TableLike) -> None:
        """Raise WrongTable for a table that the store was not opened for."""
        if self.tables.get(table.name) is not table:
            raise WrongTable(table.name, tuple(self.tables))

    def seal(self, position: Item, binding: str) -> str:
        """Return the sealed cursor of a position; it opens only with the same binding."""
        return self.cursors.seal(position, binding)

    def open(self, cursor: str, binding: str) -> Item:
        """Return the position of a cursor; raises CursorInvalid."""
        return self.cursors.open(cursor, binding)

    def use_cursor_key(self, key: bytes) -> None:
        """Seal cursors with this key from now on."""
        self._cursor_key, self._cursors, self._handles = key, None, None

    def notify_hooks(
        self,
        call: ApiCall,
        seconds: float,
        response: dict[str, Any] | None,
        error: KeyfoldError | None = None,
    ) -> None:
        """Call the hooks with the record of one attempt of a call."""
        consumed: Any = None if response is None else response.get("ConsumedCapacity")
        if not consumed:
            units = 0.0
        elif isinstance(consumed, list):
            reports = cast("list[dict[str, Any]]", consumed)
            units = sum(float(each.get("CapacityUnits", 0.0)) for each in reports)
        else:
            units = float(consumed.get("CapacityUnits", 0.0))
        record = CallRecord(
            call.operation,
            tables_in(call.request),
            seconds,
            units,
            call.attempt,
            error,
            call.request,
            call.is_lookup,
        )
        for hook in self.on_call:
            hook(record)
        if is_logged():
            log_call(record)


class CallObserver:
    """Times each attempt of one call, and reports it to the hooks."""

    def __init__(self, settings: StoreSettings, call: ApiCall) -> None:
        self._settings, self._call = settings, call
        self._started = time.perf_counter()

    def record_retry(self, error: KeyfoldError, pause_seconds: float) -> None:
        """Report a failed attempt that is retried after a pause."""
        self.finish(None, error)
        self._call = self._call._replace(attempt=self._call.attempt + 1)
        self._started = time.perf_counter() + pause_seconds

    def finish(self, response: dict[str, Any] | None, error: KeyfoldError | None = None) -> None:
        """Report the last attempt."""
        seconds = max(time.perf_counter() - self._started, 0.0)
        self._settings.notify_hooks(self._call, seconds, response, error)
