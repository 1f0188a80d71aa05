"""Tables on a service that takes a while to make and to remove them, on both stores."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import InternalServerError, ResourceInUseException, ResourceNotFoundException
from tests.unit.model.shop import Rate, rates
from tests.unit.store.store_kinds import START, OpenSide, Side

RATE = Rate(base="USD", target="EUR", rate=Decimal(1), at=START)


class Slow:
    """An engine whose one table is described as changing, so often, after it was changed."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.descriptions = 3
        self.status = ""
        self.left = 0

    def begin(self, status: str) -> None:
        self.status, self.left = status, self.descriptions

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "DescribeTable" and self.status:
            return self._describe(request)
        if operation == "CreateTable" and self.status:
            raise ResourceInUseException("Table already exists: ExchangeRates")
        if self.status:
            # Time to live, for instance, of a table that is being made.
            raise ResourceNotFoundException("Requested resource not found")
        if operation == "DeleteTable":
            self.begin("DELETING")
            return {}
        answer = self.engine.execute(operation, request)
        if operation == "CreateTable":
            self.begin("CREATING")
        return answer

    def _describe(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.left:
            self.left -= 1
            return {"Table": {"TableStatus": self.status}}
        if self.status == "DELETING":
            self.engine.execute("DeleteTable", request)
        self.status = ""
        return self.engine.execute("DescribeTable", request)


@pytest.fixture
def slow() -> Iterator[Slow]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield Slow(engine)


@pytest.fixture
def store(make_store: OpenSide, slow: Slow) -> Side:
    return make_store(slow, [rates])


def test_a_table_that_was_made_can_be_used(store: Side, slow: Slow) -> None:
    store.create_table(rates)
    assert store.run(RATE.put()) == RATE
    assert store.pauses == [0.05, 0.1, 0.2]
    described = slow.engine.execute("DescribeTimeToLive", {"TableName": "ExchangeRates"})
    assert described["TimeToLiveDescription"]["AttributeName"] == "ttl"


def test_pauses_grow_up_to_two_seconds(store: Side, slow: Slow) -> None:
    slow.descriptions = 9
    store.create_table(rates)
    assert store.pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]


def test_a_table_that_another_is_making_is_waited_for(store: Side, slow: Slow) -> None:
    slow.execute("CreateTable", rates.to_dynamodb())
    store.create_table(rates)
    assert store.run(RATE.put()) == RATE


def test_a_table_that_is_there_is_left_as_it_is(store: Side) -> None:
    store.create_table(rates)
    store.run(RATE.put())
    store.calls.clear()
    store.create_table(rates)
    assert [call.operation for call in store.calls] == ["CreateTable", "DescribeTable"]
    assert len(store.run(Rate.scan())) == 1


def test_a_table_that_is_being_removed_is_made_anew(store: Side) -> None:
    store.create_table(rates)
    store.run(RATE.put())
    store.drop_table(rates)
    with pytest.raises(ResourceNotFoundException):
        store.run(RATE.put())
    store.create_table(rates)
    assert len(store.run(Rate.scan())) == 0
    assert store.run(RATE.put()) == RATE


def test_a_call_that_may_have_made_the_table_is_not_repeated(make_store: OpenSide) -> None:
    class Failing:
        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            raise InternalServerError("Internal server error")

    store = make_store(Failing(), [rates])
    with pytest.raises(InternalServerError):
        store.create_table(rates)
    assert [call.operation for call in store.calls] == ["CreateTable"]
