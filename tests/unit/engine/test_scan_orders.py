"""Scans return partitions in the order that others recorded, on AWS and on dynalite."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
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


def _fill(engine: Engine, kind: str, keys: list[str]) -> None:
    engine.execute(
        "CreateTable",
        {
            "TableName": "things",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": kind}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
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
