"""New indexes of tables with items: they are backfilled in steps, despite other changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.engine.upkeep import LEASE_RECORD, LEASE_SECONDS
from keyfold.errors import ResourceInUseException, ResourceNotFoundException, ValidationException
from tests.unit.engine.storage.tables import (
    ADD_INDEX,
    DROP_INDEX,
    TABLE,
    add,
    create,
    get,
    put,
    query_index,
)

# More items than two steps backfill.
MANY = 600


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        create(engine)
        yield engine
        assert engine.verify() == []


def _fill(engine: Engine, count: int = MANY) -> None:
    for start in range(0, count, 25):
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": f"thing-{number}"}, "a": {"S": "x"}}}}
            for number in range(start, min(start + 25, count))
        ]
        engine.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})


def _index(engine: Engine) -> dict[str, Any]:
    (index,) = _table(engine)["GlobalSecondaryIndexes"]
    return index


def _table(engine: Engine) -> dict[str, Any]:
    return engine.execute("DescribeTable", {"TableName": TABLE})["Table"]


def _update(engine: Engine, name: str, text: str, **values: Any) -> None:
    request: dict[str, Any] = {
        "TableName": TABLE,
        "Key": {"pk": {"S": name}},
        "UpdateExpression": text,
    }
    if values:
        request["ExpressionAttributeValues"] = {f":{key}": it for key, it in values.items()}
    engine.execute("UpdateItem", request)


def test_the_index_of_a_small_table_is_ready_at_once(engine: Engine) -> None:
    _fill(engine, 100)
    answer = engine.execute("UpdateTable", ADD_INDEX)["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    (index,) = answer["GlobalSecondaryIndexes"]
    assert (index["IndexStatus"], index["Backfilling"]) == ("CREATING", True)
    assert _table(engine)["TableStatus"] == "ACTIVE"
    assert _index(engine)["IndexStatus"] == "ACTIVE"
    assert len(query_index(engine, "x")) == 100


def test_the_index_of_a_large_table_cannot_be_queried_until_upkeep_has_filled_it(
    engine: Engine,
) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    index = _index(engine)
    assert (index["IndexStatus"], index["Backfilling"]) == ("CREATING", True)
    assert 0 < index["ItemCount"] < MANY, "the first step is done, and not the last"
    with pytest.raises(ValidationException, match="Cannot read from backfilling"):
        query_index(engine, "x")
    assert engine.verify() == [], "a half-filled index is not a problem"
    assert engine.run_upkeep() == 0
    index = _index(engine)
    assert (index["IndexStatus"], index["ItemCount"]) == ("ACTIVE", MANY)
    assert "Backfilling" not in index
    assert query_index(engine, "x") == {f"thing-{number}" for number in range(MANY)}


def test_items_written_during_a_backfill_are_indexed_in_their_final_state(engine: Engine) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    expected = {f"thing-{number}" for number in range(MANY)}
    # Keys are hashed, so these are both before and after the backfill's position.
    for number in range(0, 60, 3):
        put(engine, f"thing-{number}", a={"S": "y"})
        engine.execute(
            "DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": f"thing-{number + 1}"}}}
        )
        _update(engine, f"thing-{number + 2}", "REMOVE a")
        put(engine, f"new-{number}", a={"S": "x"})
        expected -= {f"thing-{number + after}" for after in range(3)}
        expected.add(f"new-{number}")
    engine.run_upkeep()
    assert query_index(engine, "x") == expected
    assert query_index(engine, "y") == {f"thing-{number}" for number in range(0, 60, 3)}


def test_an_index_refuses_invalid_values_during_its_backfill(engine: Engine) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    with pytest.raises(ValidationException, match="Type mismatch for Index Key a"):
        put(engine, "new", a={"N": "1"})


def test_large_items_are_backfilled_in_shorter_steps(engine: Engine) -> None:
    for number in range(8):
        put(engine, f"large-{number}", a={"S": "x"}, x={"S": "x" * 390_000})
    engine.execute("UpdateTable", ADD_INDEX)
    assert _index(engine)["IndexStatus"] == "CREATING"
    engine.run_upkeep()
    assert _index(engine)["ItemCount"] == 8


def test_a_table_of_exactly_one_step_is_filled(engine: Engine) -> None:
    _fill(engine, 250)
    engine.execute("UpdateTable", ADD_INDEX)
    engine.run_upkeep()
    assert _index(engine)["IndexStatus"] == "ACTIVE"
    assert len(query_index(engine, "x")) == 250


def test_no_item_is_skipped_between_two_steps(engine: Engine) -> None:
    # Each sort key is a prefix of the next, so keys at the boundary of a step are adjacent.
    schema = [("pk", "HASH"), ("sk", "RANGE")]
    engine.execute(
        "CreateTable",
        {
            "TableName": "Sorted",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name, _ in schema
            ],
            "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in schema],
        },
    )
    for number in range(1, MANY + 1):
        item = {"pk": {"S": "p"}, "sk": {"S": "\0" * number}, "a": {"S": "x"}}
        engine.execute("PutItem", {"TableName": "Sorted", "Item": item})
    engine.execute("UpdateTable", {**ADD_INDEX, "TableName": "Sorted"})
    engine.run_upkeep()
    described = engine.execute("DescribeTable", {"TableName": "Sorted"})["Table"]
    assert described["GlobalSecondaryIndexes"][0]["ItemCount"] == MANY


def test_a_second_index_is_refused_while_one_is_being_filled(engine: Engine) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    with pytest.raises(ResourceInUseException, match=f"Table is being updated: {TABLE}"):
        engine.execute("UpdateTable", DROP_INDEX)
    engine.run_upkeep()
    engine.execute("UpdateTable", DROP_INDEX)
    assert "GlobalSecondaryIndexes" not in _table(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    engine.run_upkeep()
    assert len(query_index(engine, "x")) == MANY


def test_expiry_may_be_enabled_while_an_index_is_filled(engine: Engine) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    engine.execute(
        "UpdateTimeToLive",
        {"TableName": TABLE, "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": True}},
    )
    engine.run_upkeep()
    assert _index(engine)["IndexStatus"] == "ACTIVE"
    assert len(query_index(engine, "x")) == MANY


def test_deleting_a_table_ends_its_backfill(engine: Engine) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    engine.execute("DeleteTable", {"TableName": TABLE})
    with pytest.raises(ResourceNotFoundException):
        query_index(engine, "x")
    create(engine)
    put(engine, "new", a={"S": "x"})
    assert engine.run_upkeep() == 0
    assert "GlobalSecondaryIndexes" not in _table(engine)
    assert get(engine, "new") is not None


def test_the_next_engine_to_open_the_file_continues_the_backfill(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        create(engine)
        _fill(engine)
        engine.execute("UpdateTable", ADD_INDEX)
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        assert _index(engine)["IndexStatus"] == "CREATING"
        engine.run_upkeep()
        assert len(query_index(engine, "x")) == MANY
        assert engine.verify() == []


def test_a_backfill_is_continued_after_its_process_died(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        create(engine)
        _fill(engine)
        engine.execute("UpdateTable", ADD_INDEX)
        lease = orjson.dumps(["another", time.time() + LEASE_SECONDS])
        engine._storage.write(lambda writer: writer.set_record(LEASE_RECORD, "upkeep", lease))
        engine._upkeep.take_turn()
        assert _index(engine)["IndexStatus"] == "ACTIVE"
        assert len(query_index(engine, "x")) == MANY
        kept = engine._storage.read(lambda reader: reader.get_record(LEASE_RECORD, "upkeep"))
        assert kept == lease
        assert engine.verify() == []


# Values that the new index would refuse.
INVALID: dict[str, dict[str, Any]] = {
    "number": {"N": "1"},
    "null": {"NULL": True},
    "set": {"SS": ["x"]},
    "empty": {"S": ""},
    "long": {"S": "x" * 2_049},
}


@pytest.fixture
def engine_with_invalid(engine: Engine) -> Engine:
    """Return an engine whose table had items with invalid values when its index was added."""
    for name, value in INVALID.items():
        put(engine, name, a=value)
    put(engine, "fit", a={"S": "x"})
    engine.execute("UpdateTable", ADD_INDEX)
    return engine


def test_items_with_invalid_values_are_left_out_of_the_index(engine_with_invalid: Engine) -> None:
    assert _index(engine_with_invalid)["ItemCount"] == 1
    found = engine_with_invalid.execute("Scan", {"TableName": TABLE, "IndexName": "by-a"})
    assert [item["pk"] for item in found["Items"]] == [{"S": "fit"}]
    assert engine_with_invalid.execute("Scan", {"TableName": TABLE})["Count"] == len(INVALID) + 1


@pytest.mark.parametrize("name", INVALID)
def test_other_attributes_of_items_with_invalid_values_can_be_changed(
    engine_with_invalid: Engine, name: str
) -> None:
    assert add(engine_with_invalid, name) == 1
    item = get(engine_with_invalid, name)
    assert item is not None
    assert (item["a"], item["n"]) == (INVALID[name], {"N": "1"})


@pytest.mark.parametrize("name", INVALID)
def test_invalid_values_can_be_corrected_removed_or_deleted(
    engine_with_invalid: Engine, name: str
) -> None:
    _update(engine_with_invalid, name, "SET a = :a", a={"S": "x"})
    assert query_index(engine_with_invalid, "x") == {"fit", name}
    _update(engine_with_invalid, name, "REMOVE a")
    assert query_index(engine_with_invalid, "x") == {"fit"}
    engine_with_invalid.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": name}}})
    assert get(engine_with_invalid, name) is None


@pytest.mark.parametrize("name", INVALID)
def test_invalid_values_cannot_be_written_again(engine_with_invalid: Engine, name: str) -> None:
    with pytest.raises(ValidationException, match=r"."):
        put(engine_with_invalid, name, a=INVALID[name])
    with pytest.raises(ValidationException, match=r"."):
        _update(engine_with_invalid, name, "SET a = :a", a={"BOOL": True})
    item = get(engine_with_invalid, name)
    assert item is not None
    assert item["a"] == INVALID[name]
