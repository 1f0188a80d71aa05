"""Restores to any second: the table is as it was then, whatever was done to it since."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.engine import Engine
from tests.examples import examples
from tests.unit.engine.clocks import Clock

TABLE = "Things"
CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "a", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-a",
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
State = dict[str, dict[str, Any]]

names = st.sampled_from("abcdefgh")
texts = st.sampled_from(["x", "y", "z"])
# A change, or a step of the clock by a fraction of a second or more.
changes = st.one_of(
    st.tuples(st.just("put"), names, texts),
    st.tuples(st.just("delete"), names, st.none()),
    st.tuples(st.just("update"), names, texts),
    st.tuples(st.just("transact"), names, texts),
    st.tuples(st.just("wait"), st.sampled_from([0.25, 1.0, 7.0]), st.none()),
)
histories = st.lists(changes, max_size=40)


def apply(engine: Engine, clock: Clock, change: tuple[str, Any, Any]) -> None:
    kind, name, text = change
    key = {"pk": {"S": name}}
    item = {**key, "a": {"S": text}}
    match kind:
        case "put":
            engine.execute("PutItem", {"TableName": TABLE, "Item": item})
        case "delete":
            engine.execute("DeleteItem", {"TableName": TABLE, "Key": key})
        case "update":
            update = {
                "TableName": TABLE,
                "Key": key,
                "UpdateExpression": "SET a = :a ADD hits :one",
                "ExpressionAttributeValues": {":a": {"S": text}, ":one": {"N": "1"}},
            }
            engine.execute("UpdateItem", update)
        case "transact":
            members = [
                {"Put": {"TableName": TABLE, "Item": item}},
                {"Delete": {"TableName": TABLE, "Key": {"pk": {"S": f"other {name}"}}}},
            ]
            engine.execute("TransactWriteItems", {"TransactItems": members})
        case _:
            clock.let_pass(name)


def scan(engine: Engine, table: str, **more: str) -> State:
    page = engine.execute("Scan", {"TableName": table, **more})
    return {item["pk"]["S"]: item for item in page["Items"]}


@contextmanager
def recorded(history: list[tuple[str, Any, Any]]) -> Generator[tuple[Engine, dict[float, State]]]:
    """An engine after a history, and the state of the table at each time in it."""
    clock = Clock()
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        apply(engine, clock, ("put", "before", "x"))
        engine.execute(
            "UpdateContinuousBackups",
            {
                "TableName": TABLE,
                "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
            },
        )
        states = {clock(): scan(engine, TABLE)}
        for change in history:
            apply(engine, clock, change)
            states[clock()] = scan(engine, TABLE)
        yield engine, states
        assert engine.verify() == []


@given(history=histories, data=st.data())
@examples(40)
def test_a_restore_to_any_time_equals_the_table_at_that_time(
    history: list[tuple[str, Any, Any]], data: st.DataObject
) -> None:
    with recorded(history) as (engine, states):
        at = data.draw(st.sampled_from(sorted(states)))
        # Between two recorded times the table is as it was at the first.
        at = data.draw(st.sampled_from([at, min(at + 0.1, max(states))]))
        engine.execute(
            "RestoreTableToPointInTime",
            {"SourceTableName": TABLE, "TargetTableName": "Restored", "RestoreDateTime": at},
        )
        expected = states[max(moment for moment in states if moment <= at)]
        assert scan(engine, "Restored") == expected
        assert scan(engine, "Restored", IndexName="by-a") == {
            name: item for name, item in expected.items() if "a" in item
        }


@given(before=histories, during=histories, rest=histories)
@examples(20)
def test_writes_during_a_restore_are_not_in_it(
    before: list[tuple[str, Any, Any]],
    during: list[tuple[str, Any, Any]],
    rest: list[tuple[str, Any, Any]],
) -> None:
    with recorded(before) as (engine, states):
        last = max(states)
        clock = engine._context.clock
        assert isinstance(clock, Clock)
        clock.let_pass(1)
        # One batch restores the first part; the table changes while the others are restored.
        jobs = engine._upkeep._jobs
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("keyfold.engine.jobs.BATCHES_AT_ONCE", 1)
            request = {"SourceTableName": TABLE, "TargetTableName": "Restored"}
            engine.execute("RestoreTableToPointInTime", {**request, "RestoreDateTime": last})
        for change in during:
            apply(engine, clock, change)
        jobs._batches["restore"]("Restored")
        for change in rest:
            apply(engine, clock, change)
        engine.run_upkeep()
        assert scan(engine, "Restored") == states[last]
