"""Broken constraints of the API's model, refused in the service's words."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.engine.shapes import check
from keyfold.errors import UnknownOperationException, ValidationException
from tests.unit.engine.shapes.constraint_cases import CASES, KEY, MAP_VALUE_25, TABLE


def refusal(operation: str, request: dict[str, Any]) -> str:
    """What the service says to a request that breaks constraints."""
    try:
        check(operation, request)
    except ValidationException as error:
        return error.message
    pytest.fail("the request passed")


@pytest.mark.parametrize(("operation", "request_body", "failures"), CASES)
def test_broken_constraints_are_listed(
    operation: str, request_body: dict[str, Any], failures: list[str]
) -> None:
    errors = "error" if len(failures) == 1 else "errors"
    expected = f"{len(failures)} validation {errors} detected: {'; '.join(failures)}"
    assert refusal(operation, request_body) == expected


def test_no_more_than_ten_broken_constraints_are_listed() -> None:
    message = refusal("CreateTable", {**TABLE, "GlobalSecondaryIndexes": [{}] * 9})
    assert message.startswith("10 validation errors detected: ")
    assert message.count("Member must not be null") == 10


def test_a_large_batch_is_refused_with_what_it_holds() -> None:
    request = {"RequestItems": {"abc": [{"PutRequest": {"Item": KEY}}] * 26}}
    message = refusal("BatchWriteItem", request)
    start = "1 validation error detected: Value '{abc=[WriteRequest(putRequest=PutRequest(item={a="
    value = "AttributeValue(s=b, n=null, b=null, iNT=null, dECIMAL=null, dOUBLE=null, sS=null, "
    assert message.startswith(start + value)
    assert message.endswith(f"]}}' at 'requestItems' failed to satisfy constraint: {MAP_VALUE_25}")


def test_a_large_transaction_is_refused_with_what_it_holds() -> None:
    request = {"TransactItems": [{"Get": {"TableName": "abc", "Key": {"a": {"B": b"xyz"}}}}] * 101}
    message = refusal("TransactGetItems", request)
    assert "b=java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]" in message
    limit = "Member must have length less than or equal to 100"
    assert message.endswith(f"at 'transactItems' failed to satisfy constraint: {limit}")


NO_NAME = "The parameter 'TableName' is required but was not present in the request"
NO_BODY: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("operation", "request_body", "message"),
    [
        ("CreateTable", NO_BODY, NO_NAME),
        ("DeleteTable", NO_BODY, NO_NAME),
        ("UpdateTimeToLive", NO_BODY, NO_NAME),
        (
            "BatchGetItem",
            {"RequestItems": NO_BODY},
            "The requestItems parameter is required for BatchGetItem",
        ),
        (
            "BatchWriteItem",
            {"RequestItems": NO_BODY},
            "The requestItems parameter is required for BatchWriteItem",
        ),
    ],
)
def test_what_a_request_is_about_has_words_of_its_own(
    operation: str, request_body: dict[str, Any], message: str
) -> None:
    assert refusal(operation, request_body) == message


@pytest.mark.parametrize(("operation", "request_body"), PASSING)
def test_a_good_request_passes(operation: str, request_body: dict[str, Any]) -> None:
    check(operation, request_body)


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(UnknownOperationException):
        check("DescribeMusic", {})
