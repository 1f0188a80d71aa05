"""Throttling by partitions, switched on in the engine: what an application meets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.capacity import KeyLayout, ResourceLimits, ThroughputModel, Touch
from keyfold.engine import Engine
from keyfold.errors import (
    OptionInvalid,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ServiceError,
    ThrottlingException,
    TransactionCanceledException,
)
from keyfold.testing import dynamodb
from tests.unit.engine.clocks import Clock

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Orders"
_BIG = {"S": "x" * 100_000}

CREATE: dict[str, Any] = {
    "TableName": "Orders",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("user", "order", "status")
    ],
    "KeySchema": [
        {"AttributeName": "user", "KeyType": "HASH"},
        {"AttributeName": "order", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByStatus",
            "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    options: dict[str, Any] = {"clock": clock, "upkeep_seconds": None, "throttling": "partitions"}
    with Engine.open(":memory:", **options) as engine:
        engine.execute("CreateTable", CREATE)
        yield engine
        assert engine.verify() == []


def _item(user: str, order: str, **more: Any) -> dict[str, Any]:
    return {"user": {"S": user}, "order": {"S": order}, **more}


def _put(engine: Engine, user: str, order: str, **more: Any) -> None:
    engine.execute("PutItem", {"TableName": "Orders", "Item": _item(user, order, **more)})


def _reason_of(error: ServiceError) -> dict[str, Any]:
    (reason,) = error.fields.get("throttlingReasons") or error.fields["ThrottlingReasons"]
    return reason


def _fill(engine: Engine, user: str, **more: Any) -> None:
    """Use up what a partition can write in a second: 11 items of 98 units."""
    for number in range(11):
        _put(engine, user, str(number), text=_BIG, **more)


def test_a_hot_key_is_throttled_while_others_are_served(engine: Engine, clock: Clock) -> None:
    _fill(engine, "ada")
    with pytest.raises(ThrottlingException, match="check if you have a hot key") as caught:
        _put(engine, "ada", "11")
    assert _reason_of(caught.value) == {
        "reason": "TableWriteKeyRangeThroughputExceeded",
        "resource": ARN,
    }
    _put(engine, "bob", "1")
    clock.let_pass(1.0)
    _put(engine, "ada", "11")


def test_without_the_option_nothing_is_throttled(clock: Clock) -> None:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        _fill(engine, "ada")
        _put(engine, "ada", "11")


def test_a_hot_key_of_an_index_refuses_writes_of_the_table(engine: Engine) -> None:
    for number in range(11):
        _put(engine, f"user-{number}", "1", text=_BIG, status={"S": "open"})
    with pytest.raises(ThrottlingException) as caught:
        _put(engine, "user-11", "1", status={"S": "open"})
    assert _reason_of(caught.value) == {
        "reason": "IndexWriteKeyRangeThroughputExceeded",
        "resource": f"{ARN}/index/ByStatus",
    }
    assert "Item" not in engine.execute(
        "GetItem", {"TableName": "Orders", "Key": _item("user-11", "1")}
    )
    # A write that does not touch the hot key is served, and so is one that is not in the index.
    _put(engine, "user-12", "1", status={"S": "done"})
    _put(engine, "user-13", "1")


def test_an_entry_that_moves_is_charged_at_both_places(engine: Engine) -> None:
    for number in range(11):
        _put(engine, f"user-{number}", "1", text=_BIG, status={"S": "open"})
    move = {
        "TableName": "Orders",
        "Key": _item("user-0", "1"),
        "UpdateExpression": "SET #s = :s",
        "ExpressionAttributeNames": {"#s": "status"},
        "ExpressionAttributeValues": {":s": {"S": "done"}},
    }
    with pytest.raises(ThrottlingException) as caught:
        engine.execute("UpdateItem", move)
    assert _reason_of(caught.value)["reason"] == "IndexWriteKeyRangeThroughputExceeded"


def test_throttled_members_of_a_batch_are_unprocessed(engine: Engine) -> None:
    _fill(engine, "ada")
    puts = [{"PutRequest": {"Item": _item(user, "9")}} for user in ("ada", "bob")]
    response = engine.execute("BatchWriteItem", {"RequestItems": {"Orders": puts}})
    assert response["UnprocessedItems"] == {"Orders": puts[:1]}


def test_a_throttled_transaction_is_cancelled(engine: Engine) -> None:
    _fill(engine, "ada")
    puts = [{"Put": {"TableName": "Orders", "Item": _item(user, "9")}} for user in ("bob", "ada")]
    with pytest.raises(TransactionCanceledException) as caught:
        engine.execute("TransactWriteItems", {"TransactItems": puts})
    codes = [each["Code"] for each in caught.value.fields["CancellationReasons"]]
    assert codes == ["None", "ThrottlingError"]


def test_reads_of_a_key_are_throttled(engine: Engine) -> None:
    _fill(engine, "ada")
    query = {
        "TableName": "Orders",
        "KeyConditionExpression": "#u = :u",
        "ExpressionAttributeNames": {"#u": "user"},
        "ExpressionAttributeValues": {":u": {"S": "ada"}},
        "ConsistentRead": True,
    }
    # About 257 units each.
    for _ in range(12):
        engine.execute("Query", query)
    with pytest.raises(ThrottlingException) as caught:
        engine.execute("Query", query)
    assert _reason_of(caught.value)["reason"] == "TableReadKeyRangeThroughputExceeded"
    for operation in ("GetItem", "BatchGetItem"):
        read: dict[str, Any] = {"TableName": "Orders", "Key": _item("ada", "1")}
        if operation == "BatchGetItem":
            read = {"RequestItems": {"Orders": {"Keys": [_item("ada", "1")]}}}
        with pytest.raises(ThrottlingException):
            engine.execute(operation, read)
    engine.execute("GetItem", {"TableName": "Orders", "Key": _item("bob", "1")})


def test_statements_are_throttled_too(engine: Engine) -> None:
    _fill(engine, "ada")
    statement = "INSERT INTO Orders VALUE {'user': 'ada', 'order': 'new'}"
    with pytest.raises(ThrottlingException):
        engine.execute("ExecuteStatement", {"Statement": statement})
    engine.execute("ExecuteStatement", {"Statement": "SELECT * FROM Orders WHERE \"order\" = '1'"})


def test_provisioned_throughput_has_its_own_error(clock: Clock) -> None:
    options: dict[str, Any] = {"clock": clock, "upkeep_seconds": None, "throttling": "partitions"}
    with Engine.open(":memory:", **options) as engine:
        units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
        (index,) = CREATE["GlobalSecondaryIndexes"]
        engine.execute(
            "CreateTable",
            {
                **CREATE,
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": units,
                "GlobalSecondaryIndexes": [{**index, "ProvisionedThroughput": units}],
            },
        )
        for number in range(4):
            _put(engine, f"user-{number}", "1", text=_BIG)
        with pytest.raises(ProvisionedThroughputExceededException, match="for the table") as caught:
            _put(engine, "user-4", "1")
        assert _reason_of(caught.value) == {
            "reason": "TableWriteProvisionedThroughputExceeded",
            "resource": ARN,
        }
        clock.let_pass(400)
        _put(engine, "user-4", "1")


def test_the_quota_of_an_account_is_enforced(engine: Engine) -> None:
    warm = {"ReadUnitsPerSecond": 400_000, "WriteUnitsPerSecond": 100_000}
    engine.execute("UpdateTable", {"TableName": "Orders", "WarmThroughput": warm})
    for number in range(-(-40_000 // 98)):
        _put(engine, f"user-{number}", "1", text=_BIG)
    with pytest.raises(RequestLimitExceeded) as caught:
        _put(engine, "ada", "1")
    assert _reason_of(caught.value)["reason"] == "TableWriteAccountLimitExceeded"


def test_a_partition_key_with_local_indexes_is_never_split(clock: Clock) -> None:
    local = {
        "IndexName": "ByPlace",
        "KeySchema": [
            {"AttributeName": "user", "KeyType": "HASH"},
            {"AttributeName": "status", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "ALL"},
    }
    create = {name: value for name, value in CREATE.items() if name != "GlobalSecondaryIndexes"}
    with Engine.open(
        ":memory:", clock=clock, upkeep_seconds=None, throttling="partitions"
    ) as engine:
        engine.execute("CreateTable", {**create, "LocalSecondaryIndexes": [local]})
        for minute in range(10):
            # An index entry costs as much as the item, of the same partition.
            for number in range(6):
                order = str((minute * 37 + number * 31) % 97)
                _put(engine, "ada", order, text=_BIG, status={"S": order})
            with pytest.raises(ThrottlingException):
                _put(engine, "ada", "x", status={"S": "x"})
            clock.let_pass(60)


def test_hot_keys_are_counted_if_insights_are_on(engine: Engine) -> None:
    insights = {"TableName": "Orders", "ContributorInsightsAction": "ENABLE"}
    engine.execute("UpdateContributorInsights", insights)
    _fill(engine, "ada")
    with pytest.raises(ThrottlingException):
        _put(engine, "ada", "11")
    (hottest,) = engine.hottest_keys("Orders", throttled=True)
    assert hottest.key == {"user": {"S": "ada"}}


def test_the_engine_refuses_what_the_model_refuses(engine: Engine, clock: Clock) -> None:
    layout, by_status = KeyLayout(("user",), ("order",)), KeyLayout(("status",))
    model = ThroughputModel({"": ResourceLimits(), "ByStatus": ResourceLimits()}, clock())
    outcomes: list[tuple[str | None, str | None]] = []
    for number in range(400):
        user = "ada" if number % 3 else f"user-{number}"
        status = f"status-{number}" if number < 200 else "open"
        item = _item(user, f"{number:04}", status={"S": status}, text={"S": "x" * 20_000})
        touches = [
            Touch("", layout.place(item), 20.0),
            Touch("ByStatus", by_status.place(item), 20.0),
        ]
        _, refusal = model.admit("Write", touches, clock())
        refused: str | None = None
        try:
            engine.execute("PutItem", {"TableName": "Orders", "Item": item})
        except ThrottlingException as error:
            refused = _reason_of(error)["reason"]
        outcomes.append((None if refusal is None else refusal.reason, refused))
        clock.let_pass(0.008)
    assert {expected for expected, _ in outcomes} == {
        None,
        "TableWriteKeyRangeThroughputExceeded",
        "IndexWriteKeyRangeThroughputExceeded",
    }
    assert [expected for expected, _ in outcomes] == [refused for _, refused in outcomes]


def test_a_test_service_can_throttle_by_its_clock() -> None:
    with dynamodb(throttling="partitions") as service:
        service.execute("CreateTable", CREATE)
        _fill(service.engine, "ada")
        put = {"TableName": "Orders", "Item": _item("ada", "11")}
        with pytest.raises(ThrottlingException):
            service.execute("PutItem", put)
        service.clock.advance(1)
        service.execute("PutItem", put)


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(OptionInvalid, match="throttling"):
        Engine.open(":memory:", throttling="shards")  # pyright: ignore[reportArgumentType] - on purpose
