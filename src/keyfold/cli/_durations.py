"""Parsing of durations: 48h, 1d12h, PT48H, or a number of seconds."""

from __future__ import annotations

import re
from datetime import timedelta

import typer

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)([dhms])")
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
