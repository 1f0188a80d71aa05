"""Which calls are idempotent, and may be retried."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.wire.client._repeating import hides_earlier_attempt, is_read, is_repeatable

VALUES: dict[str, Any] = {
    ":v": {"S": "x"},
    ":n": {"N": "1"},
    ":set": {"SS": ["a"]},
    ":list": {"L": []},
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("SET a = :v", True),
        ("set a = :v , #b.c=:n REMOVE d, e.#f DELETE tags :set ADD tags :set", True),
        ("SET a = if_not_exists(a, :v), b = :n", True),
        ("SET #set = :v", True),
        ("ADD n :n", False),
        ("ADD n :unknown", False),
        ("SET n = n + :n", False),
        ("SET n = if_not_exists(n, :n) + :n", False),
        ("SET n = if_not_exists(m, :n)", True),
        ("SET n = if_not_exists(m, :n), m = :v", False),
        ("SET l = list_append(l, :list)", False),
        ("SET a = b, b = :v", False),
        ("SET l[0] = :v", False),  # past the end it would append
        ("REMOVE l[0]", False),
        ("REMOVE a, b[1]", False),
        ("DELETE tags :v", False),
        ("nonsense", False),
        ("", False),
    ],
)
def test_updates_that_are_idempotent(expression: str, expected: bool) -> None:
    request = {"UpdateExpression": expression, "ExpressionAttributeValues": VALUES}
    assert is_repeatable("UpdateItem", request) is expected


def test_names_behind_placeholders_are_compared() -> None:
    request = {
        "UpdateExpression": "SET b = #a, a = :v",
        "ExpressionAttributeNames": {"#a": "a"},
        "ExpressionAttributeValues": VALUES,
    }
    assert not is_repeatable("UpdateItem", request)
    assert is_repeatable("UpdateItem", request | {"ExpressionAttributeNames": {"#a": "c"}})


@pytest.mark.parametrize(
    ("updates", "expected"),
    [
        ({"a": {"Value": {"S": "x"}}}, True),
        ({"a": {"Action": "PUT", "Value": {"N": "1"}}, "b": {"Action": "DELETE"}}, True),
        ({"a": {"Action": "ADD", "Value": {"SS": ["x"]}}}, True),
        ({"a": {"Action": "ADD", "Value": {"N": "1"}}}, False),
    ],
)
def test_legacy_updates_that_are_idempotent(updates: dict[str, Any], expected: bool) -> None:
    assert is_repeatable("UpdateItem", {"AttributeUpdates": updates}) is expected


@pytest.mark.parametrize(
    ("operation", "request_", "reads", "repeats"),
    [
        ("GetItem", {}, True, False),
        ("DescribeTable", {}, True, False),
        ("ListTables", {}, True, False),
        ("GetRecords", {}, True, False),
        ("PutItem", {}, False, True),
        ("BatchWriteItem", {}, False, True),
        ("TransactWriteItems", {}, False, True),
        ("CreateTable", {}, False, True),
        ("UpdateTable", {}, False, False),
        ("UpdateTimeToLive", {}, False, False),
        ("SomethingNew", {}, False, False),
        ("ExecuteStatement", {"Statement": 'select * from "a"'}, True, False),
        ("ExecuteStatement", {"Statement": "INSERT INTO a VALUE {}"}, False, True),
        ("ExecuteStatement", {"Statement": "UPDATE a SET n = n + 1"}, False, False),
        ("BatchExecuteStatement", {"Statements": [{"Statement": "SELECT 1"}]}, True, False),
        (
            "BatchExecuteStatement",
            {"Statements": [{"Statement": "SELECT 1"}, {"Statement": "DELETE FROM a"}]},
            False,
            False,
        ),
    ],
)
def test_operations_that_are_reads_or_idempotent(
    operation: str, request_: dict[str, Any], reads: bool, repeats: bool
) -> None:
    assert is_read(operation, request_) is reads
    if not reads:
        assert is_repeatable(operation, request_) is repeats


@pytest.mark.parametrize(
    ("operation", "returns", "found", "expected"),
    [
        ("PutItem", "NONE", None, False),
        ("PutItem", "ALL_OLD", None, False),
        ("PutItem", "ALL_OLD", {"pk": {"S": "a"}}, True),
        ("DeleteItem", "ALL_OLD", {"pk": {"S": "a"}}, False),
        ("DeleteItem", "ALL_OLD", None, True),
        ("UpdateItem", "ALL_NEW", {"pk": {"S": "a"}}, False),
        ("UpdateItem", "UPDATED_OLD", {"a": {"S": "a"}}, True),
    ],
)
def test_old_values_returned_by_a_retried_call(
    operation: str, returns: str, found: Any, expected: bool
) -> None:
    answer = {} if found is None else {"Attributes": found}
    assert hides_earlier_attempt(operation, {"ReturnValues": returns}, answer) is expected
