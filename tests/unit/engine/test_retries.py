"""A request that finds its table changed by another process is retried, with the same outcome.

An invalid request still fails, with the same message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import ServiceError
from tests.unit.engine.storage.tables import ADD_INDEX, CREATE, DROP_INDEX, TABLE, create, get, put

KEY: dict[str, Any] = {"pk": {"S": "there"}}
NEW: dict[str, Any] = {"pk": {"S": "new"}}
BAD: dict[str, Any] = {"pk": {"N": "1"}}


def _open(path: Path) -> Engine:
    return Engine.open(path, durability="process", upkeep_seconds=None, clock=lambda: 0.0)


def _change_index(engine: Engine) -> None:
    described = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]
    has_one = "GlobalSecondaryIndexes" in described
    engine.execute("UpdateTable", DROP_INDEX if has_one else ADD_INDEX)


def _recreate(engine: Engine) -> None:
    # The new table has the old one's name, key and version, and the same item.
    engine.execute("DeleteTable", {"TableName": TABLE})
    create(engine)
    put(engine, "there", a={"S": "x"}, n={"N": "1"})


def _change_expiry(engine: Engine) -> None:
    described = engine.execute("DescribeTimeToLive", {"TableName": TABLE})
    is_off = described["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED"
    specification = {"AttributeName": "ttl", "Enabled": is_off}
    engine.execute(
        "UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": specification}
    )


Change = Callable[[Engine], None]


def _open_three(path: Path) -> Generator[list[Engine]]:
    with _open(path) as one, _open(path) as two, _open(path) as other:
        create(one)
        put(one, "there", a={"S": "x"}, n={"N": "1"})
        yield [one, two, other]
        assert one.verify() == two.verify() == other.verify() == []


@pytest.fixture
def engines(tmp_path: Path) -> Generator[list[Engine]]:
    """Three engines on one file."""
    yield from _open_three(tmp_path / "things.db")


@pytest.fixture(scope="module")
def shared_engines(tmp_path_factory: pytest.TempPathFactory) -> Generator[list[Engine]]:
    """Three engines on one file, for tests whose requests change nothing."""
    yield from _open_three(tmp_path_factory.mktemp("lasting") / "things.db")


def _change(engines: list[Engine], change: Change) -> None:
    """Let the last engine change the table after all of them have cached its definition."""
    for engine in engines:
        assert get(engine, "there") is not None
    change(engines[-1])


changes = pytest.mark.parametrize(
    "change", [_change_index, _recreate, _change_expiry], ids=["index", "recreated", "expiry"]
)


def _update(text: str, **values: Any) -> dict[str, Any]:
    request: dict[str, Any] = {"TableName": TABLE, "Key": KEY, "UpdateExpression": text}
    if values:
        request["ExpressionAttributeValues"] = {f":{name}": it for name, it in values.items()}
    return request


def _query(text: str, **values: Any) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "KeyConditionExpression": text,
        "ExpressionAttributeValues": {f":{name}": it for name, it in values.items()},
    }


def _item(**attributes: Any) -> dict[str, Any]:
    return {"TableName": TABLE, "Item": {**NEW, **attributes}}


CONDITION: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(pk)"}
VALIDATION, SERIALIZATION = "ValidationException", "SerializationException"

REFUSED: dict[str, tuple[str, Any, str]] = {
    "no item": ("PutItem", {"TableName": TABLE}, VALIDATION),
    "no table": ("PutItem", {"Item": NEW}, VALIDATION),
    "an item that is a list": ("PutItem", {"TableName": TABLE, "Item": []}, SERIALIZATION),
    "a request that is a list": ("PutItem", [], SERIALIZATION),
    "an item without its key": ("PutItem", {"TableName": TABLE, "Item": {}}, VALIDATION),
    "a key of another type": ("PutItem", {"TableName": TABLE, "Item": BAD}, VALIDATION),
    "an empty key": ("PutItem", _item(pk={"S": ""}), VALIDATION),
    "a long key": ("PutItem", _item(pk={"S": "x" * 2_049}), VALIDATION),
    "no number": ("PutItem", _item(n={"N": "x"}), VALIDATION),
    "a number that is one": ("PutItem", _item(n={"N": 1}), SERIALIZATION),
    "an empty set": ("PutItem", _item(s={"SS": []}), VALIDATION),
    "an item that is too large": ("PutItem", _item(s={"S": "x" * 409_600}), VALIDATION),
    "unused expression values": (
        "PutItem",
        {**_item(), "ExpressionAttributeValues": {":v": {"S": "x"}}},
        VALIDATION,
    ),
    "a condition with a fault": (
        "PutItem",
        {**_item(), "ConditionExpression": "a = = :v"},
        VALIDATION,
    ),
    "a condition without its value": (
        "PutItem",
        {**_item(), "ConditionExpression": "a = :v"},
        VALIDATION,
    ),
    "a condition that does not hold": (
        "PutItem",
        {"TableName": TABLE, "Item": KEY, **CONDITION},
        "ConditionalCheckFailedException",
    ),
    "a return value of an update": (
        "PutItem",
        {**_item(), "ReturnValues": "ALL_NEW"},
        VALIDATION,
    ),
    "a key to get of another type": ("GetItem", {"TableName": TABLE, "Key": BAD}, VALIDATION),
    "a key to get with too much": (
        "GetItem",
        {"TableName": TABLE, "Key": {**KEY, "a": {"S": "x"}}},
        VALIDATION,
    ),
    "a projection with a fault": (
        "GetItem",
        {"TableName": TABLE, "Key": KEY, "ProjectionExpression": "a,,b"},
        VALIDATION,
    ),
    "a delete by another type": ("DeleteItem", {"TableName": TABLE, "Key": BAD}, VALIDATION),
    "an update of the key": ("UpdateItem", _update("SET pk = :v", v={"S": "x"}), VALIDATION),
    "an update with a fault": ("UpdateItem", _update("SET a"), VALIDATION),
    "a sum of text": ("UpdateItem", _update("SET a = a + :v", v={"N": "1"}), VALIDATION),
    "an update with an unused value": (
        "UpdateItem",
        _update("SET c = :v", v={"S": "x"}, w={"S": "x"}),
        VALIDATION,
    ),
    "a limit of nothing": ("Scan", {"TableName": TABLE, "Limit": 0}, VALIDATION),
    "a segment too far": (
        "Scan",
        {"TableName": TABLE, "Segment": 2, "TotalSegments": 2},
        VALIDATION,
    ),
    "an unknown index": ("Scan", {"TableName": TABLE, "IndexName": "nowhere"}, VALIDATION),
    "a start that is no key": (
        "Scan",
        {"TableName": TABLE, "ExclusiveStartKey": {"a": {"S": "x"}}},
        VALIDATION,
    ),
    "a query without condition": ("Query", {"TableName": TABLE}, VALIDATION),
    "a query by no key": ("Query", _query("n = :v", v={"N": "1"}), VALIDATION),
    "a query by another type": ("Query", _query("pk = :v", v={"N": "1"}), VALIDATION),
    "a query with an unused value": (
        "Query",
        _query("pk = :v", v={"S": "x"}, w={"S": "x"}),
        VALIDATION,
    ),
    "a batch of nothing": ("BatchGetItem", {"RequestItems": {}}, VALIDATION),
    "a batch with one key twice": (
        "BatchGetItem",
        {"RequestItems": {TABLE: {"Keys": [KEY, KEY]}}},
        VALIDATION,
    ),
    "a batch of writes to one key": (
        "BatchWriteItem",
        {"RequestItems": {TABLE: [{"PutRequest": {"Item": NEW}}] * 2}},
        VALIDATION,
    ),
    "a batch with a bad key among good ones": (
        "BatchWriteItem",
        {"RequestItems": {TABLE: [{"PutRequest": {"Item": it}} for it in (NEW, BAD)]}},
        VALIDATION,
    ),
    "a batch to a table that is not there": (
        "BatchWriteItem",
        {"RequestItems": {name: [{"PutRequest": {"Item": NEW}}] for name in (TABLE, "Nowhere")}},
        "ResourceNotFoundException",
    ),
    "a transaction on one item twice": (
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": TABLE, "Item": NEW}}] * 2},
        VALIDATION,
    ),
    "a transaction of nothing": ("TransactWriteItems", {"TransactItems": [{}]}, VALIDATION),
    "a transaction with a bad key": (
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": TABLE, "Item": it}} for it in (NEW, BAD)]},
        "TransactionCanceledException",
    ),
    "a transaction whose condition does not hold": (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": TABLE, "Item": NEW}},
                {"Put": {"TableName": TABLE, "Item": KEY, **CONDITION}},
            ]
        },
        "TransactionCanceledException",
    ),
    "a read of one item twice": (
        "TransactGetItems",
        {"TransactItems": [{"Get": {"TableName": TABLE, "Key": KEY}}] * 2},
        VALIDATION,
    ),
    "a table that is not there": (
        "GetItem",
        {"TableName": "Nowhere", "Key": KEY},
        "ResourceNotFoundException",
    ),
    "a table that is there": ("CreateTable", CREATE, "ResourceInUseException"),
    "no change of a table": ("UpdateTable", {"TableName": TABLE}, VALIDATION),
    "an unknown operation": ("PutItems", {}, "UnknownOperationException"),
}


def _refusal(ask: Callable[[], object]) -> tuple[Any, ...]:
    with pytest.raises(ServiceError) as refused:
        ask()
    return (refused.value.type, refused.value.message, refused.value.fields)


@changes
def test_an_invalid_request_gets_the_same_error(
    shared_engines: list[Engine], change: Change, subtests: pytest.Subtests
) -> None:
    for fault, (operation, request, kind) in REFUSED.items():
        with subtests.test(fault=fault):
            _change(shared_engines, change)
            _check_refusal(shared_engines, operation, request, kind)


def _check_refusal(
    engines: list[Engine], operation: str, request: dict[str, Any], kind: str
) -> None:
    one, two, other = engines
    before = other.execute("Scan", {"TableName": TABLE})
    expected = _refusal(lambda: other.execute(operation, request))
    assert expected[0] == kind
    assert _refusal(lambda: one.execute(operation, request)) == expected
    body = json.dumps(request).encode()
    assert _refusal(lambda: two.execute_json(operation, body)) == expected
    for engine in engines:
        assert engine.execute("Scan", {"TableName": TABLE}) == before


ACCEPTED: dict[str, tuple[str, dict[str, Any]]] = {
    "put": ("PutItem", _item(a={"S": "x"})),
    "put and old": ("PutItem", {"TableName": TABLE, "Item": KEY, "ReturnValues": "ALL_OLD"}),
    "put if absent": ("PutItem", {**_item(), **CONDITION}),
    "get": ("GetItem", {"TableName": TABLE, "Key": KEY}),
    "get a part": ("GetItem", {"TableName": TABLE, "Key": KEY, "ProjectionExpression": "a"}),
    "delete": ("DeleteItem", {"TableName": TABLE, "Key": KEY, "ReturnValues": "ALL_OLD"}),
    "add": ("UpdateItem", {**_update("ADD n :v", v={"N": "1"}), "ReturnValues": "ALL_NEW"}),
    "query": ("Query", _query("pk = :v", v={"S": "there"})),
    "filter": (
        "Query",
        {**_query("pk = :v", v={"S": "there"}, n={"N": "0"}), "FilterExpression": "n > :n"},
    ),
    "scan": ("Scan", {"TableName": TABLE}),
    "count": ("Scan", {"TableName": TABLE, "Select": "COUNT"}),
    "batch get": ("BatchGetItem", {"RequestItems": {TABLE: {"Keys": [KEY]}}}),
    "batch write": (
        "BatchWriteItem",
        {"RequestItems": {TABLE: [{"PutRequest": {"Item": NEW}}, {"DeleteRequest": {"Key": KEY}}]}},
    ),
    "transact get": (
        "TransactGetItems",
        {"TransactItems": [{"Get": {"TableName": TABLE, "Key": KEY}}]},
    ),
    "transact write": (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": _item(a={"S": "x"})},
                {"Update": _update("ADD n :v", v={"N": "1"})},
            ]
        },
    ),
}


@changes
@pytest.mark.parametrize("wanted", ACCEPTED)
def test_a_valid_request_is_executed_exactly_once(
    engines: list[Engine], change: Change, wanted: str
) -> None:
    operation, request = ACCEPTED[wanted]
    with Engine.open(":memory:") as fresh:
        create(fresh)
        put(fresh, "there", a={"S": "x"}, n={"N": "1"})
        expected = fresh.execute(operation, request)
        left = fresh.execute("Scan", {"TableName": TABLE})
    _change(engines, change)
    assert engines[0].execute(operation, request) == expected
    for engine in engines:
        assert engine.execute("Scan", {"TableName": TABLE}) == left


def test_a_transaction_with_one_of_two_tables_changed_is_executed_once(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    members = [
        {"Update": {**_update("ADD n :v", v={"N": "1"}), "TableName": name}}
        for name in ("Others", TABLE)
    ]
    with _open(path) as one, _open(path) as other:
        create(one)
        one.execute("CreateTable", {**CREATE, "TableName": "Others"})
        one.execute("TransactWriteItems", {"TransactItems": members})
        _change_index(other)
        one.execute("TransactWriteItems", {"TransactItems": members})
        for name in ("Others", TABLE):
            (item,) = other.execute("Scan", {"TableName": name})["Items"]
            assert item["n"] == {"N": "2"}
