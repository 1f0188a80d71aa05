"""What hostile requests cost: counted in events of the interpreter, never in seconds.

Each attack is made at two sizes, one of them four times the other. What grows with the size of the
request may cost four times as much; what was quadratic cost sixteen times as much.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.errors import ServiceError

TABLE: dict[str, Any] = {
    "TableName": "Things",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
# What is linear may grow by four, and a little more.
LINEAR = 5.0
# The longest answer that an error may be, whatever was sent.
LONGEST_ERROR = 200_000


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", TABLE)
        yield engine


def key(number: int = 0) -> dict[str, Any]:
    return {"pk": {"S": "a"}, "sk": {"N": str(number)}}


def count_events(work: Callable[[], object]) -> int:
    """Return how many Python and C functions `work` calls."""
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def refusal(engine: Engine, operation: str, request: dict[str, Any]) -> ServiceError:
    """Return the error of a request that is refused."""
    with pytest.raises(ServiceError) as caught:
        engine.execute_json(operation, orjson.dumps(request))
    return caught.value


def growth(engine: Engine, make: Callable[[int], tuple[str, dict[str, Any]]], size: int) -> float:
    """Return how much more a request of four times the size costs; it may be refused."""

    def run(number: int) -> int:
        operation, request = make(number)
        body = orjson.dumps(request)

        def work() -> None:
            with contextlib.suppress(ServiceError):
                engine.execute_json(operation, body)

        return count_events(work)

    run(1)  # what is done once
    return run(size * 4) / run(size)


GET = {"Get": {"TableName": "Things", "Key": key()}}
PUT = {"PutRequest": {"Item": key()}}

QUOTING: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "a transaction of too many reads": (
        "TransactGetItems",
        lambda count: {"TransactItems": [GET] * count},
    ),
    "a transaction of nothing": (
        "TransactWriteItems",
        lambda count: {"TransactItems": [{}] * count},
    ),
    "a batch of too many writes": (
        "BatchWriteItem",
        lambda count: {"RequestItems": {"Things": [PUT] * count}},
    ),
    "a set with duplicates": (
        "PutItem",
        lambda count: {"TableName": "Things", "Item": {**key(), "s": {"SS": ["x"] * count}}},
    ),
    "placeholders that are not used": (
        "Query",
        lambda count: {
            "TableName": "Things",
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {
                ":p": {"S": "a"},
                **{f":v{number}": {"S": ""} for number in range(count)},
            },
        },
    ),
    "a long name of a table": ("DescribeTable", lambda count: {"TableName": "x" * count}),
    "a long name in a map": (
        "BatchWriteItem",
        lambda count: {"RequestItems": {"x" * count: [{"PutRequest": {}}]}},
    ),
}


@pytest.mark.parametrize("attack", QUOTING)
def test_an_error_quotes_a_bounded_part_of_the_request(engine: Engine, attack: str) -> None:
    operation, make = QUOTING[attack]
    error = refusal(engine, operation, make(60_000))
    assert len(str(error)) < LONGEST_ERROR


@pytest.mark.parametrize("attack", QUOTING)
def test_a_refusal_costs_no_more_than_its_size(engine: Engine, attack: str) -> None:
    operation, make = QUOTING[attack]
    assert growth(engine, lambda count: (operation, make(count)), 1_000) < LINEAR
