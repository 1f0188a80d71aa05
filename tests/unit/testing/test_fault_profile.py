"""Fault profiles: the effect of each fault on callers, and what it leaves alone."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from keyfold.errors import (
    OptionInvalid,
    ProvisionedThroughputExceededException,
    ServiceError,
    TransactionCanceledException,
    TransactionConflictException,
    ValidationException,
)
from keyfold.testing import Clock, FaultProfile, Service, dynamodb
from keyfold.testing._operations import ITEM_OPERATIONS
from tests.unit.testing.tables import CREATE, TABLE, get, key_of, make_client, make_item, put

KEY = {"TableName": TABLE, "Key": key_of("a")}
PUT = {"TableName": TABLE, "Item": make_item("a")}

SELECT = {"Statement": f"SELECT * FROM {TABLE} WHERE artist = 'Nina' AND song = 'a'"}

REQUESTS: dict[str, dict[str, Any]] = {
    "BatchExecuteStatement": {"Statements": [SELECT]},
    "BatchGetItem": {"RequestItems": {TABLE: {"Keys": [key_of("a")]}}},
    "BatchWriteItem": {"RequestItems": {TABLE: [{"PutRequest": {"Item": make_item("a")}}]}},
    "DeleteItem": KEY,
    "ExecuteStatement": SELECT,
    "ExecuteTransaction": {"TransactStatements": [SELECT]},
    "GetItem": KEY,
    "PutItem": PUT,
    "Query": {
        "TableName": TABLE,
        "KeyConditionExpression": "artist = :a",
        "ExpressionAttributeValues": {":a": {"S": "Nina"}},
    },
    "Scan": {"TableName": TABLE},
    "TransactGetItems": {"TransactItems": [{"Get": KEY}]},
    "TransactWriteItems": {"TransactItems": [{"Put": PUT}]},
    "UpdateItem": {**KEY, "UpdateExpression": "REMOVE x"},
}


def batch_write(*songs: str) -> dict[str, Any]:
    puts = [{"PutRequest": {"Item": make_item(song)}} for song in songs]
    return {"RequestItems": {TABLE: puts}}


def count_items(service: Service) -> int:
    return service.engine.execute("Scan", {"TableName": TABLE})["Count"]


def outcomes_of(service: Service, operation: str, times: int) -> list[str]:
    """Repeat a call; return the error type of each attempt, or "" if it succeeded."""
    outcomes: list[str] = []
    for _ in range(times):
        try:
            service.execute(operation, REQUESTS[operation])
            outcomes.append("")
        except ServiceError as error:
            outcomes.append(error.type)
    return outcomes


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("throttling", 1.5),
        ("throttling", -0.1),
        ("unprocessed", "often"),
        ("conflicts", None),
        ("stale_reads", float("nan")),
        ("index_lag", True),
        ("latency", 2),
        ("latency_seconds", -1),
        ("latency_seconds", float("inf")),
        ("expiry_grace", "1"),
        ("expiry_grace", timedelta(seconds=-1)),
        ("lag_writes", 0),
        ("lag_writes", 1.5),
        ("seed", 0.5),
    ],
)
def test_a_value_out_of_range_is_refused(field: str, value: Any) -> None:
    with pytest.raises(OptionInvalid) as caught:
        FaultProfile(**{field: value})
    assert str(caught.value).startswith(f"FaultProfile.{field}: got {value!r}. Give ")


def test_an_empty_profile_has_no_effect(service: Service) -> None:
    assert service.faults == FaultProfile()
    for operation in REQUESTS:
        assert outcomes_of(service, operation, 3) == ["", "", ""]


@pytest.mark.parametrize("operation", sorted(ITEM_OPERATIONS))
def test_throttling_refuses_before_anything_is_done(service: Service, operation: str) -> None:
    service.faults = FaultProfile(throttling=1.0)
    with pytest.raises(ProvisionedThroughputExceededException) as caught:
        # A search is refused before its index is looked for; the table here has none.
        service.execute(operation, REQUESTS.get(operation, {}))
    assert caught.value.message == (
        "The level of configured provisioned throughput for the table was exceeded. "
        "Consider increasing your provisioning level with the UpdateTable API."
    )
    assert count_items(service) == 0


def test_throttling_applies_only_to_item_operations(service: Service) -> None:
    service.faults = FaultProfile(throttling=1.0)
    service.execute("CreateTable", {**CREATE, "TableName": "Another"})
    service.execute("DescribeTable", {"TableName": "Another"})
    assert service.execute("ListTables", {})["TableNames"] == ["Another", TABLE]


def test_a_throttled_client_gets_the_error_at_once(service: Service) -> None:
    client = make_client()
    service.faults = FaultProfile(throttling=1.0)
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        client.get_item(**KEY)


def test_a_rate_is_the_fraction_of_calls_affected(service: Service) -> None:
    service.faults = FaultProfile(throttling=0.25, seed=1)
    outcomes = Counter(outcomes_of(service, "GetItem", 1_000))
    assert 200 < outcomes["ProvisionedThroughputExceededException"] < 300


def test_the_same_seed_gives_the_same_outcomes(service: Service) -> None:
    def play(seed: int) -> list[str]:
        service.faults = FaultProfile(throttling=0.2, conflicts=0.2, seed=seed)
        return [name for operation in REQUESTS for name in outcomes_of(service, operation, 10)]

    assert play(1) == play(1) != play(2)


def test_a_temporary_profile_does_not_change_the_random_sequence_of_the_original(
    service: Service,
) -> None:
    faults = FaultProfile(throttling=0.5)
    service.faults = faults
    undisturbed = outcomes_of(service, "GetItem", 20)
    service.faults = faults
    first = outcomes_of(service, "GetItem", 10)
    with service.under(FaultProfile(conflicts=0.5)):
        outcomes_of(service, "PutItem", 7)
    assert first + outcomes_of(service, "GetItem", 10) == undisturbed


@pytest.mark.parametrize("operation", ["DeleteItem", "PutItem", "UpdateItem"])
def test_single_writes_conflict_with_transactions(service: Service, operation: str) -> None:
    service.faults = FaultProfile(conflicts=1.0)
    with pytest.raises(TransactionConflictException, match="Transaction is ongoing for the item"):
        service.execute(operation, REQUESTS[operation])
    assert count_items(service) == 0


@pytest.mark.parametrize("operation", ["TransactGetItems", "TransactWriteItems"])
def test_transactions_conflict_with_other_transactions(service: Service, operation: str) -> None:
    def member(song: str) -> dict[str, Any]:
        if operation == "TransactGetItems":
            return {"Get": {"TableName": TABLE, "Key": key_of(song)}}
        return {"Put": {"TableName": TABLE, "Item": make_item(song)}}

    service.faults = FaultProfile(conflicts=1.0)
    with pytest.raises(TransactionCanceledException) as caught:
        service.execute(operation, {"TransactItems": [member(song) for song in "abc"]})
    reasons = caught.value.fields["CancellationReasons"]
    codes = [reason["Code"] for reason in reasons]
    assert sorted(codes) == ["None", "None", "TransactionConflict"]
    conflict = reasons[codes.index("TransactionConflict")]
    assert conflict["Message"] == "Transaction is ongoing for the item"
    assert caught.value.message == (
        "Transaction cancelled, please refer cancellation reasons for specific reasons "
        f"[{', '.join(codes)}]"
    )
    assert count_items(service) == 0


def test_clients_get_the_cancellation_reasons(service: Service) -> None:
    client = make_client()
    service.faults = FaultProfile(conflicts=1.0)
    with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
        client.transact_write_items(**REQUESTS["TransactWriteItems"])
    (reason,) = caught.value.response["CancellationReasons"]
    assert reason["Code"] == "TransactionConflict"


def test_statements_that_write_have_conflicts(service: Service) -> None:
    service.faults = FaultProfile(conflicts=1.0)
    insert = {"Statement": f"INSERT INTO {TABLE} VALUE {{'artist': 'Nina', 'song': 'a'}}"}
    with pytest.raises(TransactionConflictException):
        service.execute("ExecuteStatement", insert)
    with pytest.raises(TransactionCanceledException):
        service.execute("ExecuteTransaction", {"TransactStatements": [insert]})
    assert count_items(service) == 0
    assert service.execute("ExecuteStatement", SELECT) == {"Items": []}


def test_reads_have_no_conflicts(service: Service) -> None:
    service.faults = FaultProfile(conflicts=1.0)
    for operation in ("GetItem", "Query", "Scan", "BatchGetItem", "BatchWriteItem"):
        assert outcomes_of(service, operation, 1) == [""]


def test_a_batch_of_writes_is_partly_processed(service: Service) -> None:
    service.faults = FaultProfile(unprocessed=1.0)
    answer = service.execute("BatchWriteItem", batch_write("a", "b", "c"))
    assert answer["UnprocessedItems"] == batch_write("b", "c")["RequestItems"]
    assert count_items(service) == 1


def test_unprocessed_items_can_be_retried_until_none_is_left(service: Service) -> None:
    client = make_client()
    service.faults = FaultProfile(unprocessed=0.7, seed=5)
    left = batch_write(*map(str, range(20)))["RequestItems"]
    rounds = 0
    while left:
        left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]
        rounds += 1
    assert count_items(service) == 20
    assert rounds > 2


def test_the_batch_writer_of_a_resource_writes_everything(service: Service) -> None:
    from tests.unit.testing.tables import make_resource

    service.faults = FaultProfile(unprocessed=0.5)
    with make_resource().Table(TABLE).batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"artist": "Nina", "song": str(number)})
    assert count_items(service) == 60


def test_a_batch_of_reads_is_partly_processed(service: Service) -> None:
    for song in "abcd":
        put(service, song)
    service.faults = FaultProfile(unprocessed=0.5, seed=2)
    wanted = {
        "Keys": [key_of(song) for song in "abcd"],
        "ProjectionExpression": "#s",
        "ExpressionAttributeNames": {"#s": "song"},
        "ConsistentRead": True,
    }
    found: list[str] = []
    left: dict[str, Any] = {TABLE: wanted}
    while left:
        answer = service.execute("BatchGetItem", {"RequestItems": left})
        found += [item["song"]["S"] for item in answer["Responses"][TABLE]]
        left = answer["UnprocessedKeys"]
        for each in left.values():
            assert {**each, "Keys": wanted["Keys"]} == wanted
    assert sorted(found) == list("abcd")


def test_a_batch_over_several_tables_is_split_by_member(service: Service) -> None:
    service.execute("CreateTable", {**CREATE, "TableName": "Another"})
    service.faults = FaultProfile(unprocessed=1.0)
    keys = {"Keys": [key_of("a"), key_of("b")]}
    answer = service.execute("BatchGetItem", {"RequestItems": {"Another": keys, TABLE: keys}})
    assert answer["Responses"] == {"Another": [], TABLE: []}
    assert answer["UnprocessedKeys"] == {"Another": {"Keys": [key_of("b")]}, TABLE: keys}


def test_a_batch_of_one_is_always_processed(service: Service) -> None:
    service.faults = FaultProfile(unprocessed=1.0)
    assert service.execute("BatchWriteItem", batch_write("a"))["UnprocessedItems"] == {}


@pytest.mark.parametrize(
    "members",
    [
        batch_write("a", "a")["RequestItems"][TABLE],
        batch_write(*map(str, range(26)))["RequestItems"][TABLE],
        [
            *batch_write("a")["RequestItems"][TABLE],
            {"PutRequest": {"Item": {"artist": {"N": "1"}}}},
        ],
        [
            *batch_write("a")["RequestItems"][TABLE],
            {"DeleteRequest": {"Key": {"song": {"S": "a"}}}},
        ],
        [*batch_write("a")["RequestItems"][TABLE], {}],
        [
            *batch_write("a")["RequestItems"][TABLE],
            {"PutRequest": {"Item": make_item("b")}, "DeleteRequest": {"Key": key_of("b")}},
        ],
    ],
)
def test_an_invalid_batch_of_writes_is_refused_as_a_whole(
    service: Service, members: list[dict[str, Any]]
) -> None:
    request = {"RequestItems": {TABLE: members}}
    with pytest.raises(ValidationException) as fault_free:  # noqa: PT011 - whichever it is
        service.execute("BatchWriteItem", request)
    service.faults = FaultProfile(unprocessed=1.0)
    with pytest.raises(ValidationException) as faulty:  # noqa: PT011
        service.execute("BatchWriteItem", request)
    assert str(faulty.value) == str(fault_free.value)
    assert count_items(service) == 0


def test_an_invalid_batch_of_reads_is_refused_as_a_whole(service: Service) -> None:
    service.faults = FaultProfile(unprocessed=1.0)
    keys = {"Keys": [key_of("a"), key_of("a")]}
    with pytest.raises(ValidationException, match="contains duplicates"):
        service.execute("BatchGetItem", {"RequestItems": {TABLE: keys}})


def test_a_malformed_batch_is_refused_by_the_engine(service: Service) -> None:
    service.faults = FaultProfile(unprocessed=1.0, stale_reads=1.0, conflicts=1.0)
    for operation in ("BatchGetItem", "BatchWriteItem", "TransactWriteItems"):
        for items in (None, [], {}, {TABLE: 5}, [5]):
            with pytest.raises(ServiceError):
                service.execute(operation, {"RequestItems": items, "TransactItems": items})


def test_deletes_of_a_batch_can_be_unprocessed_too(service: Service) -> None:
    put(service, "a")
    put(service, "b")
    service.faults = FaultProfile(unprocessed=1.0)
    deletes = [{"DeleteRequest": {"Key": key_of(song)}} for song in "ab"]
    answer = service.execute("BatchWriteItem", {"RequestItems": {TABLE: deletes}})
    assert answer["UnprocessedItems"] == {TABLE: deletes[1:]}
    assert get(service, "a") is None
    assert get(service, "b") is not None


def test_a_delayed_call_waits() -> None:
    waits: list[float] = []
    faults = FaultProfile(latency=1.0, latency_seconds=0.25)
    with dynamodb(faults=faults, sleep=waits.append, clock=Clock(0.0)) as service:
        make_client().list_tables()
        assert waits == [0.25]
        service.execute("ListTables", {})
        service.execute_json("ListTables", b"{}")
        assert waits == [0.25] * 3
        service.faults = FaultProfile()
        service.execute("ListTables", {})
        assert len(waits) == 3


def test_only_some_calls_are_delayed() -> None:
    waits: list[float] = []
    with dynamodb(faults=FaultProfile(latency=0.5), sleep=waits.append) as service:
        for _ in range(100):
            service.execute("ListTables", {})
    assert 30 < len(waits) < 70
    assert set(waits) == {0.05}
