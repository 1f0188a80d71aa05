"""Capacity that transactions and scans consume, in total and per table and index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import TransactionCanceledException
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import ADD_INDEX, CREATE, TABLE, create, put

OTHERS = "Others"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", clock=Clock(), upkeep_seconds=None) as engine:
        create(engine)
        engine.execute("UpdateTable", ADD_INDEX)
        engine.execute("CreateTable", {**CREATE, "TableName": OTHERS})
        yield engine
        assert engine.verify() == []


def _item(name: str, size_bytes: int = 0, **more: dict[str, Any]) -> dict[str, Any]:
    """Return an item padded to a size, which does not include `more`."""
    item: dict[str, Any] = {"pk": {"S": name}, **more}
    if size_bytes:
        item["x"] = {"S": "x" * (size_bytes - len("pk") - len(name) - len("x"))}
    return item


def _put(table: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"Put": {"TableName": table, "Item": item}}


def _key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}}


def _write(engine: Engine, *members: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    request = {"TransactItems": list(members), "ReturnConsumedCapacity": "INDEXES", **more}
    return engine.execute("TransactWriteItems", request)["ConsumedCapacity"]


def _units(units: float, kind: str) -> dict[str, float]:
    return {"CapacityUnits": units, f"{kind}CapacityUnits": units}


def test_a_transaction_costs_twice_what_its_writes_do(engine: Engine) -> None:
    consumed = _write(
        engine,
        _put(OTHERS, _item("a", 1_024)),
        _put(OTHERS, _item("b", 1_025)),
        {"Delete": {"TableName": OTHERS, "Key": _key("nowhere")}},
        {
            "ConditionCheck": {
                "TableName": OTHERS,
                "Key": _key("nothing"),
                "ConditionExpression": "attribute_not_exists(pk)",
            }
        },
    )
    units = 2 * (1 + 2 + 1 + 1)
    assert consumed == [
        {"TableName": OTHERS, **_units(units, "Write"), "Table": _units(units, "Write")}
    ]


def test_each_table_and_each_index_is_charged_separately(engine: Engine) -> None:
    put(engine, "moved", a={"S": "before"})
    consumed = _write(
        engine,
        _put(TABLE, _item("new", a={"S": "x"})),
        _put(TABLE, _item("sparse")),
        {
            "Update": {
                "TableName": TABLE,
                "Key": _key("moved"),
                "UpdateExpression": "SET a = :a",
                "ExpressionAttributeValues": {":a": {"S": "after"}},
            }
        },
        _put(OTHERS, _item("a")),
    )
    # In the index one entry is added, and another moves: one removal and one addition. They are
    # not doubled: a transaction writes twice to the table only.
    assert consumed == [
        {"TableName": OTHERS, **_units(2, "Write"), "Table": _units(2, "Write")},
        {
            "TableName": TABLE,
            **_units(9, "Write"),
            "Table": _units(6, "Write"),
            "GlobalSecondaryIndexes": {"by-a": _units(3, "Write")},
        },
    ]


def test_a_write_is_charged_for_the_larger_of_old_and_new_item(engine: Engine) -> None:
    engine.execute("PutItem", {"TableName": OTHERS, "Item": _item("a", 5 * 1_024)})
    assert _write(engine, _put(OTHERS, _item("a")))[0]["CapacityUnits"] == 10
    assert _write(engine, {"Delete": {"TableName": OTHERS, "Key": _key("a")}}) == [
        {"TableName": OTHERS, **_units(2, "Write"), "Table": _units(2, "Write")}
    ]


def test_total_reports_only_the_sum_and_none_reports_nothing(engine: Engine) -> None:
    member = _put(TABLE, _item("a", a={"S": "x"}))
    assert _write(engine, member, ReturnConsumedCapacity="TOTAL") == [
        {"TableName": TABLE, **_units(3, "Write")}
    ]
    for level in (None, "NONE"):
        request = {"TransactItems": [member], "ReturnConsumedCapacity": level}
        assert engine.execute("TransactWriteItems", request) == {}


def test_a_repeated_token_is_charged_as_a_read(engine: Engine) -> None:
    members = [_put(OTHERS, _item("a", 9 * 1_024)), _put(TABLE, _item("b", a={"S": "x"}))]
    first = _write(engine, *members, ClientRequestToken="token")
    assert [each["CapacityUnits"] for each in first] == [18, 3]
    assert _write(engine, *members, ClientRequestToken="token") == [
        {"TableName": OTHERS, **_units(6, "Read"), "Table": _units(6, "Read")},
        {"TableName": TABLE, **_units(2, "Read"), "Table": _units(2, "Read")},
    ]


def test_a_repeated_token_is_charged_for_what_was_replaced(engine: Engine) -> None:
    engine.execute("PutItem", {"TableName": OTHERS, "Item": _item("a", 9 * 1_024)})
    delete = {"Delete": {"TableName": OTHERS, "Key": _key("a")}}
    units = [
        _write(engine, delete, ClientRequestToken="token")[0]["CapacityUnits"] for _ in range(2)
    ]
    assert units == [18, 6]


def test_a_cancelled_transaction_reports_no_capacity(engine: Engine) -> None:
    check = {
        "TableName": OTHERS,
        "Key": _key("a"),
        "ConditionExpression": "attribute_exists(pk)",
    }
    with pytest.raises(TransactionCanceledException) as cancelled:
        _write(engine, {"ConditionCheck": check}, _put(TABLE, _item("a")))
    assert set(cancelled.value.fields) == {"CancellationReasons"}


def test_reading_in_a_transaction_costs_twice_a_consistent_read(engine: Engine) -> None:
    for name, size in (("small", 100), ("whole", 4_096), ("more", 4_097)):
        engine.execute("PutItem", {"TableName": OTHERS, "Item": _item(name, size)})
    put(engine, "there", a={"S": "x"})
    gets = [(OTHERS, "small"), (OTHERS, "whole"), (OTHERS, "more"), (OTHERS, "nowhere")]
    answer = engine.execute(
        "TransactGetItems",
        {
            "TransactItems": [
                {"Get": {"TableName": table, "Key": _key(name)}}
                for table, name in [*gets, (TABLE, "there")]
            ],
            "ReturnConsumedCapacity": "INDEXES",
        },
    )
    units = 2 * (1 + 1 + 2 + 1)
    assert answer["ConsumedCapacity"] == [
        {"TableName": OTHERS, **_units(units, "Read"), "Table": _units(units, "Read")},
        {"TableName": TABLE, **_units(2, "Read"), "Table": _units(2, "Read")},
    ]
    assert [bool(each) for each in answer["Responses"]] == [True, True, True, False, True]


def test_an_item_that_is_invalid_for_an_index_costs_nothing_in_it() -> None:
    with Engine.open(":memory:", clock=Clock(), upkeep_seconds=None) as engine:
        create(engine)
        for name in ("kept", "mended", "deleted"):
            put(engine, name, a={"N": "1"})
        engine.execute("UpdateTable", ADD_INDEX)

        def update(name: str, text: str, value: dict[str, Any]) -> dict[str, Any]:
            return {
                "Update": {
                    "TableName": TABLE,
                    "Key": _key(name),
                    "UpdateExpression": text,
                    "ExpressionAttributeValues": {":value": value},
                }
            }

        def index_units(member: dict[str, Any]) -> dict[str, Any]:
            return _write(engine, member)[0].get("GlobalSecondaryIndexes", {})

        assert index_units(update("kept", "SET b = :value", {"S": "x"})) == {}
        assert index_units({"Delete": {"TableName": TABLE, "Key": _key("deleted")}}) == {}
        mend = update("mended", "SET a = :value", {"S": "x"})
        assert index_units(mend) == {"by-a": _units(1, "Write")}
        assert engine.verify() == []


def _scan(engine: Engine, **more: Any) -> float:
    request = {"TableName": TABLE, "ReturnConsumedCapacity": "TOTAL", **more}
    return engine.execute("Scan", request)["ConsumedCapacity"]["CapacityUnits"]


def test_a_scan_of_a_small_table_costs_the_minimum_of_four_partitions(engine: Engine) -> None:
    assert _scan(engine) == 2
    put(engine, "a", a={"S": "x"})
    put(engine, "b", a={"S": "x"})
    assert (_scan(engine), _scan(engine, ConsistentRead=True)) == (2, 4)
    assert _scan(engine, IndexName="by-a") == 2
    assert _scan(engine, FilterExpression="attribute_exists(nothing)") == 2


def test_a_scan_of_a_larger_table_costs_its_size(engine: Engine) -> None:
    for name in "abcde":
        engine.execute("PutItem", {"TableName": TABLE, "Item": _item(name, 4 * 1_024)})
    assert (_scan(engine), _scan(engine, ConsistentRead=True)) == (2.5, 5)


def test_a_page_or_segment_of_a_scan_costs_its_size(engine: Engine) -> None:
    for name in "ab":
        put(engine, name)
    assert _scan(engine, Limit=1) == 0.5
    assert [_scan(engine, Segment=place, TotalSegments=2) for place in (0, 1)] == [0.5, 0.5]
    start = {"TableName": TABLE, "Limit": 1}
    last = engine.execute("Scan", start)["LastEvaluatedKey"]
    assert _scan(engine, ExclusiveStartKey=last) == 0.5


def test_a_scan_of_a_provisioned_table_costs_the_minimum_of_its_partitions() -> None:
    with Engine.open(":memory:", clock=Clock(), upkeep_seconds=None) as engine:
        for reads, units in ((5, 0.5), (7_000, 1.5)):
            throughput = {"ReadCapacityUnits": reads, "WriteCapacityUnits": 5}
            engine.execute(
                "CreateTable",
                {
                    **CREATE,
                    "TableName": f"For{reads}",
                    "BillingMode": "PROVISIONED",
                    "ProvisionedThroughput": throughput,
                },
            )
            assert _scan(engine, TableName=f"For{reads}") == units
