"""Table descriptions: sizes, counts and deletion protection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import ResourceNotFoundException, ValidationException
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import CREATE, TABLE, get, put

ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
SIX_HOURS = 6 * 3_600
LARGE = 20_000


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(":memory:", clock=clock, new_id=lambda: "id", upkeep_seconds=None) as engine:
        yield engine
        assert engine.verify() == []


def _index(name: str, *key: str, projection: dict[str, Any]) -> dict[str, Any]:
    kinds = ("HASH", "RANGE")
    schema = [
        {"AttributeName": attribute, "KeyType": kind}
        for attribute, kind in zip(key, kinds, strict=False)
    ]
    return {"IndexName": name, "KeySchema": schema, "Projection": projection}


def _definitions(**types: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def _describe(engine: Engine, name: str = TABLE) -> dict[str, Any]:
    return engine.execute("DescribeTable", {"TableName": name})["Table"]


def _create_with_indexes(engine: Engine) -> None:
    engine.execute(
        "CreateTable",
        {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": _definitions(pk="S", sk="N", a="S"),
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "LocalSecondaryIndexes": [
                _index("local", "pk", "a", projection={"ProjectionType": "ALL"})
            ],
            "GlobalSecondaryIndexes": [
                _index("keys", "a", projection={"ProjectionType": "KEYS_ONLY"}),
                _index(
                    "some",
                    *("a", "sk"),
                    projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
                ),
            ],
        },
    )


def test_a_description_counts_items_and_bytes_of_table_and_indexes(engine: Engine) -> None:
    _create_with_indexes(engine)
    for number in range(1, 4):
        item: dict[str, Any] = {"pk": {"S": "p"}, "sk": {"N": str(number)}, "y": {"S": "y" * 20}}
        if number != 2:
            item |= {"a": {"S": "aa"}, "x": {"S": "x" * 10}}
        engine.execute("PutItem", {"TableName": TABLE, "Item": item})
    table = _describe(engine)
    keys, rest = (2 + 1) + (2 + 2), 1 + 20
    inside, more = 1 + 2, 1 + 10
    assert (table["ItemCount"], table["TableSizeBytes"]) == (
        3,
        3 * (keys + rest) + 2 * (inside + more),
    )
    indexes = {
        index["IndexName"]: (index["ItemCount"], index["IndexSizeBytes"])
        for index in table["LocalSecondaryIndexes"] + table["GlobalSecondaryIndexes"]
    }
    assert indexes == {
        "local": (2, 2 * (keys + rest + inside + more)),
        "keys": (2, 2 * (keys + inside)),
        "some": (2, 2 * (keys + inside + more)),
    }


def test_a_small_table_is_counted_at_each_request(engine: Engine) -> None:
    engine.execute("CreateTable", CREATE)
    assert (_describe(engine)["ItemCount"], _describe(engine)["TableSizeBytes"]) == (0, 0)
    for number in range(1, 4):
        put(engine, f"thing-{number}")
        assert _describe(engine)["ItemCount"] == number
    put(engine, "thing-1", more={"S": "x" * 100})
    assert _describe(engine)["ItemCount"] == 3
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": "thing-1"}}})
    table = _describe(engine)
    assert (table["ItemCount"], table["TableSizeBytes"]) == (2, 2 * (2 + len("thing-1")))


def test_a_large_table_is_counted_every_six_hours(engine: Engine, clock: Clock) -> None:
    engine.execute("CreateTable", CREATE)
    for start in range(0, LARGE + 1, 25):
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": f"thing-{number}"}}}}
            for number in range(start, min(start + 25, LARGE + 1))
        ]
        engine.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})
    assert _describe(engine)["ItemCount"] == LARGE + 1
    put(engine, "new")
    assert _describe(engine)["ItemCount"] == LARGE + 1
    clock.let_pass(SIX_HOURS - 1)
    assert _describe(engine)["ItemCount"] == LARGE + 1
    clock.let_pass(1)
    assert _describe(engine)["ItemCount"] == LARGE + 2
    put(engine, "newer")
    clock.let_pass(SIX_HOURS - 1)
    assert _describe(engine)["ItemCount"] == LARGE + 2


def test_a_new_table_is_described_as_it_was_created(engine: Engine, clock: Clock) -> None:
    created = engine.execute("CreateTable", CREATE)["TableDescription"]
    expected = {
        **{name: CREATE[name] for name in ("TableName", "AttributeDefinitions", "KeySchema")},
        "TableStatus": "ACTIVE",
        "CreationDateTime": clock.now,
        "ProvisionedThroughput": {
            "NumberOfDecreasesToday": 0,
            "ReadCapacityUnits": 0,
            "WriteCapacityUnits": 0,
        },
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": ARN,
        "TableId": "id",
        "DeletionProtectionEnabled": False,
        "BillingModeSummary": {
            "BillingMode": "PAY_PER_REQUEST",
            "LastUpdateToPayPerRequestDateTime": clock.now,
        },
    }
    assert created == {**expected, "TableStatus": "CREATING"}
    assert _describe(engine) == expected
    assert _describe(engine, ARN) == expected


def test_a_protected_table_is_not_deleted(engine: Engine) -> None:
    engine.execute("CreateTable", {**CREATE, "DeletionProtectionEnabled": True})
    put(engine, "there")
    assert _describe(engine)["DeletionProtectionEnabled"] is True
    for _ in range(2):
        with pytest.raises(ValidationException, match="currently protected against deletion"):
            engine.execute("DeleteTable", {"TableName": TABLE})
    assert get(engine, "there") is not None
    engine.execute("UpdateTable", {"TableName": TABLE, "DeletionProtectionEnabled": False})
    answer = engine.execute("DeleteTable", {"TableName": TABLE})["TableDescription"]
    assert (answer["TableStatus"], answer["DeletionProtectionEnabled"]) == ("DELETING", False)
    with pytest.raises(ResourceNotFoundException, match=f"Table: {TABLE} not found"):
        _describe(engine)


def test_protection_can_be_enabled_later_and_is_stored_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path) as engine:
        engine.execute("CreateTable", CREATE)
        changed = engine.execute(
            "UpdateTable", {"TableName": TABLE, "DeletionProtectionEnabled": True}
        )
        assert changed["TableDescription"]["DeletionProtectionEnabled"] is True
    with (
        Engine.open(path) as engine,
        pytest.raises(ValidationException, match="Disable deletion protection first"),
    ):
        engine.execute("DeleteTable", {"TableName": TABLE})


def test_a_protected_table_can_still_be_changed(engine: Engine) -> None:
    engine.execute("CreateTable", {**CREATE, "DeletionProtectionEnabled": True})
    put(engine, "there")
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": "there"}}})
    assert get(engine, "there") is None
    engine.execute("UpdateTable", {"TableName": TABLE, "TableClass": "STANDARD_INFREQUENT_ACCESS"})
    assert _describe(engine)["DeletionProtectionEnabled"] is True
