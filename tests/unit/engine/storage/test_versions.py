"""Tables that another process changes: a stale definition is noticed before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from keyfold.engine import Engine, upkeep
from keyfold.engine.storage import (
    StorageWriter,
)
from keyfold.engine.tables import backfill
from keyfold.errors import ResourceNotFoundException, ValidationException
from tests.unit.engine.storage.tables import (
    ADD_INDEX,
    CREATE,
    DROP_INDEX,
    TABLE,
    add,
    create,
    get,
    names,
    put,
    query_index,
)


def _open(path: Path, clock: Callable[[], float] = lambda: 0.0) -> Engine:
    return Engine.open(
        path, durability="process", upkeep_seconds=None, expiry_grace=0.0, clock=clock
    )


@pytest.fixture
def two_engines(tmp_path: Path) -> Iterator[tuple[Engine, Engine]]:
    """Two engines on one file, like two processes; both have the table's definition cached."""
    path = tmp_path / "things.db"
    with _open(path) as one, _open(path) as other:
        create(one)
        put(one, "there", a={"S": "x"})
        assert get(other, "there") is not None
        yield one, other
        assert one.verify() == other.verify() == []


def test_an_index_that_another_process_added_can_be_queried(
    two_engines: tuple[Engine, Engine],
) -> None:
    one, other = two_engines
    other.execute("UpdateTable", ADD_INDEX)
    assert query_index(one, "x") == {"there"}


def test_writes_go_to_an_index_that_another_process_added(
    two_engines: tuple[Engine, Engine],
) -> None:
    one, other = two_engines
    other.execute("UpdateTable", ADD_INDEX)
    put(one, "new", a={"S": "x"})
    add(one, "there")
    assert query_index(other, "x") == {"there", "new"}


def test_an_index_that_another_process_dropped_is_no_longer_checked(
    two_engines: tuple[Engine, Engine],
) -> None:
    one, other = two_engines
    one.execute("UpdateTable", ADD_INDEX)
    assert query_index(one, "x") == {"there"}
    other.execute("UpdateTable", DROP_INDEX)
    put(one, "number", a={"N": "1"})
    with pytest.raises(ValidationException, match="does not have the specified index"):
        query_index(one, "x")


def test_an_index_that_another_process_added_refuses_invalid_values(
    two_engines: tuple[Engine, Engine],
) -> None:
    one, other = two_engines
    other.execute("UpdateTable", ADD_INDEX)
    with pytest.raises(ValidationException, match="Type mismatch for Index Key a"):
        put(one, "number", a={"N": "1"})


def test_a_table_that_another_process_deleted_is_not_found(
    two_engines: tuple[Engine, Engine],
) -> None:
    one, other = two_engines
    other.execute("DeleteTable", {"TableName": TABLE})
    with pytest.raises(ResourceNotFoundException):
        put(one, "late")
    with pytest.raises(ResourceNotFoundException):
        get(one, "there")


def test_a_table_that_another_process_recreated_is_the_new_one(
    two_engines: tuple[Engine, Engine],
) -> None:
    one, other = two_engines
    other.execute("DeleteTable", {"TableName": TABLE})
    other.execute(
        "CreateTable",
        {
            **CREATE,
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        },
    )
    with pytest.raises(ValidationException, match="does not match the schema"):
        get(one, "there")
    one.execute("PutItem", {"TableName": TABLE, "Item": {"id": {"N": "1"}}})
    assert other.execute("Scan", {"TableName": TABLE})["Count"] == 1


def test_an_index_that_upkeep_filled_can_be_queried(two_engines: tuple[Engine, Engine]) -> None:
    one, other = two_engines
    for number in range(20):
        put(one, f"thing-{number}", a={"S": "x"})
    with mock.patch.object(backfill, "BATCH_ITEMS", 4):
        one.execute("UpdateTable", ADD_INDEX)
        for engine in two_engines:
            with pytest.raises(ValidationException, match="Cannot read from backfilling"):
                query_index(engine, "x")
        other.run_upkeep()
    assert len(query_index(one, "x")) == len(query_index(other, "x")) == 21


def test_expiry_that_another_process_enabled_applies_to_later_writes(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with _open(path, lambda: 1_000.0) as one, _open(path, lambda: 1_000.0) as other:
        create(one)
        put(one, "before", ttl={"N": "900"})
        other.execute(
            "UpdateTimeToLive",
            {
                "TableName": TABLE,
                "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
            },
        )
        put(one, "after", ttl={"N": "900"})
        put(one, "later", ttl={"N": "1100"})
        assert other.run_upkeep() == 2
        assert names(one) == {"later"}
        assert one.verify() == []


def test_a_table_change_after_a_commit_does_not_repeat_the_write(
    tmp_path: Path,
) -> None:
    path = tmp_path / "things.db"
    schema = [("pk", "HASH"), ("sk", "RANGE")]
    local = [("pk", "HASH"), ("b", "RANGE")]
    with _open(path) as one, _open(path) as other:
        one.execute(
            "CreateTable",
            {
                **CREATE,
                "AttributeDefinitions": [
                    {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "b")
                ],
                "KeySchema": [{"AttributeName": n, "KeyType": k} for n, k in schema],
                "LocalSecondaryIndexes": [
                    {
                        "IndexName": "local",
                        "KeySchema": [{"AttributeName": n, "KeyType": k} for n, k in local],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                ],
            },
        )
        _after_the_next_commit(one, lambda: other.execute("UpdateTable", ADD_INDEX))
        answer = one.execute(
            "UpdateItem",
            {
                "TableName": TABLE,
                "Key": {"pk": {"S": "p"}, "sk": {"S": "s"}},
                "UpdateExpression": "ADD n :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
                "ReturnValues": "ALL_NEW",
                "ReturnItemCollectionMetrics": "SIZE",
                "ReturnConsumedCapacity": "INDEXES",
            },
        )
        assert answer["Attributes"]["n"] == {"N": "1"}
        assert other.execute("Scan", {"TableName": TABLE})["Items"] == [answer["Attributes"]]


def test_an_index_that_another_process_fills_first_is_still_acknowledged(
    two_engines: tuple[Engine, Engine],
) -> None:
    one, other = two_engines
    _after_the_next_commit(one, other.run_upkeep)
    one.execute("UpdateTable", ADD_INDEX)
    assert query_index(one, "x") == query_index(other, "x") == {"there"}


def _after_the_next_commit(engine: Engine, act: Callable[[], object]) -> None:
    """Call `act`, as another process would, right after the engine's next commit."""
    storage = engine._storage
    write = storage.write

    def write_once(work: Callable[[StorageWriter], Any]) -> Any:
        storage.write = write
        result = write(work)
        act()
        return result

    storage.write = write_once


def test_only_one_engine_at_a_time_runs_the_upkeep_of_a_file(
    two_engines: tuple[Engine, Engine],
) -> None:
    one, other = two_engines
    current = 1_000.0

    def now() -> float:
        return current

    with mock.patch.object(upkeep.time, "time", now):
        assert one._upkeep._hold_lease()
        assert not other._upkeep._hold_lease()
        current += upkeep.LEASE_SECONDS / 2
        assert one._upkeep._hold_lease(), "the holder renews its lease"
        current += upkeep.LEASE_SECONDS / 2 + 1
        assert not other._upkeep._hold_lease()
        # The holder has exited or is suspended.
        current += upkeep.LEASE_SECONDS
        assert other._upkeep._hold_lease()
        assert not one._upkeep._hold_lease()
