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
from tests.unit.store.store_kinds import (
    START,
    AnyStore,
    AsyncStoreAdapter,
    DatabasesByUrl,
    Kind,
    OpenStore,
    any_store_on,
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that open stores on every transport."""
    parametrize(metafunc)


@pytest.fixture(autouse=True)
def closed_stores() -> Iterator[None]:
    """Close stores that a failing test leaves open; some tests must fail on other engines."""
    yield
    for store in list(AsyncStoreAdapter.living):
        store.close()


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> Transport:
    """How the database is reached."""
    return find_transport(request)


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still until a test moves it."""
    return Clock(START)


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """The kind of store that a test runs on."""
    return request.param


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of the database: in memory, or a file."""
    return ":memory:" if request.param == "memory" else str(tmp_path / "store.db")


@pytest.fixture
def databases(transport: Transport, clock: Clock) -> Iterator[DatabasesByUrl]:
    """The databases of a test, by URL."""
    with DatabasesByUrl(transport, clock) as databases:
        yield databases


@pytest.fixture
def open_store(kind: Kind, databases: DatabasesByUrl) -> Iterator[OpenStore]:
    """A function that opens stores, which are closed after the test."""
    opened: list[AnyStore] = []

    def open_one(
        tables: Table | Sequence[Table], url: Any = ":memory:", **options: Any
    ) -> AnyStore:
        store = databases.open(kind, tables, url, **options)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def engine(transport: Transport, clock: Clock) -> Iterator[Database]:
    """An engine without tables, for stores that a test creates itself."""
    with open_database(transport, clock=clock) as engine:
        yield engine


@pytest.fixture
def token() -> str:
    """A token for transactions; random, because a service remembers those of earlier runs."""
    return secrets.token_hex(8)


@pytest.fixture
def make_store(kind: Kind, clock: Clock) -> Iterator[OpenStore]:
    """A function that makes stores on a given executor, closed after the test."""
    made: list[AnyStore] = []

    def make(executor: Executor, tables: Sequence[Table], **options: Any) -> AnyStore:
        store = any_store_on(kind, executor, tables, clock=clock, **options)
        made.append(store)
        return store

    yield make
    for store in made:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    """A store of all shared tables, in memory."""
    return open_store([rates, market, desk, accounts])
