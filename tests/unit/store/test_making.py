"""Tables on a service that takes a while to create and delete them, on both stores."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import InternalServerError, ResourceInUseException, ResourceNotFoundException
from tests.unit.model.shop import Rate, rates
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

RATE = Rate(base="USD", target="EUR", rate=Decimal(1), at=START)


class SlowEngine:
    """An engine whose table stays CREATING or DELETING for `descriptions` DescribeTable calls."""

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
            # For instance, UpdateTimeToLive of a table that is being created.
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
def slow() -> Iterator[SlowEngine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield SlowEngine(engine)


@pytest.fixture
def store(make_store: OpenStore, slow: SlowEngine) -> AnyStore:
    return make_store(slow, [rates])


def test_a_table_can_be_used_once_it_is_created(store: AnyStore, slow: SlowEngine) -> None:
    store.create_table(rates)
    assert store.run(RATE.put()) == RATE
    assert store.pauses == [0.05, 0.1, 0.2]
    described = slow.engine.execute("DescribeTimeToLive", {"TableName": "ExchangeRates"})
    assert described["TimeToLiveDescription"]["AttributeName"] == "ttl"


def test_pauses_grow_up_to_two_seconds(store: AnyStore, slow: SlowEngine) -> None:
    slow.descriptions = 9
    store.create_table(rates)
    assert store.pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]


def test_a_table_that_is_being_created_is_waited_for(store: AnyStore, slow: SlowEngine) -> None:
    slow.execute("CreateTable", rates.to_dynamodb())
    store.create_table(rates)
    assert store.run(RATE.put()) == RATE


def test_an_existing_table_is_left_unchanged(store: AnyStore) -> None:
    store.create_table(rates)
    store.run(RATE.put())
    store.calls.clear()
    store.create_table(rates)
    assert [call.operation for call in store.calls] == ["CreateTable", "DescribeTable"]
    assert len(store.run(Rate.scan())) == 1


def test_a_table_that_is_being_deleted_is_created_again(store: AnyStore) -> None:
    store.create_table(rates)
    store.run(RATE.put())
    store.drop_table(rates)
    with pytest.raises(ResourceNotFoundException):
        store.run(RATE.put())
    store.create_table(rates)
    assert len(store.run(Rate.scan())) == 0
    assert store.run(RATE.put()) == RATE


def test_a_call_that_may_have_created_the_table_is_not_retried(make_store: OpenStore) -> None:
    class Failing:
        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            raise InternalServerError("Internal server error")

    store = make_store(Failing(), [rates])
    with pytest.raises(InternalServerError):
        store.create_table(rates)
    assert [call.operation for call in store.calls] == ["CreateTable"]
