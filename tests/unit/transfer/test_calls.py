from __future__ import annotations

import pytest

from keyfold.errors import TableMissing, Unavailable, ValidationException
from keyfold.testing import FaultProfile, dynamodb
from keyfold.transfer._calls import MeteredCaller, describe_table, list_tables
from tests.unit.transfer.shop import Time, make_orders, open_shop, shop


def test_transient_errors_are_retried() -> None:
    time = Time()
    with dynamodb(faults=FaultProfile(throttling=0.6, seed=3)) as service:
        service.engine.execute("CreateTable", shop.to_dynamodb())
        caller = MeteredCaller(service, time.environment)
        for _ in range(5):
            assert caller.call("Scan", {"TableName": "Shop"})["Items"] == []
    assert time.slept


def test_retries_of_transient_errors_end() -> None:
    with dynamodb(faults=FaultProfile(throttling=1.0)) as service:
        service.engine.execute("CreateTable", shop.to_dynamodb())
        with pytest.raises(Unavailable, match="Scan: tried 8 times"):
            MeteredCaller(service, Time().environment).call("Scan", {"TableName": "Shop"})


def test_permanent_errors_are_not_retried() -> None:
    time = Time()
    with open_shop() as engine, pytest.raises(ValidationException, match="limit"):
        MeteredCaller(engine, time.environment).call("Scan", {"TableName": "Shop", "Limit": 0})
    assert time.slept == []


def test_consumed_capacity_is_counted_and_limited_to_the_rate() -> None:
    time = Time()
    with open_shop(items=make_orders(4)) as engine:
        caller = MeteredCaller(engine, time.environment, rate=0.5)
        request = {"TableName": "Shop", "ReturnConsumedCapacity": "TOTAL", "ConsistentRead": True}
        for _ in range(3):
            caller.call("Scan", request)
        assert caller.units == 12.0
    # The bucket starts with half a unit; each call takes four, and waits for what the last took.
    assert time.slept == [7.0, 8.0]


def test_the_error_about_a_missing_table_lists_the_existing_ones() -> None:
    with open_shop() as engine:
        caller = MeteredCaller(engine, Time().environment)
        assert list_tables(caller) == ["Shop"]
        with pytest.raises(TableMissing) as missing:
            describe_table(caller, "shop.db", "Shops")
    assert str(missing.value) == (
        "shop.db: there is no table 'Shops'; it has Shop. "
        "Name one of those, or create the table first. [table-missing]"
    )
