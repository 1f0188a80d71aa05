"""The roads to a database: the engine in process, or our server by a client of some kind.

Tests that take a `road` run on each; all but the embedded one belong to `make test-endpoints`,
save for those that are marked with `every_road`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import boto3
import pytest
from botocore.config import Config

from keyfold.wire.client import Client
from keyfold.wire.client._boto import BotoClient

Road = Literal["embedded", "client", "boto3"]

_AFAR: tuple[Road, ...] = ("client", "boto3")


def list_roads(*, is_representative: bool) -> list[Any]:
    """The parameters of a test; a representative one takes every road in each run of the tests."""
    marks = () if is_representative else (pytest.mark.endpoints,)
    return ["embedded", *(pytest.param(road, marks=marks) for road in _AFAR)]


def parametrize(metafunc: pytest.Metafunc, fixture: str) -> None:
    """Have a test that asks for a fixture, however indirectly, run on every road."""
    if fixture in metafunc.fixturenames and "road" in metafunc.fixturenames:
        if metafunc.definition.get_closest_marker("embedded") is not None:
            metafunc.parametrize("road", ["embedded"], indirect=True)
            return
        chosen = metafunc.definition.get_closest_marker("every_road") is not None
        metafunc.parametrize("road", list_roads(is_representative=chosen), indirect=True)


@cache
def _session() -> Any:
    return boto3.Session(aws_access_key_id="key", aws_secret_access_key="secret")


def make_boto_client(url: str, service: str = "dynamodb") -> Any:
    """A boto3 client of an endpoint, which leaves retries to us."""
    config = Config(retries={"total_max_attempts": 1})
    return _session().client(service, region_name="us-east-1", endpoint_url=url, config=config)


@contextmanager
def executor_on(road: Road, url: str) -> Generator[Callable[[str, dict[str, Any]], Any]]:
    """What calls an endpoint, by the road's own kind of client."""
    if road == "boto3":
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
