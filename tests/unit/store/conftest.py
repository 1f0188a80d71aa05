"""Stores of both kinds, sync and async, in memory and on a file."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from keyfold.model import Table
from keyfold.store import Executor
from keyfold.testing import Clock
from tests.transports import Database, Transport, find_transport, open_database, parametrize
from tests.unit.model.shop import accounts, desk, market, rates
from tests.unit.store.store_kinds import START, AsyncSide, Kind, OpenSide, Side, Sites, side_on


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what opens stores on every road to a database."""
    parametrize(metafunc)


@pytest.fixture(autouse=True)
def closed_sides() -> Iterator[None]:
    """Close what a test that fails, as some must on engines of others, leaves open."""
    yield
    for side in list(AsyncSide.living):
        side.close()


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> Transport:
    """How the database is reached."""
    return find_transport(request)


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
def sites(transport: Transport, clock: Clock) -> Iterator[Sites]:
    """The databases of a test, by their URLs."""
    with Sites(transport, clock) as sites:
        yield sites


@pytest.fixture
def open_store(kind: Kind, sites: Sites) -> Iterator[OpenSide]:
    """What opens stores, which are closed after the test."""
    opened: list[Side] = []

    def open_one(tables: Table | Sequence[Table], url: Any = ":memory:", **options: Any) -> Side:
        side = sites.open(kind, tables, url, **options)
        opened.append(side)
        return side

    yield open_one
    for side in opened:
        side.close()


@pytest.fixture
def engine(transport: Transport, clock: Clock) -> Iterator[Database]:
    """An engine without tables, for stores that a test makes itself."""
    with open_database(transport, clock=clock) as engine:
        yield engine


@pytest.fixture
def token() -> str:
    """A token for transactions, which are told apart by it in all of a service."""
    return secrets.token_hex(8)


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
