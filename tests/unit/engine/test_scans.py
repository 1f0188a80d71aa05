"""Scans: a stable order, and segments that divide it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.values import encode_partition
from tests.unit.engine.storage.tables import ADD_INDEX, CREATE, TABLE, create, put

MANY = 300


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        create(engine)
        engine.execute("UpdateTable", ADD_INDEX)
        for number in range(MANY):
            _put(engine, number)
        yield engine
        assert engine.verify() == []


def _put(engine: Engine, number: int) -> None:
    # A third of the items are not in the index; the others share ten of its partitions.
    more = {"a": {"S": f"group-{number % 10}"}} if number % 3 else {}
    put(engine, f"thing-{number}", **more)


def _scan(engine: Engine, **options: Any) -> list[str]:
    """Return the keys of all pages, in the order in which they come."""
    request: dict[str, Any] = {"TableName": TABLE, **options}
    found: list[str] = []
    while True:
        page = engine.execute("Scan", request)
        found += [item["pk"]["S"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


THROUGH: list[dict[str, Any]] = [{}, {"IndexName": "by-a"}]


@pytest.mark.parametrize("through", THROUGH)
def test_the_order_is_the_same_each_time_and_for_every_page_size(
    engine: Engine, through: dict[str, Any]
) -> None:
    whole = _scan(engine, **through)
    assert len(set(whole)) == len(whole) == (MANY * 2 // 3 if through else MANY)
    for limit in (1, 7, 100, MANY):
        assert _scan(engine, Limit=limit, **through) == whole
    assert whole != sorted(whole), "by hash, not by name"


def test_the_order_depends_on_the_keys_and_not_on_the_order_of_writes(
    engine: Engine, tmp_path: Path
) -> None:
    numbers = list(range(MANY))
    random.Random(1).shuffle(numbers)
    path = tmp_path / "things.db"
    with Engine.open(path, durability="process", upkeep_seconds=None) as other:
        other.execute("CreateTable", CREATE)
        for number in numbers:
            _put(other, number)
        assert _scan(other) == _scan(engine)
    with Engine.open(path, durability="process", upkeep_seconds=None) as other:
        assert _scan(other) == _scan(engine)


def test_other_writes_do_not_move_an_item(engine: Engine) -> None:
    before = _scan(engine)
    for name in before[::2]:
        engine.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": name}}})
    assert _scan(engine) == before[1::2]


@pytest.mark.parametrize("through", THROUGH)
@pytest.mark.parametrize("total", [1, 2, 3, 7, 64, 1_000])
def test_segments_have_every_item_once_in_the_order_of_a_full_scan(
    engine: Engine, total: int, through: dict[str, Any]
) -> None:
    parts = [
        _scan(engine, Segment=segment, TotalSegments=total, Limit=11, **through)
        for segment in range(total)
    ]
    assert [name for part in parts for name in part] == _scan(engine, **through)


@pytest.mark.parametrize("edge", ["first", "last"])
def test_an_item_at_a_segment_boundary_is_in_exactly_one_segment(edge: str) -> None:
    # With this many segments each is a few thousand hashes wide, so such keys are found quickly.
    hashes, total = 1 << 32, 1_000_000
    found: list[tuple[str, int]] = []
    for number in range(50_000):
        hashed = int.from_bytes(encode_partition(f"thing-{number}".encode())[:4], "big")
        segment = -(-(hashed + (edge == "last")) * total // hashes)
        if segment * hashes // total == hashed + (edge == "last"):
            found.append((f"thing-{number}", segment))
    assert len(found) > 3
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        create(engine)
        for name, segment in found:
            put(engine, name)
            parts = [
                _scan(engine, Segment=segment + near, TotalSegments=total) for near in (-1, 0, 1)
            ]
            holders = [near for near, part in zip((-1, 0, 1), parts, strict=True) if name in part]
            assert holders == ([-1] if edge == "last" else [0])


def test_segments_are_of_similar_size(engine: Engine) -> None:
    sizes = [len(_scan(engine, Segment=segment, TotalSegments=4)) for segment in range(4)]
    assert min(sizes) > MANY / 8


def test_a_scan_continues_after_its_start_key_was_deleted(engine: Engine) -> None:
    whole = _scan(engine)
    key = {"pk": {"S": whole[99]}}
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": key})
    assert _scan(engine, ExclusiveStartKey=key) == whole[100:]


def test_the_last_page_may_be_empty(engine: Engine) -> None:
    page = engine.execute("Scan", {"TableName": TABLE, "Limit": MANY})
    assert page["Count"] == MANY
    rest = engine.execute(
        "Scan", {"TableName": TABLE, "ExclusiveStartKey": page["LastEvaluatedKey"]}
    )
    assert rest == {"Items": [], "Count": 0, "ScannedCount": 0}
