"""Recorded traffic: the keys and units of requests, without their values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyfold.capacity import KeyUse
from keyfold.engine import Engine, TrafficFile, TrafficRecord, read_traffic
from keyfold.errors import OptionInvalid, TrafficInvalid
from tests.unit.engine.test_partitions import CREATE

KEY: dict[str, Any] = {"user": {"S": "ada"}, "order": {"S": "1"}}
USER: dict[str, Any] = {"user": {"S": "ada"}}


def _record(*calls: tuple[str, dict[str, Any]]) -> list[TrafficRecord]:
    records: list[TrafficRecord] = []
    with Engine.open(
        ":memory:", clock=lambda: 5.0, upkeep_seconds=None, on_traffic=records.append
    ) as engine:
        engine.execute("CreateTable", CREATE)
        for operation, request in calls:
            engine.execute(operation, request)
    return records


def test_a_write_has_the_keys_of_the_table_and_of_the_indexes_that_it_changes() -> None:
    item = {**KEY, "status": {"S": "open"}, "text": {"S": "secret"}}
    records = _record(("PutItem", {"TableName": "Orders", "Item": item}))
    uses = (KeyUse("", KEY, 1.0), KeyUse("ByStatus", {"status": {"S": "open"}}, 1.0))
    assert records == [TrafficRecord(5.0, "Orders", "PutItem", "Write", uses)]


def test_reads_have_what_they_name_of_a_key() -> None:
    query = {
        "TableName": "Orders",
        "KeyConditionExpression": "#u = :u",
        "ExpressionAttributeNames": {"#u": "user"},
        "ExpressionAttributeValues": {":u": {"S": "ada"}},
    }
    records = _record(
        ("GetItem", {"TableName": "Orders", "Key": KEY, "ConsistentRead": True}),
        ("Query", query),
        ("Scan", {"TableName": "Orders", "IndexName": "ByStatus"}),
    )
    assert [each.uses for each in records] == [
        (KeyUse("", KEY, 1.0),),
        (KeyUse("", USER, 0.5),),
        (KeyUse("ByStatus", None, 2.0),),
    ]
    assert [each.operation for each in records] == ["GetItem", "Query", "Scan"]


def test_members_of_a_transaction_are_recorded_one_by_one() -> None:
    puts = [
        {"Put": {"TableName": "Orders", "Item": {**KEY, "order": {"S": text}}}} for text in "12"
    ]
    records = _record(("TransactWriteItems", {"TransactItems": puts}))
    assert [each.uses[0].units for each in records] == [2.0, 2.0]


def test_a_file_of_traffic_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "traffic.jsonl"
    records = _record(
        ("PutItem", {"TableName": "Orders", "Item": {**KEY, "text": {"S": "secret"}}}),
        ("Scan", {"TableName": "Orders"}),
    )
    written = TrafficFile(str(file))
    for each in records:
        written.write(each)
    assert list(read_traffic(file)) == records
    assert b"secret" not in file.read_bytes()


@pytest.mark.parametrize(
    "line", ["", "nothing", "{}", '{"uses":[]}', '{"at":1,"uses":[["",null]]}']
)
def test_a_line_that_is_no_traffic_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "traffic.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(TrafficInvalid, match=r"traffic.jsonl:1"):
        list(read_traffic(file))


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionInvalid, match="record"):
        TrafficFile(str(tmp_path / "missing" / "traffic.jsonl"))
    with pytest.raises(TrafficInvalid, match="cannot be read"):
        list(read_traffic(tmp_path / "missing.jsonl"))
