"""Fixtures for pytest, available wherever Keyfold is installed.

Everything is imported inside the fixtures, so that test runs without them do not pay for it.
"""

# ruff: noqa: ARG001, PLC0415 - fixtures requested for their effect; imports: see above

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from keyfold.engine import Engine
    from keyfold.testing import LintTable, OpenAsyncStore, OpenStore, Service


@pytest.fixture
def keyfold_dynamodb() -> Iterator[Service]:
    """DynamoDB in memory for one test: the clients of boto3, aioboto3 and Keyfold use it."""
    from keyfold.testing import dynamodb

    with dynamodb() as service:
        yield service


@pytest.fixture
def keyfold_engine(keyfold_dynamodb: Service) -> Engine:
    """The engine of `keyfold_dynamodb`, for direct calls."""
    return keyfold_dynamodb.engine


@pytest.fixture
def keyfold_store(keyfold_dynamodb: Service) -> OpenStore:
    """Opens stores on `keyfold_dynamodb`, with its clock and faults: `keyfold_store(table)`."""
    return keyfold_dynamodb.open


@pytest.fixture
def keyfold_async_store(keyfold_dynamodb: Service) -> OpenAsyncStore:
    """Opens async stores on `keyfold_dynamodb`: `keyfold_async_store(table)`."""
    return keyfold_dynamodb.open_async


@pytest.fixture
def keyfold_client(keyfold_dynamodb: Service) -> Any:
    """A boto3 client of `keyfold_dynamodb`."""
    from importlib import import_module

    return import_module("boto3").client("dynamodb")


@pytest.fixture
def keyfold_resource(keyfold_dynamodb: Service) -> Any:
    """A boto3 resource of `keyfold_dynamodb`."""
    from importlib import import_module

    return import_module("boto3").resource("dynamodb")


@pytest.fixture
def keyfold_endpoint(keyfold_dynamodb: Service) -> Iterator[str]:
    """The URL of a server for `keyfold_dynamodb`, for other processes and languages."""
    from keyfold.wire.server import Server

    with Server(keyfold_dynamodb).running() as url:
        yield url


@pytest.fixture
def keyfold_lint() -> LintTable:
    """Reviews tables: `keyfold_lint(table)` fails if lint has a warning about one."""
    from keyfold.testing._lint import lint_table

    return lint_table
