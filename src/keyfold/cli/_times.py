"""Parsing of durations, such as 48h, 1d12h or PT48H, and of times, such as 2026-01-31T12:00Z."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import typer

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_PART = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?)([dhms])")
_FIRST_YEAR, _LAST_YEAR = 1971, 8999
_PARTS = re.compile(rf"(?:{_PART.pattern})+")


def parse_units(text: str) -> timedelta | None:
    """Return the duration of a text with units; None if it is something else.

    >>> parse_units("48h"), parse_units("1d12h"), parse_units("soon")
    (datetime.timedelta(days=2), datetime.timedelta(days=1, seconds=43200), None)
    """
    if _PARTS.fullmatch(text) is None:
        return None
    parts = (timedelta(**{_UNITS[unit]: float(count)}) for count, unit in _PART.findall(text))
    try:
        return sum(parts, timedelta())
    except OverflowError:
        return None


def parse_duration(text: str) -> timedelta:
    """Return the duration that an option gives; raises BadParameter."""
    is_number = text.replace(".", "", 1).isdecimal()
    duration = parse_units(f"{text}s" if is_number else text)
    if duration is not None:
        return duration
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(timedelta).validate_strings(text)  # ISO 8601
    except ValidationError:
        fact = f"{text!r:.80} is not a duration. Give one such as 48h, 30m, 1d12h or PT48H."
        raise typer.BadParameter(fact) from None


def parse_time(text: str) -> datetime:
    """Return the time that an option gives, in UTC unless it has a time zone; raises BadParameter."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        fact = f"{text!r:.80} is not a time. Give one such as 2026-01-31T12:00Z."
        raise typer.BadParameter(fact) from None
    # A pattern may look some years back or ahead, and Python's years end with 9999.
    if not _FIRST_YEAR <= time.year <= _LAST_YEAR:
        fact = f"{text!r:.80} is out of range. Give a time from {_FIRST_YEAR} to {_LAST_YEAR}."
        raise typer.BadParameter(fact)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
