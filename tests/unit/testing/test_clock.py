"""The clock: it follows the machine, and goes where it is told."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from keyfold.errors import OptionInvalid
from keyfold.testing import Clock

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the machine says, to be moved by the test."""
    now = [1_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def test_it_follows_the_machine(machine: list[float]) -> None:
    clock = Clock()
    assert clock() == 1_000.0
    machine[0] = 1_005.0
    assert clock() == 1_005.0


def test_it_goes_on_from_where_it_was_moved(machine: list[float]) -> None:
    clock = Clock()
    clock.advance(60)
    clock.advance(timedelta(minutes=1))
    machine[0] += 5
    assert clock() == 1_125.0


def test_it_stands_where_it_is_set(machine: list[float]) -> None:
    clock = Clock()
    clock.set(NEW_YEAR)
    machine[0] += 5
    assert clock() == NEW_YEAR.timestamp()
    clock.advance(timedelta(days=1))
    assert clock.now() == datetime(2026, 1, 2, tzinfo=UTC)


def test_it_may_stand_from_the_beginning_and_go_back() -> None:
    clock = Clock(NEW_YEAR)
    clock.set(0)
    assert (clock(), clock.now()) == (0.0, datetime(1970, 1, 1, tzinfo=UTC))


def test_any_time_zone_will_do() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert Clock(datetime(2026, 1, 1, 9, tzinfo=tokyo)).now() == NEW_YEAR


@pytest.mark.parametrize("moment", [datetime(2026, 1, 1), "now", True, float("nan"), float("inf")])  # noqa: DTZ001 - what is refused
def test_a_moment_that_is_none_is_refused(moment: Any) -> None:
    with pytest.raises(OptionInvalid, match=r"^at: got .*\[option-invalid\]$"):
        Clock(moment)
    with pytest.raises(OptionInvalid):
        Clock().set(moment)


@pytest.mark.parametrize("step", [-1, timedelta(seconds=-1), "1", None, float("nan")])
def test_a_step_back_is_refused(step: Any) -> None:
    with pytest.raises(OptionInvalid, match=r"^by: got .*`set` goes back\. \[option-invalid\]$"):
        Clock().advance(step)


def test_watchers_hear_of_every_move() -> None:
    clock, heard = Clock(NEW_YEAR), list[float]()
    stop = clock.watch(lambda: heard.append(clock()))
    clock.advance(1)
    clock.set(5)
    stop()
    clock.advance(1)
    assert heard == [NEW_YEAR.timestamp() + 1, 5.0]


def test_it_shows_where_it_stands() -> None:
    assert repr(Clock(NEW_YEAR)) == "<Clock 2026-01-01T00:00:00+00:00, stands>"
    assert repr(Clock()).endswith(", follows the machine>")
