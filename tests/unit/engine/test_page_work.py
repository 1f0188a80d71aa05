"""Pages that end early because they have made enough work, and continue where they ended."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.engine.items import reads
from tests.unit.engine.row_tables import ROWS

QUERY: dict[str, Any] = {
    "TableName": "Rows",
    "KeyConditionExpression": "pk = :p",
    "ExpressionAttributeValues": {":p": {"S": "a"}},
}
FORMS: dict[str, dict[str, Any]] = {
    "a filter": {"FilterExpression": "size(t) > :p OR t <> :p"},
    "a filter and a projection": {
        "FilterExpression": "t <> :p",
        "ProjectionExpression": "sk",
    },
    "an index that projects keys": {"IndexName": "keys"},
}


def pages(engine: Engine, request: dict[str, Any]) -> list[list[str]]:
    """Return the sort keys of each page."""
    found: list[list[str]] = []
    start: dict[str, Any] = {}
    while True:
        page = engine.execute("Query", request | start)
        found.append([item["sk"]["N"] for item in page["Items"]])
        assert page["ScannedCount"] == len(page["Items"])
        if "LastEvaluatedKey" not in page:
            return found
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


@pytest.mark.parametrize("form", FORMS)
def test_a_page_ends_early_and_the_next_one_continues(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", ROWS)
        for number in range(30):
            item = {"pk": {"S": "a"}, "sk": {"N": str(number)}, "t": {"S": "x" * 1_000}}
            engine.execute("PutItem", {"TableName": "Rows", "Item": item})
        (whole,) = pages(engine, QUERY | FORMS[form])
        assert sorted(map(int, whole)) == list(range(30))
        monkeypatch.setattr(reads, "PAGE_WORK", 20_000)
        monkeypatch.setattr(reads, "LITTLE_WORK", 0)
        read = pages(engine, QUERY | FORMS[form])
        assert len(read) > 1
        assert all(read[:-1]), "every page makes progress"
        assert [name for page in read for name in page] == whole


def test_a_page_has_a_bounded_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "PAGE_ROWS", 40)
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", ROWS)
        for number in range(100):
            item = {"pk": {"S": "a"}, "sk": {"N": str(number)}}
            engine.execute("PutItem", {"TableName": "Rows", "Item": item})
        assert [len(page) for page in pages(engine, QUERY)] == [40, 40, 20]


def test_a_page_of_a_statement_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "PAGE_WORK", 20_000)
    monkeypatch.setattr(reads, "LITTLE_WORK", 0)
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", ROWS)
        for number in range(30):
            item = {"pk": {"S": "a"}, "sk": {"N": str(number)}, "t": {"S": "x" * 1_000}}
            engine.execute("PutItem", {"TableName": "Rows", "Item": item})
        request: dict[str, Any] = {
            "Statement": "SELECT * FROM \"Rows\" WHERE pk = 'a' AND t <> 'b'"
        }
        counts: list[int] = []
        while True:
            page = engine.execute("ExecuteStatement", request)
            counts.append(len(page["Items"]))
            if "NextToken" not in page:
                break
            request["NextToken"] = page["NextToken"]
        assert len(counts) > 1
        assert all(counts[:-1])
        assert sum(counts) == 30
