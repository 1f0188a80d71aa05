"""Usage monitoring: on-demand maximums, with a clock that tests move, and hot keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine, HotKey
from keyfold.errors import (
    InsightsOff,
    OptionInvalid,
    ResourceNotFoundException,
    ThrottlingException,
    TransactionCanceledException,
    ValidationException,
)
from tests.unit.engine.clocks import Clock

TABLE = "Music"
ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"

CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("artist", "song", "genre")
    ],
    "KeySchema": [
        {"AttributeName": "artist", "KeyType": "HASH"},
        {"AttributeName": "song", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByGenre",
            "KeySchema": [{"AttributeName": "genre", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


WHERE = "WHERE artist = 'Nina' AND song = 'Sinnerman'"
SELECT = f"SELECT * FROM {TABLE} {WHERE}"
INSERT = f"INSERT INTO {TABLE} VALUE {{'artist': 'Nina', 'song': 'Sinnerman'}}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        yield engine
        assert engine.verify() == []


def _key(artist: str = "Nina", song: str = "Sinnerman") -> dict[str, Any]:
    return {"artist": {"S": artist}, "song": {"S": song}}


def _put(engine: Engine, artist: str = "Nina", song: str = "Sinnerman", **more: Any) -> None:
    engine.execute("PutItem", {"TableName": TABLE, "Item": {**_key(artist, song), **more}})


def _get(engine: Engine, artist: str = "Nina", *, consistent: bool = True) -> dict[str, Any]:
    request = {"TableName": TABLE, "Key": _key(artist), "ConsistentRead": consistent}
    return engine.execute("GetItem", request)


def _query(engine: Engine, artist: str = "Nina") -> dict[str, Any]:
    values = {":a": {"S": artist}}
    return engine.execute(
        "Query",
        {
            "TableName": TABLE,
            "KeyConditionExpression": "artist = :a",
            "ExpressionAttributeValues": values,
        },
    )


def _limit(engine: Engine, **maximums: int) -> None:
    engine.execute("UpdateTable", {"TableName": TABLE, "OnDemandThroughput": maximums})


def _limit_index(engine: Engine, **maximums: int) -> None:
    update = {"IndexName": "ByGenre", "OnDemandThroughput": maximums}
    engine.execute(
        "UpdateTable", {"TableName": TABLE, "GlobalSecondaryIndexUpdates": [{"Update": update}]}
    )


def _count(engine: Engine, action: str = "ENABLE", **more: Any) -> None:
    request = {"TableName": TABLE, "ContributorInsightsAction": action, **more}
    engine.execute("UpdateContributorInsights", request)


def test_reads_past_the_maximum_of_a_second_are_throttled(engine: Engine, clock: Clock) -> None:
    _limit(engine, MaxReadRequestUnits=2)
    _get(engine)
    _get(engine)
    with pytest.raises(ThrottlingException) as caught:
        _get(engine)
    assert caught.value.fields == {
        "throttlingReasons": [{"reason": "TableReadMaxOnDemandThroughputExceeded", "resource": ARN}]
    }
    clock.let_pass(0.5)
    _get(engine)
    with pytest.raises(ThrottlingException):
        _get(engine)
    # Writes have a separate maximum, which is not set.
    _put(engine)


def test_units_used_beyond_the_maximum_are_owed_by_later_requests(
    engine: Engine, clock: Clock
) -> None:
    _limit(engine, MaxWriteRequestUnits=2)
    _put(engine, text={"S": "x" * 5_000})
    clock.let_pass(1.0)
    with pytest.raises(ThrottlingException, match="exceeds the maximum OnDemandThroughput"):
        _put(engine)
    clock.let_pass(1.0)
    _put(engine)


def test_unused_units_are_kept_for_only_a_second(engine: Engine, clock: Clock) -> None:
    _limit(engine, MaxReadRequestUnits=2)
    clock.let_pass(3_600)
    _get(engine)
    _get(engine)
    with pytest.raises(ThrottlingException):
        _get(engine)


def test_a_clock_that_steps_back_adds_no_units(engine: Engine, clock: Clock) -> None:
    _limit(engine, MaxReadRequestUnits=1)
    _get(engine)
    clock.let_pass(-10)
    with pytest.raises(ThrottlingException):
        _get(engine)
    clock.let_pass(1)
    _get(engine)


@pytest.mark.parametrize("operation", ["Query", "Scan", "GetItem", "ExecuteStatement"])
def test_every_read_operation_respects_the_maximum(engine: Engine, operation: str) -> None:
    # A scan costs the minimum of four partitions.
    _limit(engine, MaxReadRequestUnits=4 if operation == "Scan" else 1)

    def read() -> None:
        if operation == "Query":
            _query(engine)
        elif operation == "Scan":
            engine.execute("Scan", {"TableName": TABLE})
        elif operation == "ExecuteStatement":
            engine.execute("ExecuteStatement", {"Statement": SELECT})
        else:
            _get(engine, consistent=False)

    read()
    read()
    with pytest.raises(ThrottlingException):
        read()


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_every_write_operation_respects_the_maximum(engine: Engine, operation: str) -> None:
    _limit(engine, MaxWriteRequestUnits=1)
    named = "Item" if operation == "PutItem" else "Key"
    request = {"TableName": TABLE, named: _key()}
    engine.execute(operation, request)
    with pytest.raises(ThrottlingException):
        engine.execute(operation, request)


def test_a_condition_that_fails_is_charged_too(engine: Engine) -> None:
    _limit(engine, MaxWriteRequestUnits=1)
    refused = {
        "TableName": TABLE,
        "Item": _key(),
        "ConditionExpression": "attribute_exists(artist)",
    }
    with pytest.raises(Exception, match="The conditional request failed"):
        engine.execute("PutItem", refused)
    with pytest.raises(ThrottlingException):
        engine.execute("PutItem", refused)


def test_a_batch_returns_throttled_members_as_unprocessed(engine: Engine, clock: Clock) -> None:
    _limit(engine, MaxReadRequestUnits=1, MaxWriteRequestUnits=1)
    puts = [{"PutRequest": {"Item": _key(song=song)}} for song in "abc"]
    written = engine.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})
    assert written["UnprocessedItems"] == {TABLE: puts[1:]}
    keys = [_key(song=song) for song in "abc"]
    wanted = {TABLE: {"Keys": keys, "ConsistentRead": True}}
    read = engine.execute("BatchGetItem", {"RequestItems": wanted})
    assert read["Responses"] == {TABLE: [keys[0]]}
    assert read["UnprocessedKeys"] == {TABLE: {"Keys": keys[1:], "ConsistentRead": True}}
    for operation, items in (("BatchWriteItem", {TABLE: puts}), ("BatchGetItem", wanted)):
        with pytest.raises(ThrottlingException):
            engine.execute(operation, {"RequestItems": items})
    clock.let_pass(1)
    assert _get(engine) == {}


def test_a_transaction_reports_which_members_are_throttled(engine: Engine) -> None:
    _limit(engine, MaxReadRequestUnits=1, MaxWriteRequestUnits=1)
    gets = [{"Get": {"TableName": TABLE, "Key": _key(song=song)}} for song in "ab"]
    engine.execute("TransactGetItems", {"TransactItems": gets})
    with pytest.raises(TransactionCanceledException) as reading:
        engine.execute("TransactGetItems", {"TransactItems": gets})
    assert [reason["Code"] for reason in reading.value.fields["CancellationReasons"]] == [
        "ThrottlingError",
        "ThrottlingError",
    ]
    puts = [{"Put": {"TableName": TABLE, "Item": _key(song=song)}} for song in "ab"]
    with pytest.raises(TransactionCanceledException) as writing:
        engine.execute("TransactWriteItems", {"TransactItems": puts})
    assert [reason["Code"] for reason in writing.value.fields["CancellationReasons"]] == [
        "None",
        "ThrottlingError",
    ]
    assert engine.execute("DescribeTable", {"TableName": TABLE})["Table"]["ItemCount"] == 0


def test_statements_of_a_batch_are_throttled_one_by_one(engine: Engine) -> None:
    _limit(engine, MaxReadRequestUnits=1, MaxWriteRequestUnits=1)
    throttled = {
        "Error": {
            "Code": "ThrottlingError",
            "Message": "Throughput exceeds the maximum OnDemandThroughput configured on table "
            "or index",
        },
        "TableName": TABLE,
    }
    inserts = [{"Statement": INSERT.replace("Sinnerman", song)} for song in "ab"]
    written = engine.execute("BatchExecuteStatement", {"Statements": inserts})
    assert written["Responses"] == [{"TableName": TABLE}, throttled]
    selects = [
        {"Statement": SELECT.replace("Sinnerman", song), "ConsistentRead": True} for song in "ab"
    ]
    read = engine.execute("BatchExecuteStatement", {"Statements": selects})
    assert read["Responses"] == [{"TableName": TABLE, "Item": _key(song="a")}, throttled]


def test_statements_of_a_transaction_are_throttled(engine: Engine) -> None:
    _limit(engine, MaxReadRequestUnits=1, MaxWriteRequestUnits=1)
    select, insert = ({"TransactStatements": [{"Statement": each}]} for each in (SELECT, INSERT))
    for request in (select, insert):
        engine.execute("ExecuteTransaction", request)
        with pytest.raises(TransactionCanceledException) as caught:
            engine.execute("ExecuteTransaction", request)
        (reason,) = caught.value.fields["CancellationReasons"]
        assert reason["Code"] == "ThrottlingError"


def test_a_statement_on_an_index_uses_its_maximum(engine: Engine) -> None:
    _limit_index(engine, MaxReadRequestUnits=1)
    by_genre = {"Statement": f'SELECT * FROM "{TABLE}"."ByGenre" WHERE genre = \'jazz\''}
    engine.execute("ExecuteStatement", by_genre)
    engine.execute("ExecuteStatement", by_genre)
    with pytest.raises(ThrottlingException) as caught:
        engine.execute("ExecuteStatement", by_genre)
    (reason,) = caught.value.fields["throttlingReasons"]
    assert reason["resource"] == f"{ARN}/index/ByGenre"
    engine.execute("ExecuteStatement", {"Statement": SELECT})


def test_an_index_has_its_own_maximums(engine: Engine, clock: Clock) -> None:
    _limit_index(engine, MaxReadRequestUnits=4, MaxWriteRequestUnits=1)
    _put(engine, genre={"S": "jazz"})
    with pytest.raises(ThrottlingException) as caught:
        _put(engine, genre={"S": "blues"})
    assert caught.value.fields["throttlingReasons"] == [
        {
            "reason": "IndexWriteMaxOnDemandThroughputExceeded",
            "resource": f"{ARN}/index/ByGenre",
        }
    ]
    for _ in range(2):
        engine.execute("Scan", {"TableName": TABLE, "IndexName": "ByGenre"})
    with pytest.raises(ThrottlingException):
        engine.execute("Scan", {"TableName": TABLE, "IndexName": "ByGenre"})
    engine.execute("Scan", {"TableName": TABLE})
    clock.let_pass(1)
    _put(engine, genre={"S": "blues"})


def test_minus_one_removes_a_maximum(engine: Engine) -> None:
    _limit(engine, MaxReadRequestUnits=1, MaxWriteRequestUnits=7)
    _limit(engine, MaxReadRequestUnits=-1)
    for _ in range(5):
        _get(engine)
    described = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]
    assert described["OnDemandThroughput"] == {
        "MaxReadRequestUnits": -1,
        "MaxWriteRequestUnits": 7,
    }


def test_maximums_may_be_set_when_creating_a_table(clock: Clock) -> None:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", {**CREATE, "OnDemandThroughput": {"MaxReadRequestUnits": 1}})
        _get(engine)
        with pytest.raises(ThrottlingException):
            _get(engine)


@pytest.mark.parametrize("units", [0, -2])
def test_an_invalid_maximum_is_refused(engine: Engine, units: int) -> None:
    with pytest.raises(ValidationException, match="for table is outside of valid range"):
        _limit(engine, MaxReadRequestUnits=units)
    with pytest.raises(ValidationException, match="for index : ByGenre is outside of valid range"):
        _limit_index(engine, MaxWriteRequestUnits=units)
    with pytest.raises(ValidationException, match="OnDemandThroughput must not be empty"):
        _limit(engine)


def test_provisioned_tables_have_no_maximums(engine: Engine) -> None:
    request = {
        **CREATE,
        "TableName": "Other",
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        "OnDemandThroughput": {"MaxReadRequestUnits": 1},
    }
    with pytest.raises(
        ValidationException, match="cannot be specified when the table BillingMode is PROVISIONED"
    ):
        engine.execute("CreateTable", request)


def test_the_hottest_partitions_and_items_are_counted(engine: Engine) -> None:
    _put(engine)
    with pytest.raises(InsightsOff, match="table Music: its keys are not counted"):
        engine.hottest_keys(TABLE)
    _count(engine)
    for song in ("a", "b", "c"):
        _put(engine, song=song)
    for _ in range(3):
        _get(engine, "Miles")
    _query(engine)
    # Three items written, then four read by the query.
    assert engine.hottest_keys(TABLE) == [
        HotKey({"artist": {"S": "Nina"}}, 7, 7),
        HotKey({"artist": {"S": "Miles"}}, 3, 3),
    ]
    assert engine.hottest_keys(TABLE, by="item", limit=2) == [
        HotKey(_key("Miles"), 3, 3),
        HotKey(_key(song="a"), 2, 2),
    ]
    _count(engine, "DISABLE")
    with pytest.raises(InsightsOff):
        engine.hottest_keys(TABLE)


def test_every_operation_counts_the_items_it_touches(engine: Engine) -> None:
    _count(engine)
    _put(engine)
    engine.execute("UpdateItem", {"TableName": TABLE, "Key": _key()})
    engine.execute("BatchGetItem", {"RequestItems": {TABLE: {"Keys": [_key()]}}})
    engine.execute(
        "TransactGetItems", {"TransactItems": [{"Get": {"TableName": TABLE, "Key": _key()}}]}
    )
    check = {"TableName": TABLE, "Key": _key(), "ConditionExpression": "attribute_exists(artist)"}
    engine.execute("TransactWriteItems", {"TransactItems": [{"ConditionCheck": check}]})
    engine.execute("Scan", {"TableName": TABLE, "ProjectionExpression": "song"})
    delete = {"DeleteRequest": {"Key": _key()}}
    engine.execute("BatchWriteItem", {"RequestItems": {TABLE: [delete]}})
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": _key()})
    assert engine.hottest_keys(TABLE, by="item") == [HotKey(_key(), 8, 8)]


def test_every_statement_counts_the_items_it_touches(engine: Engine) -> None:
    _count(engine)
    exists = f"EXISTS(SELECT * FROM {TABLE} {WHERE} AND attribute_type(artist, 'S'))"
    engine.execute("ExecuteStatement", {"Statement": INSERT})
    engine.execute("ExecuteStatement", {"Statement": SELECT})
    engine.execute("BatchExecuteStatement", {"Statements": [{"Statement": SELECT}]})
    engine.execute("ExecuteTransaction", {"TransactStatements": [{"Statement": SELECT}]})
    engine.execute("ExecuteTransaction", {"TransactStatements": [{"Statement": exists}]})
    update = f"UPDATE {TABLE} SET plays = 1 {WHERE}"
    engine.execute("ExecuteStatement", {"Statement": update})
    engine.execute("ExecuteStatement", {"Statement": f"DELETE FROM {TABLE} {WHERE}"})
    assert engine.hottest_keys(TABLE, by="item") == [HotKey(_key(), 7, 7)]


def test_a_throttled_statement_is_counted_separately(engine: Engine) -> None:
    _count(engine)
    _limit(engine, MaxReadRequestUnits=1)
    consistent = {"Statement": SELECT, "ConsistentRead": True}
    engine.execute("ExecuteStatement", consistent)
    with pytest.raises(ThrottlingException):
        engine.execute("ExecuteStatement", consistent)
    assert engine.hottest_keys(TABLE, by="item", throttled=True) == [HotKey(_key(), 1, 1)]


def test_an_index_is_counted_by_its_own_key(engine: Engine) -> None:
    _count(engine, IndexName="ByGenre")
    _put(engine, song="a", genre={"S": "jazz"})
    _put(engine, song="b", genre={"S": "jazz"})
    _put(engine, song="c")
    engine.execute("Scan", {"TableName": TABLE, "IndexName": "ByGenre"})
    assert engine.hottest_keys(TABLE, "ByGenre") == [HotKey({"genre": {"S": "jazz"}}, 4, 4)]
    with pytest.raises(InsightsOff):
        engine.hottest_keys(TABLE)


def test_throttled_requests_are_counted_separately(engine: Engine) -> None:
    _limit(engine, MaxReadRequestUnits=1)
    _count(engine, ContributorInsightsMode="THROTTLED_KEYS")
    _get(engine)
    for _ in range(3):
        with pytest.raises(ThrottlingException):
            _get(engine)
    with pytest.raises(ThrottlingException):
        _query(engine)
    assert engine.hottest_keys(TABLE, throttled=True) == [HotKey({"artist": {"S": "Nina"}}, 4, 4)]
    assert engine.hottest_keys(TABLE, by="item", throttled=True) == [HotKey(_key(), 3, 3)]
    # This mode counts only throttled requests.
    assert engine.hottest_keys(TABLE) == []


def test_hottest_keys_refuses_unknown_tables_and_invalid_options(engine: Engine) -> None:
    _count(engine)
    with pytest.raises(ResourceNotFoundException):
        engine.hottest_keys("Absent")
    with pytest.raises(InsightsOff, match="index Absent"):
        engine.hottest_keys(TABLE, "Absent")
    wrong: Any = "sort"
    with pytest.raises(OptionInvalid, match="by: got 'sort'"):
        engine.hottest_keys(TABLE, by=wrong)
    with pytest.raises(OptionInvalid, match="limit: got 0"):
        engine.hottest_keys(TABLE, limit=0)


def test_another_process_counts_and_throttles_as_well(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "music.db"
    with (
        Engine.open(path, durability="process", clock=clock, upkeep_seconds=None) as one,
        Engine.open(path, durability="process", clock=clock, upkeep_seconds=None) as other,
    ):
        one.execute("CreateTable", CREATE)
        _put(other)
        assert _get(other) == {"Item": _key()}
        # The other engine has cached the table by now, and would use its fast path.
        _count(one)
        _limit(one, MaxReadRequestUnits=1)
        _get(other)
        assert other.hottest_keys(TABLE) == [HotKey({"artist": {"S": "Nina"}}, 1, 1)]
        with pytest.raises(ThrottlingException):
            _get(other)


def test_a_recreated_table_starts_without_counts(engine: Engine) -> None:
    _count(engine)
    _put(engine)
    engine.execute("DeleteTable", {"TableName": TABLE})
    engine.execute("CreateTable", CREATE)
    with pytest.raises(InsightsOff):
        engine.hottest_keys(TABLE)
    _count(engine)
    assert engine.hottest_keys(TABLE) == []
