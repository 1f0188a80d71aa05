"""A page ends with the item that brings it to a megabyte, and the next continues from there."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keyfold.engine import Engine
from tests.examples import examples
from tests.property.plain_table import Attribute, IndexPlan, PlainTable
from tests.property.plain_values import Item, item_size
from tests.property.table_requests import create_table

EXAMPLES = examples(12)

MEGABYTE = 1 << 20
TABLE = "Things"

BY_GROUP = IndexPlan(
    "by-group",
    is_global=True,
    partition=(Attribute("group", "S"),),
    sort=(Attribute("sk", "N"),),
    included=frozenset(["more"]),
)

# Mostly large items, so that a page holds few; some sizes add up to exactly one page.
sizes = st.lists(
    st.one_of(
        st.integers(300_000, 400_000),
        st.integers(1, 60_000),
        st.sampled_from([131_072, 262_144, 349_525]),
    ),
    min_size=6,
    max_size=20,
)


def _item(place: int, size: int, *, text: str) -> Item:
    """Return an item of exactly `size` bytes, or of the minimum size."""
    item: Item = {
        "pk": {"S": "p"},
        "sk": {"N": str(place + 1)},
        "group": {"S": "g"},
        text: {"S": ""},
    }
    item[text]["S"] = "x" * max(0, size - item_size(item))
    return item


def _pages(item_sizes: list[int]) -> list[int]:
    """Return how many items each page holds."""
    pages: list[int] = []
    count = total = 0
    for size in item_sizes:
        count, total = count + 1, total + size
        if total >= MEGABYTE:
            pages.append(count)
            count = total = 0
    return [*pages, count]


def _read(engine: Engine, operation: str, request: dict[str, Any]) -> list[list[Item]]:
    pages: list[list[Item]] = []
    while True:
        answer = engine.execute(operation, {"TableName": TABLE, **request})
        pages.append(answer["Items"])
        assert answer["ScannedCount"] >= answer["Count"] == len(answer["Items"])
        if "LastEvaluatedKey" not in answer:
            return pages
        request = {**request, "ExclusiveStartKey": answer["LastEvaluatedKey"]}


@EXAMPLES
@given(sizes, st.booleans(), st.sampled_from(["kept", "more"]))
def test_a_page_ends_with_the_item_that_reaches_a_megabyte(
    item_sizes: list[int], reverse: bool, text: str
) -> None:
    table = PlainTable(Attribute("pk", "S"), Attribute("sk", "N"), {BY_GROUP.name: BY_GROUP})
    items = [_item(place, size, text=text) for place, size in enumerate(item_sizes)]
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", create_table(TABLE, table))
        for item in items:
            engine.execute("PutItem", {"TableName": TABLE, "Item": item})
        if reverse:
            items.reverse()
        # A query of the table counts whole items; a query of the index counts projected attributes.
        for index, name, value in ((None, "pk", "p"), (BY_GROUP, "group", "g")):
            held = [table.projected(index, item) for item in items]
            request: dict[str, Any] = {
                "KeyConditionExpression": "#key = :value",
                "ExpressionAttributeNames": {"#key": name},
                "ExpressionAttributeValues": {":value": {"S": value}},
                "ScanIndexForward": not reverse,
            }
            if index is not None:
                request["IndexName"] = index.name
            wanted = _pages([item_size(item) for item in held])
            pages = _read(engine, "Query", request)
            assert [len(page) for page in pages] == wanted
            assert [item for page in pages for item in page] == held
            # A filter reads the same items, so a page ends where it would without one.
            request["FilterExpression"] = "attribute_not_exists(nowhere)"
            if index is None:
                assert _read(engine, "Query", request) == pages
            if not reverse:
                scanned = _read(engine, "Scan", {} if index is None else {"IndexName": index.name})
                assert [len(page) for page in scanned] == wanted
        assert engine.verify() == []


@examples(6)
@given(st.integers(1, 400), st.integers(1, 40))
def test_segments_are_stretches_of_one_scan(partitions: int, segments: int) -> None:
    table = PlainTable(Attribute("pk", "N"), None)
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", create_table(TABLE, table))
        for number in range(partitions):
            engine.execute("PutItem", {"TableName": TABLE, "Item": {"pk": {"N": str(number)}}})
        (whole,) = _read(engine, "Scan", {})
        parts = [
            _read(engine, "Scan", {"Segment": segment, "TotalSegments": segments, "Limit": 50})
            for segment in range(segments)
        ]
        assert [item for part in parts for page in part for item in page] == whole
        assert len(whole) == partitions
        # Hashed, not in the order of the keys.
        assert partitions < 10 or whole != sorted(whole, key=lambda item: int(item["pk"]["N"]))
