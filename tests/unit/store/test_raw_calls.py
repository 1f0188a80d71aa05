"""`store.execute`: raw calls with the store's retries, hooks and checks, on both stores."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import (
    AccessDenied,
    InternalServerError,
    KeyfoldError,
    OutcomeUnknown,
    ResourceNotFoundException,
    ThrottlingException,
    Unavailable,
    ValidationException,
)
from keyfold.model import Entity, Key, Table, part
from tests.transports import Database
from tests.unit.policy.clinic import clinic
from tests.unit.store.clinic_notes import fill
from tests.unit.store.store_kinds import AnyStore, OpenStore

Failure = tuple[KeyfoldError, bool]

guests = Table("Guests", key=Key("pk"))


class Guest(Entity, table=guests, key="GUEST#{name}"):
    name: str = part()
    email: str
    visits: int = 0


class FailingEngine:
    """An engine whose next calls fail with the given errors, before or after they are done."""

    def __init__(self, engine: Database) -> None:
        self.engine = engine
        self.failures: list[Failure] = []
        self.done: list[str] = []

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        error, is_done = self.failures.pop(0) if self.failures else (None, True)
        response: dict[str, Any] = {}
        if is_done:
            response = self.engine.execute(operation, request)
            self.done.append(operation)
        if error is not None:
            raise error
        return response


@pytest.fixture
def service(engine: Database) -> FailingEngine:
    return FailingEngine(engine)


@pytest.fixture
def store(make_store: OpenStore, service: FailingEngine) -> AnyStore:
    store = make_store(service, [guests])
    store.create_table(guests)
    store.run(Guest(name="ada", email="ada@x.org").create())
    for told in (store.calls, store.pauses, service.done):
        told.clear()
    return store


KEY = {"pk": {"S": "GUEST#ada"}}
GET = {"TableName": "Guests", "Key": KEY}
SLOW = (ThrottlingException("slow down"), False)
LOST = (InternalServerError("lost"), True)


def count_up(**more: Any) -> dict[str, Any]:
    return {
        "TableName": "Guests",
        "Key": KEY,
        "UpdateExpression": "ADD visits :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
        **more,
    }


def test_a_raw_call_returns_the_response_as_it_is(store: AnyStore) -> None:
    assert store.execute("GetItem", GET)["Item"]["email"] == {"S": "ada@x.org"}
    assert store.execute("DescribeTable", {"TableName": "Guests"})["Table"]["TableName"]


def test_hooks_are_told_of_raw_calls(store: AnyStore) -> None:
    store.execute("GetItem", {**GET, "ReturnConsumedCapacity": "TOTAL"})
    [record] = store.calls
    assert (record.operation, record.tables, record.consumed) == ("GetItem", ("Guests",), 0.5)


def test_errors_of_the_service_are_raised_as_they_are(store: AnyStore) -> None:
    with pytest.raises(ResourceNotFoundException):
        store.execute("GetItem", {**GET, "TableName": "Elsewhere"})
    with pytest.raises(ValidationException, match="Invalid UpdateExpression: Syntax error"):
        store.execute("UpdateItem", count_up(UpdateExpression="ADD"))


def test_transient_errors_are_retried(store: AnyStore, service: FailingEngine) -> None:
    service.failures = [SLOW, SLOW]
    store.execute("UpdateItem", count_up())
    assert [each.attempt for each in store.calls] == [1, 2, 3]
    assert len(store.pauses) == 2
    assert service.done == ["UpdateItem"]
    service.failures = [SLOW] * 8
    with pytest.raises(Unavailable, match="tried 8 times"):
        store.execute("GetItem", GET)


def test_a_write_that_may_be_done_is_repeated_only_if_that_is_safe(
    store: AnyStore, service: FailingEngine
) -> None:
    service.failures = [LOST]
    with pytest.raises(OutcomeUnknown) as caught:
        store.execute("UpdateItem", count_up())
    assert isinstance(caught.value.__cause__, InternalServerError)
    assert service.done == ["UpdateItem"]
    service.failures = [LOST]
    store.execute("DeleteItem", GET)
    assert service.done == ["UpdateItem", "DeleteItem", "DeleteItem"]


def test_a_read_is_repeated_always(store: AnyStore, service: FailingEngine) -> None:
    service.failures = [LOST, LOST]
    statement = {"Statement": "SELECT * FROM Guests WHERE pk = 'GUEST#ada'"}
    assert store.execute("ExecuteStatement", statement)["Items"]
    assert len(service.done) == 3


def test_a_transaction_is_repeated_only_with_a_token(
    store: AnyStore, service: FailingEngine, token: str
) -> None:
    members = {"TransactItems": [{"Update": count_up()}]}
    service.failures = [LOST]
    with pytest.raises(OutcomeUnknown):
        store.execute("TransactWriteItems", members)
    service.failures = [LOST]
    store.execute("TransactWriteItems", {**members, "ClientRequestToken": token})
    assert store.execute("GetItem", GET)["Item"]["visits"] == {"N": "2"}


def test_a_condition_that_fails_on_a_retry_leaves_the_outcome_unknown(
    store: AnyStore, service: FailingEngine
) -> None:
    service.failures = [LOST]
    with pytest.raises(OutcomeUnknown, match="may or may not"):
        store.execute("DeleteItem", {**GET, "ConditionExpression": "attribute_exists(pk)"})


# Principals.


@pytest.fixture
def clinic_store(open_store: OpenStore) -> AnyStore:
    return fill(open_store([clinic]))


def note_key(user: str) -> dict[str, Any]:
    return {"TableName": "Clinic", "Key": {"pk": {"S": f"U#{user}"}, "sk": {"S": "N#1"}}}


def test_a_principal_may_call_what_its_role_allows(clinic_store: AnyStore) -> None:
    ada = clinic_store.as_principal("patient", user="ada")
    assert ada.execute("GetItem", note_key("ada"))["Item"]["text"] == {"S": "ada 1"}


def test_a_principal_may_list_tables(clinic_store: AnyStore) -> None:
    keeper = clinic_store.as_principal("keeper")
    assert "Clinic" in keeper.execute("ListTables", {})["TableNames"]


@pytest.mark.parametrize(
    ("operation", "request_made"),
    [
        ("GetItem", note_key("bob")),
        ("Scan", {"TableName": "Clinic"}),
        ("Scan", {"TableName": "Elsewhere"}),
        ("ListTables", {}),
        ("DeleteTable", {"TableName": "Clinic"}),
        ("ExecuteStatement", {"Statement": "SELECT * FROM Clinic WHERE pk = 'U#ada'"}),
        # Nothing would keep the value unique.
        (
            "PutItem",
            {
                "TableName": "Clinic",
                "Item": {
                    "pk": {"S": "U#ada"},
                    "sk": {"S": "MEMBER#ada"},
                    "email": {"S": "bob@example.com"},
                },
            },
        ),
    ],
)
def test_a_principal_is_denied_the_rest_before_any_call(
    clinic_store: AnyStore, operation: str, request_made: dict[str, Any]
) -> None:
    ada = clinic_store.as_principal("patient", user="ada")
    with pytest.raises(AccessDenied):
        ada.execute(operation, request_made)
    assert clinic_store.calls == []
