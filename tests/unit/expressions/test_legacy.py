from __future__ import annotations

from typing import Any

import pytest

from keyfold.engine.items.key_conditions import ResolvedKeyCondition, resolve_key_condition
from keyfold.engine.items.keys import KeyAttribute
from keyfold.expressions.key_conditions import Greater
from keyfold.expressions.legacy import (
    bind_attribute_updates,
    bind_attributes_to_get,
    bind_expected,
    bind_filter,
    bind_key_conditions,
)
from keyfold.values import Item
from tests.unit.expressions.refusals import refusal_of

ONE, TWO, X = {"N": "1"}, {"N": "2"}, {"S": "x"}
INVALID = "One or more parameter values were invalid: "

ITEM: Item = {
    "s": {"S": "hello"},
    "n": {"N": "5"},
    "l": {"L": [{"N": "1"}]},
    "ss": {"SS": ["a", "b"]},
    "t": {"BOOL": True},
}


def compare(operator: str, *values: Any) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(values)}


def holds(conditions: dict[str, Any], operator: str | None = None) -> bool:
    bound = bind_filter(conditions, operator)
    assert bound is not None
    return bound.holds(ITEM)


@pytest.mark.parametrize(
    ("name", "condition", "expected"),
    [
        ("n", compare("EQ", {"N": "5.0"}), True),
        ("ss", compare("EQ", {"SS": ["b", "a"]}), True),
        ("n", compare("NE", X), True),
        ("zz", compare("NE", X), True),
        ("n", compare("LT", {"N": "10"}), True),
        ("n", compare("GE", X), False),
        ("zz", compare("LE", X), False),
        ("zz", {"ComparisonOperator": "NULL"}, True),
        ("n", compare("NOT_NULL"), True),
        ("s", compare("CONTAINS", {"S": "ell"}), True),
        ("l", compare("CONTAINS", ONE), True),
        ("t", compare("CONTAINS", {"BOOL": True}), False),
        ("s", compare("NOT_CONTAINS", {"S": "zz"}), True),
        ("n", compare("NOT_CONTAINS", {"N": "5"}), True),
        ("zz", compare("NOT_CONTAINS", X), False),
        ("s", compare("BEGINS_WITH", {"S": "he"}), True),
        ("n", compare("IN", ONE, {"N": "5"}), True),
        ("n", compare("IN", ONE), False),
        ("n", compare("BETWEEN", ONE, {"N": "5"}), True),
        ("n", compare("BETWEEN", ONE, TWO), False),
    ],
)
def test_every_operator_means_what_its_expression_does(
    name: str, condition: dict[str, Any], expected: bool
) -> None:
    assert holds({name: condition}) is expected


def test_conditions_are_combined_by_and_unless_told_otherwise() -> None:
    conditions = {"n": compare("EQ", ONE), "s": compare("NOT_NULL")}
    assert not holds(conditions)
    assert not holds(conditions, "AND")
    assert holds(conditions, "OR")


def test_a_conditional_operator_needs_two_conditions() -> None:
    assert bind_filter({}, None) is None
    assert refusal_of(lambda: bind_filter({}, "OR")) == (
        "ConditionalOperator cannot be used without Filter or Expected"
    )
    assert refusal_of(lambda: bind_expected({"a": {"Value": ONE}}, "AND")) == (
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    )


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (compare("EQ"), f"{INVALID}Invalid number of argument(s) for the EQ ComparisonOperator"),
        (
            compare("NULL", ONE),
            f"{INVALID}Invalid number of argument(s) for the NULL ComparisonOperator",
        ),
        (
            compare("BETWEEN", {"L": []}),
            f"{INVALID}Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
        (compare("IN"), f"{INVALID}Invalid number of argument(s) for the IN ComparisonOperator"),
        (
            compare("LT", {"BOOL": True}),
            f"{INVALID}ComparisonOperator LT is not valid for BOOL AttributeValue type",
        ),
        (
            compare("CONTAINS", {"SS": ["a"]}),
            f"{INVALID}ComparisonOperator CONTAINS is not valid for SS AttributeValue type",
        ),
        (
            compare("BEGINS_WITH", ONE),
            f"{INVALID}ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
        ),
        (
            compare("IN", X, {"L": []}),
            f"{INVALID}ComparisonOperator IN is not valid for L AttributeValue type",
        ),
        (
            compare("IN", X, ONE),
            f"{INVALID}AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            compare("BETWEEN", TWO, ONE),
            (
                "The BETWEEN condition was provided a range where the lower bound is greater than "
                "the upper bound"
            ),
        ),
        (
            compare("EQ", ONE, {}),
            (
                "Supplied AttributeValue is empty, must contain exactly one of the supported "
                "datatypes"
            ),
        ),
    ],
)
def test_arguments_are_checked_by_number_type_and_order(
    condition: dict[str, Any], message: str
) -> None:
    assert refusal_of(lambda: bind_filter({"a": condition}, None)) == message
    assert refusal_of(lambda: bind_expected({"a": condition}, None)) == message
    assert refusal_of(lambda: bind_key_conditions({"a": condition})) == message


