"""Durations and times on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import typer

from keyfold.cli._times import parse_duration, parse_time


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("48h", timedelta(hours=48)),
        ("30m", timedelta(minutes=30)),
        ("10s", timedelta(seconds=10)),
        ("2d", timedelta(days=2)),
        ("1d12h", timedelta(days=1, hours=12)),
        ("1.5h", timedelta(minutes=90)),
        ("PT48H", timedelta(hours=48)),
        ("90", timedelta(seconds=90)),
        ("0", timedelta()),
    ],
)
def test_a_duration_has_units_or_is_in_seconds_or_iso_8601(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "soon", "48 hours", "h", "4w", "9999999999d", "٣h", "1h-1m"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        parse_duration(text)
    assert str(refused.value) == (
        f"{text!r} is not a duration. Give one such as 48h, 30m, 1d12h or PT48H."
    )


@pytest.mark.parametrize(
    "text",
    ["2024-01-01T12:00Z", "2024-01-01T12:00", "2024-01-01 12:00:00", "2024-01-01T14:00+02:00"],
)
def test_a_time_without_a_zone_is_in_utc(text: str) -> None:
    assert parse_time(text) == datetime(2024, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "noon", "1704067200", "2024-13-01"])
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a time"):
        parse_time(text)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59Z", "1969-12-31", "0001-01-01"])
def test_a_time_that_leaves_no_room_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is out of range"):
        parse_time(text)
