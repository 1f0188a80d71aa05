"""Stores of both kinds, sync and async, in memory and on a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from keyfold.model import Table
from keyfold.store import Executor
from keyfold.testing import Clock
from tests.roads import Road, parametrize
from tests.unit.model.shop import accounts, desk, market, rates
from tests.unit.store.sides import START, Kind, OpenSide, Side, Sites, side_on


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what opens stores on every road to a database."""
    parametrize(metafunc, "open_store")


@pytest.fixture
def road(request: pytest.FixtureRequest) -> Road:
    """How the database is reached."""
    return request.param


@pytest.fixture
def clock() -> Clock:
    """A clock that stands until it is moved."""
    return Clock(START)


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Which of the stores a test runs on."""
    return request.param


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the database is."""
    return ":memory:" if request.param == "memory" else str(tmp_path / "store.db")


@pytest.fixture
def open_store(kind: Kind, clock: Clock, road: Road) -> Iterator[OpenSide]:
    """What opens stores, which are closed after the test."""
    opened: list[Side] = []
    with Sites(road) as sites:

        def open_one(
            tables: Table | Sequence[Table], url: Any = ":memory:", **options: Any
        ) -> Side:
            options.setdefault("clock", clock)
            side = sites.open(kind, tables, url, **options)
            opened.append(side)
            return side

        yield open_one
        for side in opened:
            side.close()


@pytest.fixture
def make_store(kind: Kind, clock: Clock) -> Iterator[OpenSide]:
    """What makes stores on an executor of the test's own."""
    made: list[Side] = []

    def make(executor: Executor, tables: Sequence[Table], **options: Any) -> Side:
        side = side_on(kind, executor, tables, clock=clock, **options)
        made.append(side)
        return side

    yield make
    for side in made:
        side.close()


@pytest.fixture
def store(open_store: OpenSide) -> Side:
    """A store of all the tables, in memory."""
    return open_store([rates, market, desk, accounts])
