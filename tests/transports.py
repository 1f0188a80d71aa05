"""Transports to a database: the engine in process, our server through a client, another engine.

Tests that use the `transport` fixture run on the first two kinds, and in process with global indexes
that lag behind writes, as DynamoDB's do. All but the embedded one belong to `make test-endpoints`,
except for tests marked with `all_transports`, and with `indexes` for indexes that lag. With
`--engine NAME` they run on that engine only; `tests/endpoints` lists the engines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import count
from typing import Any, Literal, Protocol

import boto3
import pytest
from botocore.config import Config

from keyfold.engine import Engine
from keyfold.errors import UnknownOperationException, ValidationException
from keyfold.testing import Clock
from keyfold.wire.client import Client
from keyfold.wire.client._boto import BotoClient
from keyfold.wire.server import Server
from tests.lagging import LaggingDatabase, open_lagging_core

# The start time of the tests of stores and designs. Other engines use the real time, so it is far
# enough in the future that nothing expires there during a test.
START = datetime(2100, 1, 1, tzinfo=UTC)

Kind = Literal["embedded", "lagging", "client", "boto3", "foreign"]
Execute = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Transport:
    """How the databases of a test are reached; `url` is the endpoint of another engine."""

    kind: Kind
    url: str = ""

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """The errors with which another engine may refuse a table, or its time to live.

        Tests that do not need the feature work without it; those that do fail later.
        """
        return (UnknownOperationException, ValidationException) if self.kind == "foreign" else ()


class Database(Protocol):
    """A test's own database with DynamoDB's API."""

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raises ServiceError."""
        ...

    def run_upkeep(self) -> int:
        """Run the background work that is due; return how many items have expired."""
        ...


class UpkeepUnavailable(Exception):
    """A test cannot trigger the background work of another engine."""


def parametrize(metafunc: pytest.Metafunc, by: tuple[Kind, ...] = ("client", "boto3")) -> None:
    """Run a test that uses the `transport` fixture, however indirectly, on every transport.

    `by` are the kinds of clients through which our server is reached.
    """
    if "transport" not in metafunc.fixturenames:
        return
    definition = metafunc.definition
    transports: list[Any] = ["embedded"]
    engine = metafunc.config.getoption("--engine")
    if definition.get_closest_marker("embedded") is not None:
        pass
    elif engine:
        transports = [pytest.param("foreign", id=str(engine))]
    else:
        chosen = definition.get_closest_marker("all_transports") is not None
        marks = () if chosen else (pytest.mark.endpoints,)
        lags = definition.get_closest_marker("indexes") is not None
        transports.append(pytest.param("lagging", marks=() if lags else (pytest.mark.endpoints,)))
        transports += [pytest.param(each, marks=marks) for each in by]
    metafunc.parametrize("transport", transports, indirect=True)


def find_transport(request: pytest.FixtureRequest) -> Transport:
    """Return the transport of a test; another engine is started by the first test that needs it."""
    kind: Kind = request.param
    if kind == "foreign":
        return Transport(kind, request.getfixturevalue("foreign_url"))
    return Transport(kind)


@cache
def _session() -> Any:
    return boto3.Session(aws_access_key_id="key", aws_secret_access_key="secret")


def make_boto_client(url: str, service: str = "dynamodb") -> Any:
    """Return a boto3 client of an endpoint, without boto3's retries."""
    config = Config(retries={"total_max_attempts": 1})
    return _session().client(service, region_name="us-east-1", endpoint_url=url, config=config)


@contextmanager
def executor_on(transport: Transport, url: str) -> Generator[Execute]:
    """Yield a function that calls an endpoint through the transport's kind of client."""
    if transport.kind == "boto3":
        clients = [make_boto_client(url, name) for name in ("dynamodb", "dynamodbstreams")]
        try:
            yield BotoClient(*clients).execute
        finally:
            for client in clients:
                client.close()
        return
    with Client(url) as client:
        yield client.execute


def new_cursor_key() -> bytes:
    """Return a cursor key; endpoints do not store one, unlike files."""
    return os.urandom(32)


class _ServedDatabase:
    """Our engine behind a server."""

    def __init__(self, execute: Execute, engine: Engine) -> None:
        self._execute, self._engine = execute, engine

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._execute(operation, request)

    def run_upkeep(self) -> int:
        return self._engine.run_upkeep()


@contextmanager
def open_database(transport: Transport, *, clock: Clock, **options: Any) -> Generator[Database]:
    """Open a new database in memory; `options` are for our engine only."""
    if transport.kind == "foreign":
        with (
            new_foreign_database(transport) as place,
            Client(place.url, endpoint=place.endpoint) as client,
        ):
            yield _ForeignExecutor(client)
        return
    if transport.kind == "lagging":
        records = options.get("shard_records")
        with closing(open_lagging_core(clock, shard_records=records)) as core:
            yield LaggingDatabase(core)
            assert core.engine.verify() == []
        return
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None, **options) as engine:
        if transport.kind == "embedded":
            yield engine
        else:
            with Server(engine).running() as url, executor_on(transport, url) as execute:
                yield _ServedDatabase(execute, engine)
        assert engine.verify() == []


# Other engines.

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class ForeignDatabase:
    """A database that no other test sees: its tables have a unique prefix."""

    url: str
    endpoint: str


class _ForeignExecutor:
    def __init__(self, client: Client) -> None:
        self._client = client

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._client.execute(operation, request)

    def run_upkeep(self) -> int:
        raise UpkeepUnavailable("the background work of another engine cannot be run from a test")


@contextmanager
def new_foreign_database(transport: Transport) -> Generator[ForeignDatabase]:
    """Yield a new database on another engine; its tables are deleted afterwards."""
    prefix = f"test{next(_numbers)}-"
    try:
        yield ForeignDatabase(f"dynamodb://us-east-1/{prefix}", transport.url)
    finally:
        with Client(transport.url) as client:
            for name in client.execute("ListTables", {})["TableNames"]:
                if name.startswith(prefix):
                    client.execute("DeleteTable", {"TableName": name})
