"""New indexes of tables that hold items already: filled in steps, whatever happens between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.engine._upkeep import LEASE_RECORD, LEASE_SECONDS
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

# More than two steps fill.
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


def test_the_index_of_a_large_table_is_refused_until_upkeep_has_filled_it(engine: Engine) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    index = _index(engine)
    assert (index["IndexStatus"], index["Backfilling"]) == ("CREATING", True)
    assert 0 < index["ItemCount"] < MANY, "the first step is made, and not the last"
    with pytest.raises(ValidationException, match="Cannot read from backfilling"):
        query_index(engine, "x")
    assert engine.verify() == [], "half a fill is no problem"
    assert engine.run_upkeep() == 0
    index = _index(engine)
    assert (index["IndexStatus"], index["ItemCount"]) == ("ACTIVE", MANY)
    assert "Backfilling" not in index
    assert query_index(engine, "x") == {f"thing-{number}" for number in range(MANY)}


def test_what_is_written_during_a_fill_counts_as_it_is_in_the_end(engine: Engine) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    expected = {f"thing-{number}" for number in range(MANY)}
    # Before and behind the place that the fill has come to: keys are hashed.
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


def test_what_an_index_refuses_is_refused_during_its_fill(engine: Engine) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    with pytest.raises(ValidationException, match="Type mismatch for Index Key a"):
        put(engine, "new", a={"N": "1"})


def test_large_items_are_filled_in_shorter_steps(engine: Engine) -> None:
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


def test_no_item_is_passed_over_between_two_steps(engine: Engine) -> None:
    # Each sort key is the start of the next: what follows a step's last key is near.
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


def test_an_index_that_is_being_filled_keeps_others_waiting(engine: Engine) -> None:
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


def test_expiry_may_be_switched_on_while_an_index_is_filled(engine: Engine) -> None:
    _fill(engine)
    engine.execute("UpdateTable", ADD_INDEX)
    engine.execute(
        "UpdateTimeToLive",
        {"TableName": TABLE, "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": True}},
    )
    engine.run_upkeep()
    assert _index(engine)["IndexStatus"] == "ACTIVE"
    assert len(query_index(engine, "x")) == MANY


def test_a_table_that_goes_takes_its_fill_along(engine: Engine) -> None:
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


def test_the_next_to_open_the_file_goes_on_with_the_fill(tmp_path: Path) -> None:
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


def test_a_fill_does_not_wait_for_a_process_that_may_be_dead(tmp_path: Path) -> None:
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
UNFIT: dict[str, dict[str, Any]] = {
    "number": {"N": "1"},
    "null": {"NULL": True},
    "set": {"SS": ["x"]},
    "empty": {"S": ""},
    "long": {"S": "x" * 2_049},
}


@pytest.fixture
def invalid(engine: Engine) -> Engine:
    """An engine whose table got its index when items were there that do not fit it."""
    for name, value in UNFIT.items():
        put(engine, name, a=value)
    put(engine, "fit", a={"S": "x"})
    engine.execute("UpdateTable", ADD_INDEX)
    return engine


def test_what_does_not_fit_is_left_out_of_the_index(invalid: Engine) -> None:
    assert _index(invalid)["ItemCount"] == 1
    found = invalid.execute("Scan", {"TableName": TABLE, "IndexName": "by-a"})
    assert [item["pk"] for item in found["Items"]] == [{"S": "fit"}]
    assert invalid.execute("Scan", {"TableName": TABLE})["Count"] == len(UNFIT) + 1


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_can_be_changed_elsewhere(invalid: Engine, name: str) -> None:
    assert add(invalid, name) == 1
    item = get(invalid, name)
    assert item is not None
    assert (item["a"], item["n"]) == (UNFIT[name], {"N": "1"})


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_can_be_made_to_fit_taken_out_or_deleted(
    invalid: Engine, name: str
) -> None:
    _update(invalid, name, "SET a = :a", a={"S": "x"})
    assert query_index(invalid, "x") == {"fit", name}
    _update(invalid, name, "REMOVE a")
    assert query_index(invalid, "x") == {"fit"}
    invalid.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": name}}})
    assert get(invalid, name) is None


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_cannot_be_written_again(invalid: Engine, name: str) -> None:
    with pytest.raises(ValidationException, match=r"."):
        put(invalid, name, a=UNFIT[name])
    with pytest.raises(ValidationException, match=r"."):
        _update(invalid, name, "SET a = :a", a={"BOOL": True})
    item = get(invalid, name)
    assert item is not None
    assert item["a"] == UNFIT[name]
