"""Writes that a server carries out in a thread: evaluated before their transaction, and in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.api import ProposedWrite
from keyfold.engine import Deadline, Engine
from keyfold.engine.storage import BackgroundStorage, Row, RowSet
from keyfold.errors import ConditionalCheckFailedException, TransactionCanceledException
from keyfold.expressions.updates import UpdatePlan

CREATE: dict[str, Any] = {
    "TableName": "Things",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
KEY = {"pk": {"S": "a"}}
ADD: dict[str, Any] = {
    "TableName": "Things",
    "Key": KEY,
    "UpdateExpression": "ADD n :one",
    "ExpressionAttributeValues": {":one": {"N": "1"}},
}


class RacingStorage(BackgroundStorage):
    """A storage on which somebody else writes after each of its reads of a row."""

    race: Callable[[], object]

    def get(self, rows: RowSet, key: bytes) -> Row | None:
        row = super().get(rows, key)
        self.race()
        return row


@pytest.fixture(params=["process", "memory"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    path = ":memory:" if request.param == "memory" else str(tmp_path / "things.db")
    with Engine.open(path, durability=request.param, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        put(engine, n=1)
        yield engine
        assert engine.verify() == []


def put(engine: Engine, **attributes: int) -> None:
    values = {name: {"N": str(value)} for name, value in attributes.items()}
    engine.execute("PutItem", {"TableName": "Things", "Item": KEY | values})


def read(engine: Engine) -> Any:
    return engine.execute("GetItem", {"TableName": "Things", "Key": KEY}).get("Item")


def run(engine: Engine, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    return engine.execute_parsed(operation, request, Deadline(10.0))


def race(engine: Engine, work: Callable[[], object]) -> None:
    """Have `work` done after each read of a row by a write in the background."""
    storage = RacingStorage(engine._storage)
    storage.race = work
    engine._background = engine._background._replace(storage=storage)


def test_a_write_is_evaluated_once_and_before_its_transaction(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply, held = UpdatePlan.apply, list[bool]()

    def note(plan: UpdatePlan, item: Any) -> Any:
        held.append(engine._storage._mutex.locked())
        return apply(plan, item)

    monkeypatch.setattr(UpdatePlan, "apply", note)
    run(engine, "UpdateItem", ADD)
    assert held == [False]
    assert read(engine) == KEY | {"n": {"N": "2"}}


def test_an_item_that_changes_meanwhile_is_evaluated_again(engine: Engine) -> None:
    race(engine, lambda: put(engine, n=10, m=5))
    response = run(engine, "UpdateItem", ADD | {"ReturnValues": "ALL_OLD"})
    assert response["Attributes"] == KEY | {"n": {"N": "10"}, "m": {"N": "5"}}
    assert read(engine) == KEY | {"n": {"N": "11"}, "m": {"N": "5"}}


def test_an_item_that_is_deleted_meanwhile_is_evaluated_again(engine: Engine) -> None:
    race(engine, lambda: engine.execute("DeleteItem", {"TableName": "Things", "Key": KEY}))
    run(engine, "UpdateItem", ADD)
    assert read(engine) == KEY | {"n": {"N": "1"}}


@pytest.mark.parametrize(("before", "meanwhile"), [(1, 2), (2, 1)])
def test_a_condition_decides_about_what_is_stored_at_the_commit(
    engine: Engine, before: int, meanwhile: int
) -> None:
    put(engine, n=before)
    race(engine, lambda: put(engine, n=meanwhile))
    delete = {
        "TableName": "Things",
        "Key": KEY,
        "ConditionExpression": "n = :two",
        "ExpressionAttributeValues": {":two": {"N": "2"}},
    }
    if meanwhile == 2:
        run(engine, "DeleteItem", delete)
        assert read(engine) is None
    else:
        with pytest.raises(ConditionalCheckFailedException):
            run(engine, "DeleteItem", delete)
        assert read(engine) == KEY | {"n": {"N": "1"}}


@pytest.mark.parametrize(("before", "meanwhile"), [(1, 2), (2, 1), (2, 2)])
def test_a_transaction_decides_about_what_is_stored_at_the_commit(
    engine: Engine, before: int, meanwhile: int
) -> None:
    put(engine, n=before)
    race(engine, lambda: put(engine, n=meanwhile))
    check = {
        "TableName": "Things",
        "Key": KEY,
        "ConditionExpression": "n = :two",
        "ExpressionAttributeValues": {":two": {"N": "2"}},
    }
    other = {"TableName": "Things", "Item": {"pk": {"S": "b"}}}
    request = {"TransactItems": [{"ConditionCheck": check}, {"Put": other}]}
    if meanwhile == 2:
        run(engine, "TransactWriteItems", request)
    else:
        with pytest.raises(TransactionCanceledException):
            run(engine, "TransactWriteItems", request)
    assert engine.execute("Scan", {"TableName": "Things"})["Count"] == meanwhile


def long_batch(count: int) -> dict[str, Any]:
    items = [{"pk": {"S": str(number)}, "t": {"S": "x" * 300_000}} for number in range(count)]
    return {"RequestItems": {"Things": [{"PutRequest": {"Item": item}} for item in items]}}


def test_a_long_batch_is_committed_in_parts_between_which_others_write(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def pause(_: Deadline) -> None:
        put(engine, n=len(counts))
        counts.append(engine.execute("Scan", {"TableName": "Things", "Select": "COUNT"})["Count"])

    monkeypatch.setattr(Deadline, "pause", pause)
    assert run(engine, "BatchWriteItem", long_batch(7)) == {"UnprocessedItems": {}}
    # Two items have more than half a megabyte.
    assert counts == [3, 4, 4]
    counts.clear()
    small = {"RequestItems": {"Things": [{"DeleteRequest": {"Key": KEY}}]}}
    assert run(engine, "BatchWriteItem", small) == {"UnprocessedItems": {}}
    assert counts == []
    assert read(engine) is None


def test_a_batch_that_a_check_may_refuse_is_committed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Deadline) -> None:
        raise AssertionError("it was committed in parts")

    monkeypatch.setattr(Deadline, "pause", fail)

    def accept(_: ProposedWrite, /) -> None:
        return None

    path, checks = tmp_path / "things.db", {"Things": accept}
    with Engine.open(path, upkeep_seconds=None, write_checks=checks) as engine:
        engine.execute("CreateTable", CREATE)
        run(engine, "BatchWriteItem", long_batch(7))
        assert engine.execute("Scan", {"TableName": "Things", "Select": "COUNT"})["Count"] == 4
