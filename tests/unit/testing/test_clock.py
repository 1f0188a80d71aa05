"""The clock: follows the machine, and can be moved, set and stopped."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast

import pytest

import keyfold
from keyfold import Entity, Expiry, Key, Table, Ulid, attr
from keyfold.engine import Engine
from keyfold.errors import OptionInvalid
from keyfold.keys import UlidSource
from keyfold.testing import Clock
from keyfold.wire.server import Server

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the machine's time by a value that the test changes."""
    now = [1_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def test_the_clock_follows_the_machine(machine: list[float]) -> None:
    clock = Clock()
    assert clock() == 1_000.0
    machine[0] = 1_005.0
    assert clock() == 1_005.0


def test_an_advanced_clock_keeps_running(machine: list[float]) -> None:
    clock = Clock()
    clock.advance(60)
    clock.advance(timedelta(minutes=1))
    machine[0] += 5
    assert clock() == 1_125.0


def test_a_clock_that_is_set_stops(machine: list[float]) -> None:
    clock = Clock()
    clock.set(NEW_YEAR)
    machine[0] += 5
    assert clock() == NEW_YEAR.timestamp()
    clock.advance(timedelta(days=1))
    assert clock.now() == datetime(2026, 1, 2, tzinfo=UTC)


def test_a_clock_may_start_stopped_and_be_set_back() -> None:
    clock = Clock(NEW_YEAR)
    clock.set(0)
    assert (clock(), clock.now()) == (0.0, datetime(1970, 1, 1, tzinfo=UTC))


def test_a_clock_may_follow_another() -> None:
    now = [100.0]
    clock = Clock(lambda: now[0])
    clock.advance(50)
    now[0] = 200.0
    assert clock() == 250.0
    with pytest.raises(OptionInvalid, match="seconds since 1970"):
        Clock(cast(Any, lambda: NEW_YEAR))


def test_one_clock_serves_every_part(tmp_path: Path) -> None:
    clock = Clock(NEW_YEAR)
    songs = Table("Songs", key=Key("pk"), ttl="ttl")

    class Song(Entity, table=songs, key="SONG#{id}"):
        id: str
        expires: Expiry | None = attr("ttl", default=None)

    assert Ulid.new(source=UlidSource(clock=clock)).time == NEW_YEAR
    with (
        Engine.open(":memory:", clock=clock) as engine,
        Server(engine).running() as url,
    ):
        stores = [
            keyfold.open(songs, tmp_path / "songs.db", clock=clock),
            keyfold.open(songs, url, clock=clock),
        ]
        for store in stores:
            with store:
                store.create_table(songs)
                store.run(Song(id="a").put().expiring_in(timedelta(hours=1)))
                assert store.run(Song.get(id="a")) is not None
                clock.advance(timedelta(hours=2))
                assert store.run(Song.get(id="a")) is None


def test_any_time_zone_is_accepted() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert Clock(datetime(2026, 1, 1, 9, tzinfo=tokyo)).now() == NEW_YEAR


@pytest.mark.parametrize("invalid", [datetime(2026, 1, 1), "now", True, float("nan"), float("inf")])  # noqa: DTZ001 - what is refused
def test_an_invalid_time_is_refused(invalid: Any) -> None:
    with pytest.raises(OptionInvalid, match=r"^at: got .*\[option-invalid\]$"):
        Clock(invalid)
    with pytest.raises(OptionInvalid):
        Clock().set(invalid)


@pytest.mark.parametrize("step", [-1, timedelta(seconds=-1), "1", None, float("nan")])
def test_a_step_back_is_refused(step: Any) -> None:
    with pytest.raises(
        OptionInvalid, match=r"^by: got .*Use `set` to go back\. \[option-invalid\]$"
    ):
        Clock().advance(step)


def test_watchers_are_called_at_every_move() -> None:
    clock, times = Clock(NEW_YEAR), list[float]()
    stop = clock.watch(lambda: times.append(clock()))
    clock.advance(1)
    clock.set(5)
    stop()
    clock.advance(1)
    assert times == [NEW_YEAR.timestamp() + 1, 5.0]


def test_repr_shows_the_time_and_whether_it_is_stopped() -> None:
    assert repr(Clock(NEW_YEAR)) == "<Clock 2026-01-01T00:00:00+00:00, stopped>"
    assert repr(Clock()).endswith(", running>")
