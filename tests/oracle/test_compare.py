"""The comparison, without DynamoDB Local: known differences, and unknown ones."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from keyfold.engine import Engine
from tests.conformance.implementations import EngineByJson
from tests.oracle.compare import KnownDifferences, find_differences
from tests.oracle.random_requests import Call, random_call
from tests.oracle.random_tables import random_item, random_table

KNOWN = KnownDifferences.load()


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"type": kind, "status": 400, "message": message}}


def test_every_known_difference_has_a_reason_and_a_source() -> None:
    data = json.loads(Path(__file__).with_name("differences.json").read_text())
    for entry in data["answers"] + data["fields"]:
        assert entry["reason"]
        assert entry["source"]


def test_a_known_difference_is_explained() -> None:
    ours = _error("ResourceNotFoundException", "Requested resource not found")
    theirs = _error("ResourceNotFoundException", "Cannot do operations on a non-existent table")
    assert KNOWN.explain(Call("GetItem", {}), ours, theirs)
    assert KNOWN.explain(Call("GetItem", {}), theirs, ours) is None


def test_differences_between_responses_are_listed() -> None:
    ours = {"response": {"Item": {"a": {"S": "x"}, "n": {"N": "1"}}}}
    theirs = {"response": {"Item": {"a": {"S": "y"}, "n": {"N": "1.0"}}}}
    lines = find_differences(KNOWN, Call("GetItem", {}), "", ours, theirs)
    assert lines == ["response.Item.a.S: engine 'x', DynamoDB Local 'y'"]


def test_the_order_of_a_query_counts_and_that_of_a_scan_does_not() -> None:
    ours, theirs = (
        {"response": {"Items": items}} for items in ([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}])
    )
    assert find_differences(KNOWN, Call("Query", {}), "", ours, theirs)
    assert not find_differences(KNOWN, Call("Scan", {}), "", ours, theirs)


def test_random_requests_are_reproducible_and_never_cause_internal_errors() -> None:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        target = EngineByJson(engine)
        for number in range(10):
            source, again = random.Random(number), random.Random(number)
            table = random_table(source, f"table{number}")
            assert table == random_table(again, f"table{number}")
            assert "response" in target.ask("CreateTable", table.request)
            for _ in range(5):
                item = random_item(source, table)
                assert item == random_item(again, table)
                request = {"TableName": table.name, "Item": item}
                assert "response" in target.ask("PutItem", request)
            for _ in range(30):
                call = random_call(source, table)
                assert call == random_call(again, table)
                answer = target.ask(call.operation, call.request)
                assert answer.get("error", {}).get("status", 400) == 400
        assert engine.verify() == []
