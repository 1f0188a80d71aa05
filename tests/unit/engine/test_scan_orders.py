"""Scans and indexes have the order that others recorded, on AWS and on dynalite."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.values.order import find_md5

RECORDED: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("scan_orders.json").read_text(encoding="utf-8")
)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield engine
        assert engine.verify() == []


def _execute(engine: Engine, operation: str, **request: object) -> dict[str, Any]:
    # As JSON: binaries are recorded in base64.
    body = json.dumps({"TableName": "things", **request}).encode()
    return json.loads(engine.execute_json(operation, body))


INDEX: dict[str, Any] = {
    "IndexName": "global",
    "KeySchema": [
        {"AttributeName": "all", "KeyType": "HASH"},
        {"AttributeName": "at", "KeyType": "RANGE"},
    ],
    "Projection": {"ProjectionType": "ALL"},
}
INDEXED = [
    {"AttributeName": "all", "AttributeType": "S"},
    {"AttributeName": "at", "AttributeType": "N"},
]


def _create(engine: Engine, *types: str, **parameters: Any) -> None:
    """Create a table with a partition key and, if there are two types, a sort key."""
    key = list(zip(("pk", "sk"), types, ("HASH", "RANGE"), strict=False))
    definitions = [{"AttributeName": name, "AttributeType": kind} for name, kind, _ in key]
    request = {
        "TableName": "things",
        "KeySchema": [{"AttributeName": name, "KeyType": role} for name, _, role in key],
        "AttributeDefinitions": definitions + (INDEXED if parameters else []),
        "BillingMode": "PAY_PER_REQUEST",
    }
    engine.execute("CreateTable", request | parameters)


def _fill(engine: Engine, kind: str, keys: list[str]) -> None:
    _create(engine, kind)
    for key in keys:
        _execute(engine, "PutItem", Item={"pk": {kind: key}})


def _scan(engine: Engine, kind: str, **parameters: object) -> list[str]:
    return [item["pk"][kind] for item in _execute(engine, "Scan", **parameters)["Items"]]


@pytest.mark.parametrize(
    "scan", RECORDED["scans"], ids=lambda scan: f"{scan['source']} {scan['type']}"
)
def test_partitions_come_in_the_recorded_order(engine: Engine, scan: dict[str, Any]) -> None:
    _fill(engine, scan["type"], sorted(scan["keys"]))
    assert _scan(engine, scan["type"]) == scan["keys"]


@pytest.mark.parametrize("kind", ["S", "N"])
def test_keys_are_in_the_recorded_segments(engine: Engine, kind: str) -> None:
    records = [record for record in RECORDED["segments_of_4096"] if record["type"] == kind]
    _fill(engine, kind, [record["key"] for record in records])
    for record in records:
        found = _scan(engine, kind, Segment=record["segment"], TotalSegments=4_096)
        assert record["key"] in found


def test_the_hash_is_the_same_without_the_interpreters_own_md5(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digest = find_md5()(b"Outliers").digest()
    # Importing it now raises ImportError, as in an interpreter that was built without it.
    monkeypatch.setitem(sys.modules, "_md5", None)
    assert find_md5()(b"Outliers").digest() == digest


ALL = {"all": {"S": "x"}, "at": {"N": "1"}}


def _fill_pairs(engine: Engine, record: dict[str, Any]) -> None:
    partition, sort = record["types"]
    for first, second in sorted(record["keys"]):
        _execute(engine, "PutItem", Item={"pk": {partition: first}, "sk": {sort: second}, **ALL})


def _read_pairs(engine: Engine, operation: str, record: dict[str, Any], **more: Any) -> Any:
    """Return the keys of all pages."""
    partition, sort = record["types"]
    found: list[list[str]] = []
    request: dict[str, Any] = {"IndexName": "global", "Limit": 3, **more}
    while True:
        page = _execute(engine, operation, **request)
        found += [[item["pk"][partition], item["sk"][sort]] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


BY_ALL = {
    "KeyConditionExpression": "#all = :all",
    "ExpressionAttributeNames": {"#all": "all"},
    "ExpressionAttributeValues": {":all": {"S": "x"}},
}


@pytest.mark.parametrize("record", RECORDED["index_ties"], ids=lambda record: record["source"])
def test_items_with_equal_keys_in_an_index_come_in_the_recorded_order(
    engine: Engine, record: dict[str, Any]
) -> None:
    _create(engine, *record["types"], GlobalSecondaryIndexes=[INDEX])
    _fill_pairs(engine, record)
    assert _read_pairs(engine, "Query", record, **BY_ALL) == record["keys"]
    assert _read_pairs(engine, "Scan", record) == record["keys"]
    backwards = _read_pairs(engine, "Query", record, **BY_ALL, ScanIndexForward=False)
    assert backwards == record["keys"][::-1]


def test_an_index_that_is_added_later_has_the_same_order(engine: Engine) -> None:
    record = RECORDED["index_ties"][-1]
    _create(engine, *record["types"])
    _fill_pairs(engine, record)
    _execute(
        engine,
        "UpdateTable",
        AttributeDefinitions=INDEXED,
        GlobalSecondaryIndexUpdates=[{"Create": INDEX}],
    )
    assert _read_pairs(engine, "Query", record, **BY_ALL) == record["keys"]


def test_verify_finds_a_wrong_hash_of_a_key(tmp_path: Path) -> None:
    record = RECORDED["index_ties"][0]
    with Engine.open(tmp_path / "a.db", upkeep_seconds=None) as engine:
        _create(engine, *record["types"], GlobalSecondaryIndexes=[INDEX])
        _fill_pairs(engine, record)
        assert engine.verify() == []
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("UPDATE r1v1 SET h = x'00000000' WHERE k = (SELECT max(k) FROM r1v1)")
    with Engine.open(tmp_path / "a.db", upkeep_seconds=None) as engine:
        (problem,) = engine.verify()
    assert "has a hash of its key that differs from its item's" in str(problem)


def test_a_local_index_has_the_order_of_a_global_one(engine: Engine) -> None:
    record = {"types": ["S", "S"], "keys": [["p", str(number)] for number in range(20)]}
    key = [{"AttributeName": "pk", "KeyType": "HASH"}, INDEX["KeySchema"][1]]
    local = INDEX | {"IndexName": "local", "KeySchema": key}
    _create(engine, "S", "S", GlobalSecondaryIndexes=[INDEX], LocalSecondaryIndexes=[local])
    _fill_pairs(engine, record)
    found = _read_pairs(engine, "Scan", record, IndexName="local")
    assert found == _read_pairs(engine, "Scan", record)
    assert found != sorted(found)
