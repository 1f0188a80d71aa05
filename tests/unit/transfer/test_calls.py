from __future__ import annotations

import pytest

from keyfold.errors import TableMissing, Unavailable, ValidationException
from keyfold.testing import FaultProfile, dynamodb
from keyfold.transfer._calls import Caller, describe_table, list_tables
from tests.unit.transfer.world import Time, make_orders, open_shop, shop


def test_what_the_service_refuses_for_the_moment_is_tried_again() -> None:
    time = Time()
    with dynamodb(faults=FaultProfile(throttling=0.6, seed=3)) as service:
        service.engine.execute("CreateTable", shop.to_dynamodb())
        caller = Caller(service, time.surroundings)
        for _ in range(5):
            assert caller.call("Scan", {"TableName": "Shop"})["Items"] == []
    assert time.slept


def test_what_the_service_refuses_for_long_is_given_up() -> None:
    with dynamodb(faults=FaultProfile(throttling=1.0)) as service:
        service.engine.execute("CreateTable", shop.to_dynamodb())
        with pytest.raises(Unavailable, match="Scan: tried 8 times"):
            Caller(service, Time().surroundings).call("Scan", {"TableName": "Shop"})


def test_what_is_wrong_is_not_tried_again() -> None:
    time = Time()
    with open_shop() as engine, pytest.raises(ValidationException, match="limit"):
        Caller(engine, time.surroundings).call("Scan", {"TableName": "Shop", "Limit": 0})
    assert time.slept == []


def test_capacity_is_counted_and_kept_within_the_rate() -> None:
    time = Time()
    with open_shop(items=make_orders(4)) as engine:
        caller = Caller(engine, time.surroundings, rate=0.5)
        request = {"TableName": "Shop", "ReturnConsumedCapacity": "TOTAL", "ConsistentRead": True}
        for _ in range(3):
            caller.call("Scan", request)
        assert caller.units == 3.0
    # Half a unit is there at first; each call takes one.
    assert time.slept == [1.0, 2.0]


def test_a_table_that_is_missing_is_told_with_those_that_are_there() -> None:
    with open_shop() as engine:
        caller = Caller(engine, Time().surroundings)
        assert list_tables(caller) == ["Shop"]
        with pytest.raises(TableMissing) as missing:
            describe_table(caller, "shop.db", "Shops")
    assert str(missing.value) == (
        "shop.db: there is no table 'Shops'; it has Shop. "
        "Name one of those, or make it first. [table-missing]"
    )
