"""The roads to a database: the engine in process, our server by a client, somebody else's engine.

Tests that take a `road` run on each of the first two kinds; all but the embedded one belong to
`make test-endpoints`, save for those that are marked with `all_transports`. With `--engine NAME` they
run on that engine alone: `tests/endpoints` says which there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
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

# When the tests of stores and designs begin: engines of others, which tell the time by themselves,
# do not live to see anything of theirs expire.
START = datetime(2100, 1, 1, tzinfo=UTC)

Kind = Literal["embedded", "client", "boto3", "foreign"]
Execute = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Transport:
    """How the databases of a test are reached; `url` is where somebody else's engine listens."""

    kind: Kind
    url: str = ""

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """How an engine of others may refuse a table, or that its items expire.

        What has no use for that does without; what has finds that it is not there.
        """
        return (UnknownOperationException, ValidationException) if self.kind == "foreign" else ()


class Database(Protocol):
    """A database of a test's own, which speaks DynamoDB's API."""

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raises ServiceError."""
        ...

    def run_upkeep(self) -> int:
        """Do what is due by now; return how many items have expired."""
        ...


class OwnTime(Exception):
    """What somebody else's engine does in the background, and when, is not for a test to say."""


def parametrize(metafunc: pytest.Metafunc, by: tuple[Kind, ...] = ("client", "boto3")) -> None:
    """Have a test that asks for a road, however indirectly, run on every one of them.

    `by` is what our server can be reached by.
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
        transports += [pytest.param(each, marks=marks) for each in by]
    metafunc.parametrize("transport", transports, indirect=True)


def find_transport(request: pytest.FixtureRequest) -> Transport:
    """Return the road that a test was given; an engine of others is started with the first."""
    kind: Kind = request.param
    if kind == "foreign":
        return Transport(kind, request.getfixturevalue("foreign_url"))
    return Transport(kind)


@cache
def _session() -> Any:
    return boto3.Session(aws_access_key_id="key", aws_secret_access_key="secret")


def make_boto_client(url: str, service: str = "dynamodb") -> Any:
    """A boto3 client of an endpoint, which leaves retries to us."""
    config = Config(retries={"total_max_attempts": 1})
    return _session().client(service, region_name="us-east-1", endpoint_url=url, config=config)


@contextmanager
def executor_on(transport: Transport, url: str) -> Generator[Execute]:
    """What calls an endpoint, by the road's own kind of client."""
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
    """A key for cursors, which no endpoint keeps for its users."""
    return os.urandom(32)


class _Far:
    """An engine of ours, behind a server."""

    def __init__(self, execute: Execute, engine: Engine) -> None:
        self._execute, self._engine = execute, engine

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._execute(operation, request)

    def run_upkeep(self) -> int:
        return self._engine.run_upkeep()


@contextmanager
def open_database(transport: Transport, *, clock: Clock, **options: Any) -> Generator[Database]:
    """A new database, in memory, whose engine takes `options` if it is ours."""
    if transport.kind == "foreign":
        with place_abroad(transport) as place, Client(place.url, endpoint=place.endpoint) as client:
            yield _Foreign(client)
        return
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None, **options) as engine:
        if transport.kind == "embedded":
            yield engine
        else:
            with Server(engine).running() as url, executor_on(transport, url) as execute:
                yield _Far(execute, engine)
        assert engine.verify() == []


# Somebody else's engine.

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Place:
    """A database that no other test sees: tables with a prefix of their own."""

    url: str
    endpoint: str


class _Foreign:
    def __init__(self, client: Client) -> None:
        self._client = client

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._client.execute(operation, request)

    def run_upkeep(self) -> int:
        raise OwnTime("its background work cannot be run from here")


@contextmanager
def place_abroad(transport: Transport) -> Generator[Place]:
    """A new database on somebody else's engine, whose tables are removed in the end."""
    prefix = f"test{next(_numbers)}-"
    try:
        yield Place(f"dynamodb://us-east-1/{prefix}", transport.url)
    finally:
        with Client(transport.url) as client:
            for name in client.execute("ListTables", {})["TableNames"]:
                if name.startswith(prefix):
                    client.execute("DeleteTable", {"TableName": name})
