"""Sets are stored with sorted members, whichever operation writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.engine import Engine

KEY = {"pk": {"S": "a"}}
CREATE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "by", "AttributeType": "S"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-by",
            "KeySchema": [{"AttributeName": "by", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        yield engine
        assert engine.verify() == []


def _stored(engine: Engine) -> dict[str, Any]:
    return engine.execute("GetItem", {"TableName": "things", "Key": KEY})["Item"]


def _item(**attributes: Any) -> dict[str, Any]:
    return KEY | attributes


UNSORTED = {"ss": {"SS": ["b", "a"]}, "ns": {"NS": ["10", "9"]}, "bs": {"BS": [b"\xff", b"i"]}}
SORTED = {"ss": {"SS": ["a", "b"]}, "ns": {"NS": ["9", "10"]}, "bs": {"BS": [b"i", b"\xff"]}}

WRITES: dict[str, tuple[str, dict[str, Any]]] = {
    "put": ("PutItem", {"TableName": "things", "Item": _item(**UNSORTED)}),
    "batch": (
        "BatchWriteItem",
        {"RequestItems": {"things": [{"PutRequest": {"Item": _item(**UNSORTED)}}]}},
    ),
    "transaction": (
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": "things", "Item": _item(**UNSORTED)}}]},
    ),
    "set": (
        "UpdateItem",
        {
            "TableName": "things",
            "Key": KEY,
            "UpdateExpression": "SET ss = :s, ns = :n ADD bs :b",
            "ExpressionAttributeValues": {
                ":s": UNSORTED["ss"],
                ":n": UNSORTED["ns"],
                ":b": UNSORTED["bs"],
            },
        },
    ),
    "legacy update": (
        "UpdateItem",
        {
            "TableName": "things",
            "Key": KEY,
            "AttributeUpdates": {name: {"Value": value} for name, value in UNSORTED.items()},
        },
    ),
    "statement": (
        "ExecuteStatement",
        {
            "Statement": "INSERT INTO things VALUE "
            "{'pk': 'a', 'ss': <<'b', 'a'>>, 'ns': <<10, 9>>, 'bs': ?}",
            "Parameters": [UNSORTED["bs"]],
        },
    ),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_write_sorts_sets(engine: Engine, write: str) -> None:
    operation, request = WRITES[write]
    engine.execute(operation, request)
    assert _stored(engine) == _item(**SORTED)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE things SET ss = set_add(ss, <<'aa', '0'>>) WHERE pk = 'a'", None],
    ids=["PartiQL", "ADD"],
)
def test_members_are_added_in_their_places(engine: Engine, statement: str | None) -> None:
    engine.execute("PutItem", {"TableName": "things", "Item": _item(ss={"SS": ["b", "a", "c"]})})
    if statement is not None:
        engine.execute("ExecuteStatement", {"Statement": statement})
    else:
        engine.execute(
            "UpdateItem",
            {
                "TableName": "things",
                "Key": KEY,
                "UpdateExpression": "ADD ss :new",
                "ExpressionAttributeValues": {":new": {"SS": ["b", "aa", "0"]}},
            },
        )
    assert _stored(engine) == _item(ss={"SS": ["0", "a", "aa", "b", "c"]})


def test_the_same_set_in_another_order_moves_no_index_and_is_no_change(engine: Engine) -> None:
    written = {"by": {"S": "x"}, **SORTED}
    put = {"TableName": "things", "ReturnConsumedCapacity": "INDEXES"}
    first = engine.execute("PutItem", put | {"Item": _item(**written)})["ConsumedCapacity"]
    assert first["GlobalSecondaryIndexes"]["by-by"] == {"CapacityUnits": 1}
    again = engine.execute("PutItem", put | {"Item": _item(**written | UNSORTED)})
    assert "GlobalSecondaryIndexes" not in again["ConsumedCapacity"]
    stream = engine.execute("ListStreams", {"TableName": "things"})["Streams"][0]["StreamArn"]
    shards = engine.execute("DescribeStream", {"StreamArn": stream})["StreamDescription"]["Shards"]
    start = {"StreamArn": stream, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = engine.execute("GetShardIterator", start | {"ShardId": shards[0]["ShardId"]})
    records = engine.execute("GetRecords", {"ShardIterator": iterator["ShardIterator"]})
    assert len(records["Records"]) == 1
