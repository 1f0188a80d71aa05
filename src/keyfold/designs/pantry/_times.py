"""Times of join links, in any spelling of ISO 8601 that says how far they are from UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone

_match_extended = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"T([0-9]{2})(?::([0-9]{2})(?::([0-9]{2}))?)?(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2})(?::([0-9]{2}))?)"
).fullmatch
_HOUR, _MINUTE, _SECOND = 3_600_000_000, 60_000_000, 1_000_000  # in microseconds
_LAST_HOUR, _LAST_MINUTE, _LEAP_SECOND = 23, 59, 60


def write_time(moment: datetime) -> str:
    """Return a time as links are written: in UTC, always with microseconds.

    >>> write_time(datetime(2026, 1, 31, 12, tzinfo=UTC))
    '2026-01-31T12:00:00.000000Z'
    """
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def read_time(text: str) -> datetime:
    """Return the time of a text, in UTC: in the extended format, or in another spelling of ISO 8601.

    >>> read_time("2026-01-31T13:00+01:00") == read_time("20260131T120000Z")
    True

    Raises ValueError for any other text, and for a time without an offset from UTC.
    """
    found = _match_extended(text)
    try:
        if found is not None:
            return _read_extended(*found.groups())
        # The basic format, dates by week, a space or lower case letters.
        moment = datetime.fromisoformat(text.strip().upper().replace(" ", "T", 1))
        if moment.tzinfo is None:
            raise ValueError(text)
        return moment.astimezone(UTC)
    except (OverflowError, ValueError):
        example = "such as 2026-01-31T12:00Z"
        fact = f"{text!r:.60} is not a time of ISO 8601 with an offset, {example}"
        raise ValueError(fact) from None


def _read_extended(
    day: str,
    hours: str,
    minutes: str | None,
    seconds: str | None,
    fraction: str | None,
    sign: str | None,
    offset_hours: str | None,
    offset_minutes: str | None,
) -> datetime:
    passed = int(hours) * _HOUR + int(minutes or 0) * _MINUTE + int(seconds or 0) * _SECOND
    if fraction is not None:
        # It is a fraction of the last number before it.
        unit = _HOUR if minutes is None else _MINUTE if seconds is None else _SECOND
        passed += int(fraction) * unit // 10 ** len(fraction)
    is_in_day = int(hours) <= _LAST_HOUR or passed == 24 * _HOUR
    if not is_in_day or int(minutes or 0) > _LAST_MINUTE or int(seconds or 0) > _LEAP_SECOND:
        raise ValueError(day)
    if int(offset_minutes or 0) > _LAST_MINUTE:
        raise ValueError(day)
    offset = timedelta(hours=int(offset_hours or 0), minutes=int(offset_minutes or 0))
    zone = timezone(-offset if sign == "-" else offset)
    midnight = datetime.combine(date.fromisoformat(day), time(tzinfo=zone))
    return (midnight + timedelta(microseconds=passed)).astimezone(UTC)