@pytest.mark.parametrize(
    ("expected", "holds_without", "holds_with"),
    [
        ({"Exists": False}, True, False),
        ({"Value": ONE}, False, True),
        ({"Value": ONE, "Exists": True}, False, True),
        ({"ComparisonOperator": "EQ", "Value": ONE}, False, True),
        ({"ComparisonOperator": "NULL"}, True, False),
    ],
)
def test_expected_has_a_short_form(
    expected: dict[str, Any], holds_without: bool, holds_with: bool
) -> None:
    bound = bind_expected({"a": expected}, None)
    assert bound is not None
    assert bound.holds({}) is holds_without
    assert bound.holds({"a": ONE}) is holds_with


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        ({}, "Value must be provided when Exists is null"),
        ({"Exists": True}, "Value must be provided when Exists is true"),
        ({"Exists": False, "Value": ONE}, "Value cannot be used when Exists is false"),
        (
            {"ComparisonOperator": "EQ", "Exists": True, "Value": ONE},
            "Exists and ComparisonOperator cannot be used together",
        ),
        (
            {"AttributeValueList": [ONE], "Value": ONE},
            "Value and AttributeValueList cannot be used together",
        ),
        (
            {"AttributeValueList": [ONE], "Exists": False},
            "AttributeValueList can only be used with a ComparisonOperator",
        ),
        (
            {"ComparisonOperator": "EQ"},
            "Value or AttributeValueList must be used with ComparisonOperator: EQ",
        ),
    ],
)
def test_expected_does_not_take_its_two_forms_at_once(expected: dict[str, Any], fault: str) -> None:
    message = refusal_of(lambda: bind_expected({"a": expected}, None))
    assert message == f"{INVALID}{fault} for Attribute: a"


def test_key_conditions_become_a_key_condition() -> None:
    bound = bind_key_conditions({"pk": compare("EQ", X), "sk": compare("GT", ONE)})
    key = [KeyAttribute("pk", "S")], [KeyAttribute("sk", "N")]
    assert resolve_key_condition(bound, *key) == ResolvedKeyCondition((X,), (), Greater(ONE))


@pytest.mark.parametrize("operator", ["NE", "CONTAINS", "NOT_CONTAINS", "IN"])
def test_some_operators_are_not_allowed_on_a_key(operator: str) -> None:
    conditions = {"pk": compare("EQ", X), "sk": compare(operator, X)}
    bound = bind_key_conditions(conditions)
    key = [KeyAttribute("pk", "S")], [KeyAttribute("sk", "S")]
    assert refusal_of(lambda: resolve_key_condition(bound, *key)) == (
        "Attempted conditional constraint is not an indexable operation"
    )


def test_key_conditions_may_not_be_empty() -> None:
    assert refusal_of(lambda: bind_key_conditions({})) == "Conditions must be at least length 1"


@pytest.mark.parametrize(
    ("name", "update", "expected"),
    [
        ("zz", {"Value": ONE}, ONE),
        ("n", {"Action": "PUT", "Value": X}, X),
        ("n", {"Action": "ADD", "Value": TWO}, {"N": "7"}),
        ("zz", {"Action": "ADD", "Value": TWO}, TWO),
        ("ss", {"Action": "ADD", "Value": {"SS": ["b", "c"]}}, {"SS": ["a", "b", "c"]}),
        ("l", {"Action": "ADD", "Value": {"L": [X]}}, {"L": [ONE, X]}),
        ("ss", {"Action": "DELETE", "Value": {"SS": ["b", "c"]}}, {"SS": ["a"]}),
        ("ss", {"Action": "DELETE", "Value": {"SS": ["b", "a"]}}, None),
        ("n", {"Action": "DELETE"}, None),
        ("zz", {"Action": "DELETE", "Value": {"SS": ["b"]}}, None),
        ("a.b", {"Value": ONE}, ONE),
    ],
)
def test_attribute_updates_put_add_and_delete(
    name: str, update: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    plan = bind_attribute_updates({name: update})
    assert plan.apply(ITEM).get(name) == expected
    assert plan.attributes == {name}


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (
            {"Action": "PUT"},
            f"{INVALID}Only DELETE action is allowed when no attribute value is specified",
        ),
        (
            {"Action": "ADD", "Value": X},
            f"{INVALID}ADD action is not supported for the type S",
        ),
        (
            {"Action": "DELETE", "Value": {"L": []}},
            f"{INVALID}DELETE action with value is not supported for the type L",
        ),
        (
            {"Value": {}},
            (
                "Supplied AttributeValue is empty, must contain exactly one of the supported "
                "datatypes"
            ),
        ),
    ],
)
def test_attribute_updates_are_checked_before_the_item_is_read(
    update: dict[str, Any], message: str
) -> None:
    assert refusal_of(lambda: bind_attribute_updates({"a": update})) == message


def test_attribute_updates_of_another_type_are_refused() -> None:
    for action, value in (("ADD", TWO), ("DELETE", {"SS": ["a"]})):
        plan = bind_attribute_updates({"s": {"Action": action, "Value": value}})
        message = refusal_of(lambda plan=plan: plan.apply(ITEM))
        assert message == "Type mismatch for attribute to update"


def test_attribute_updates_know_whether_they_only_delete() -> None:
    assert bind_attribute_updates({"a": {"Action": "DELETE"}}).only_removes
    assert not bind_attribute_updates({}).only_removes


def test_attributes_to_get_are_top_level_names() -> None:
    item: Item = {"a": ONE, "b.c": TWO, "d": X}
    assert bind_attributes_to_get(["b.c", "d"]).apply(item) == {"b.c": TWO, "d": X}
    assert refusal_of(lambda: bind_attributes_to_get(["a", "b", "a"])) == (
        f"{INVALID}Duplicate value in attribute name: a"
    )


def test_a_name_may_not_be_empty() -> None:
    for act in (
        lambda: bind_attributes_to_get([""]),
        lambda: bind_expected({"": {"Value": ONE}}, None),
        lambda: bind_attribute_updates({"": {"Value": ONE}}),
        lambda: bind_filter({"": compare("EQ", ONE)}, None),
    ):
        assert refusal_of(act) == "Empty attribute name"
