"""A clock that tests can set and advance."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import isfinite

from keyfold.clocks import Clock as AnyClock
from keyfold.clocks import check_clock
from keyfold.errors import OptionInvalid


class Clock:
    """Returns the time in seconds since 1970, and can be set and advanced.

    Every `clock` option of Keyfold takes one: of stores, engines, clients, id sources and services.

    It follows the machine's clock, or another that is given, until `set` stops it; created with a
    time, it is stopped there from the beginning.

    >>> from datetime import UTC, datetime, timedelta
    >>> clock = Clock(datetime(2026, 1, 1, tzinfo=UTC))
    >>> clock.advance(timedelta(hours=1))
    >>> clock.now().isoformat()
    '2026-01-01T01:00:00+00:00'

    Raises OptionInvalid for a datetime without a time zone, and for values that are not finite
    numbers.
    """

    def __init__(self, at: datetime | float | AnyClock | None = None) -> None:
        self._lock = threading.Lock()
        self._watchers: list[Callable[[], None]] = []
        # Read while the clock is running; None is the machine's clock, as it is at each reading,
        # since freezegun and others replace `time.time`.
        self._source: AnyClock | None = None
        # Added to the source's time.
        self._offset_seconds = 0.0
        self._stopped_at: float | None = None
        if callable(at):
            check_clock(at)
            self._source = at
        elif at is not None:
            self._stopped_at = _to_seconds("at", at)

    def __call__(self) -> float:
        """Return the seconds since 1970."""
        stopped_at = self._stopped_at
        if stopped_at is not None:
            return stopped_at
        return (self._source or time.time)() + self._offset_seconds

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.fromtimestamp(self(), UTC)

    def advance(self, by: timedelta | float) -> None:
        """Move forward by `by` seconds or a timedelta. A running clock keeps running from there."""
        seconds = by.total_seconds() if isinstance(by, timedelta) else by
        if not _is_number(seconds) or seconds < 0:
            raise OptionInvalid(
                "by", by, "Give seconds, 0 or more, or a timedelta. Use `set` to go back."
            )
        with self._lock:
            if self._stopped_at is None:
                self._offset_seconds += seconds
            else:
                self._stopped_at += seconds
        self._notify_watchers()

    def set(self, at: datetime | float) -> None:
        """Stop the clock at a time, earlier or later, until it is advanced or set again."""
        seconds = _to_seconds("at", at)
        with self._lock:
            self._stopped_at = seconds
        self._notify_watchers()

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` whenever the clock is moved; return a function that ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _notify_watchers(self) -> None:
        for watcher in list(self._watchers):
            watcher()

    def __repr__(self) -> str:
        state = "running" if self._stopped_at is None else "stopped"
        return f"<Clock {self.now().isoformat()}, {state}>"


def _to_seconds(option: str, at: datetime | float) -> float:
    if isinstance(at, datetime):
        if at.tzinfo is None:
            advice = "Give it a time zone, as in datetime(…, tzinfo=UTC)."
            raise OptionInvalid(option, at, advice)
        return at.timestamp()
    if not _is_number(at):
        raise OptionInvalid(
            option, at, "Give a datetime with a time zone, seconds since 1970, or a clock."
        )
    return float(at)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
