from __future__ import annotations

from typing import Any

import pytest

from keyfold.api.expression_use import check_not_mixed, check_placeholders_wanted
from tests.unit.expressions.refusals import refusal_of


@pytest.mark.parametrize(
    ("operation", "request_", "legacy", "expressions"),
    [
        (
            "UpdateItem",
            {
                "Expected": {},
                "AttributeUpdates": {},
                "ConditionExpression": "",
                "UpdateExpression": "",
            },
            "AttributeUpdates, Expected",
            "UpdateExpression, ConditionExpression",
        ),
        (
            "PutItem",
            {"Expected": {}, "ConditionalOperator": "OR", "ConditionExpression": ""},
            "Expected, ConditionalOperator",
            "ConditionExpression",
        ),
        (
            "Query",
            {
                "KeyConditions": {},
                "QueryFilter": {},
                "FilterExpression": "",
                "ProjectionExpression": "",
            },
            "QueryFilter",
            "ProjectionExpression, FilterExpression",
        ),
        (
            "Query",
            {"KeyConditions": {}, "KeyConditionExpression": ""},
            "KeyConditions",
            "KeyConditionExpression",
        ),
        (
            "Scan",
            {"ScanFilter": {}, "AttributesToGet": ["a"], "FilterExpression": "a = b"},
            "AttributesToGet, ScanFilter",
            "FilterExpression",
        ),
    ],
)
def test_expressions_cannot_be_mixed_with_the_parameters_they_replace(
    operation: str, request_: dict[str, Any], legacy: str, expressions: str
) -> None:
    assert refusal_of(lambda: check_not_mixed(operation, request_)) == (
        "Can not use both expression and non-expression parameters in the same request: "
        f"Non-expression parameters: {{{legacy}}} Expression parameters: {{{expressions}}}"
    )


def test_legacy_key_conditions_may_accompany_a_filter_expression() -> None:
    check_not_mixed("Query", {"KeyConditions": {}, "FilterExpression": "a = b"})
    check_not_mixed("GetItem", {"AttributesToGet": None, "ProjectionExpression": "a"})


def test_names_need_an_expression() -> None:
    request: dict[str, Any] = {"ExpressionAttributeNames": {}, "ExpressionAttributeValues": {}}
    for operation in ("GetItem", "PutItem", "Query", "Scan", "UpdateItem"):
        message = refusal_of(lambda name=operation: check_placeholders_wanted(name, request))
        assert message == "ExpressionAttributeNames can only be specified when using expressions"
    names = {"ExpressionAttributeNames": {"#a": "a"}}
    check_placeholders_wanted("GetItem", {**names, "ProjectionExpression": "#a"})


@pytest.mark.parametrize(
    ("operation", "absent"),
    [
        ("PutItem", "ConditionExpression is null"),
        ("DeleteItem", "ConditionExpression is null"),
        ("UpdateItem", "UpdateExpression and ConditionExpression are null"),
        ("Query", "FilterExpression and KeyConditionExpression are null"),
        ("Scan", "FilterExpression is null"),
    ],
)
def test_values_need_an_expression_that_can_hold_them(operation: str, absent: str) -> None:
    request = {"ProjectionExpression": "a", "ExpressionAttributeValues": {":a": {"N": "1"}}}
    assert refusal_of(lambda: check_placeholders_wanted(operation, request)) == (
        f"ExpressionAttributeValues can only be specified when using expressions: {absent}"
    )
