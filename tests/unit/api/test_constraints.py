"""Broken constraints of the API's model, refused with the service's wording."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.api.shapes import check
from keyfold.errors import UnknownOperationException, ValidationException
from tests.unit.api.constraint_cases import CASES, KEY, MAP_VALUE_25, TABLE, THROUGHPUT

NO_NAME = "The parameter 'TableName' is required but was not present in the request"


def refusal(operation: str, request: dict[str, Any]) -> str:
    """Return the service's message for a request that breaks constraints."""
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


@pytest.mark.parametrize(
    ("operation", "request_body", "message"),
    [
        (
            "BatchWriteItem",
            {"RequestItems": {}},
            "The requestItems parameter is required for BatchWriteItem",
        ),
        (
            "BatchGetItem",
            {"RequestItems": {}},
            "The requestItems parameter is required for BatchGetItem",
        ),
        ("CreateTable", {}, NO_NAME),
        ("DeleteTable", {}, NO_NAME),
        ("UpdateTimeToLive", {}, NO_NAME),
        ("TagResource", {}, "Invalid TableArn"),
        ("UntagResource", {"TagKeys": []}, "Invalid TableArn"),
        ("ListTagsOfResource", {"ResourceArn": None}, "Invalid TableArn"),
    ],
)
def test_some_requests_are_refused_with_specific_messages(
    operation: str, request_body: dict[str, Any], message: str
) -> None:
    assert refusal(operation, request_body) == message


ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/abc"

PASSING: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"TableName": "abc", "Key": KEY}),
    ("GetItem", {"TableName": ARN, "Key": KEY}),
    ("GetItem", {"TableName": "abc", "Key": KEY, "AttributesToGet": None, "Unknown": [1, {}]}),
    ("GetItem", {"TableName": "abc", "Key": {}}),
    ("GetItem", {"TableName": "abc", "Key": {"a": None}}),
    ("GetItem", {"TableName": "abc", "Key": KEY, "ExpressionAttributeNames": {"#ä": "ö"}}),
    ("PutItem", {"TableName": "abc", "Item": KEY, "ExpressionAttributeValues": {}}),
    ("Query", {"TableName": "abc", "Limit": 1, "Select": "COUNT", "ScanIndexForward": False}),
    ("Scan", {"TableName": "abc", "Segment": 0, "TotalSegments": 1}),
    ("BatchGetItem", {"RequestItems": {"abc": {"Keys": [KEY]}, ARN: {"Keys": [KEY] * 100}}}),
    ("BatchWriteItem", {"RequestItems": {"abc": [{"PutRequest": {"Item": KEY}}] * 25}}),
    ("TransactWriteItems", {"TransactItems": [{"Delete": {"TableName": ARN, "Key": KEY}}]}),
    ("CreateTable", TABLE),
    (
        "CreateTable",
        {
            **TABLE,
            "TableName": ARN,
            "ProvisionedThroughput": {**THROUGHPUT, "ReadCapacityUnits": 2**40},
        },
    ),
    ("CreateTable", {**TABLE, "Tags": [{}]}),
    ("CreateTable", {**TABLE, "SSESpecification": {}}),
    ("ListTables", {}),
    ("DescribeLimits", {}),
    ("DescribeEndpoints", {}),
    ("TagResource", {"ResourceArn": "", "Tags": []}),
]


@pytest.mark.parametrize(("operation", "request_body"), PASSING)
def test_a_valid_request_passes(operation: str, request_body: dict[str, Any]) -> None:
    check(operation, request_body)


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(UnknownOperationException):
        check("DescribeMusic", {})
