"""Clocks and durations: what every `clock` option takes, and options such as `expiry_grace`.

A clock is a function that returns the seconds since 1970, as `time.time` does. Tests pass a
`keyfold.testing.Clock`, which they can move, or a fixed time, such as
`datetime(2026, 1, 1, tzinfo=UTC).timestamp`. What measures durations takes `monotonic` instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any

from keyfold.errors import OptionInvalid

__all__ = ["Clock", "Duration", "check_clock", "read_as_datetime", "read_duration"]

Clock = Callable[[], float]
# A length of time, as options take it: a timedelta, or a number of seconds.
Duration = timedelta | float

_MOST_SECONDS = 100 * 365 * 86_400


def check_clock(clock: Any) -> None:
    """Raise OptionInvalid for something that is not a clock."""
    advice = (
        "Give a function that returns the seconds since 1970: time.time, a "
        "keyfold.testing.Clock, or the timestamp method of a datetime."
    )
    if not callable(clock):
        raise OptionInvalid("clock", clock, advice)
    seconds = clock()
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not isfinite(seconds):
        raise OptionInvalid("clock", seconds, advice)


def read_duration(option: str, value: Duration) -> float:
    """Return a duration in seconds; raises OptionInvalid unless it is from 0 to 100 years.

    >>> read_duration("expiry_grace", timedelta(hours=48))
    172800.0
    """
    seconds: Any = value.total_seconds() if isinstance(value, timedelta) else value
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if is_number and 0 <= seconds <= _MOST_SECONDS:
        return float(seconds)
    advice = "Give a duration from 0 to 100 years: a timedelta, or a number of seconds."
    raise OptionInvalid(option, value, advice)


def read_as_datetime(clock: Clock) -> Callable[[], datetime]:
    """Return a function that reads a clock as a time in UTC.

    >>> read_as_datetime(lambda: 1_750_000_000.0)().isoformat()
    '2025-06-15T15:06:40+00:00'
    """
    if clock is time.time:
        # One reading instead of two: stores do this for every request.
        return _now
    return lambda: datetime.fromtimestamp(clock(), UTC)


def _now() -> datetime:
    return datetime.now(UTC)
