from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import ValidationException
from keyfold.expressions.conditions import bind_condition
from keyfold.expressions.placeholders import Placeholders
from tests.unit.expressions.refusals import refusal_of

ONE = {"N": "1"}


def refusal(names: dict[str, str] | None, values: dict[str, Any] | None) -> str:
    return refusal_of(lambda: Placeholders(names, values))


def test_values_are_normalised() -> None:
    assert Placeholders(None, {":v": {"N": "1.50"}}).value(":v") == {"N": "1.5"}


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ("a", 'Syntax error; key: "a"'),
        ("#", 'Syntax error; key: "#"'),
        ("#a!", 'Syntax error; key: "#a!"'),
        (":a", 'Syntax error; key: ":a"'),
        ("", "The expression attribute map contains an empty key;"),
        (
            "#" + "a" * 255,
            "The expression attribute map contains a key that is too long; size of key: 256",
        ),
    ],
)
def test_a_key_of_names_must_be_a_placeholder(key: str, fault: str) -> None:
    assert refusal({key: "x"}, None) == f"ExpressionAttributeNames contains invalid key: {fault}"


def test_a_key_of_values_must_be_a_placeholder() -> None:
    assert refusal(None, {"v": ONE}) == (
        'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"'
    )
    Placeholders(None, {":" + "v" * 254: ONE})


def test_the_maps_may_not_be_empty() -> None:
    assert refusal({}, {}) == "ExpressionAttributeNames must not be empty"
    assert refusal(None, {}) == "ExpressionAttributeValues must not be empty"


def test_a_name_may_not_be_empty_nor_too_long() -> None:
    prefix = "ExpressionAttributeNames contains invalid value: "
    assert refusal({"#a": ""}, None) == f"{prefix}Empty attribute name for key #a"
    Placeholders({"#a": "x" * 65_535}, None)
    assert refusal({"#a": "x" * 65_536}, None) == (
        f"{prefix}Attribute name is too large, must be less than 65536 bytes for key #a"
    )


def test_an_invalid_value_is_reported_with_its_key() -> None:
    assert refusal(None, {":a": ONE, ":v": {"SS": []}}) == (
        "ExpressionAttributeValues contains invalid value: One or more parameter values were "
        "invalid: An string set  may not be empty for key :v"
    )


def test_all_keys_are_checked_before_any_value_and_values_before_names() -> None:
    assert "invalid key" in refusal({"#a": ""}, {"v": ONE})
    assert "ExpressionAttributeNames contains invalid key" in refusal({"a": "x"}, {"v": ONE})
    assert "ExpressionAttributeValues contains invalid value" in refusal({"#a": ""}, {":v": {}})


def test_values_and_their_keys_take_at_most_two_megabytes() -> None:
    limit = 2 * 1024 * 1024
    Placeholders(None, {":v": {"S": "x" * (limit - 2)}})
    assert refusal(None, {":v": {"S": "x" * (limit - 1)}}) == (
        "ExpressionAttributeValues exceeds max size"
    )


def test_unused_names_are_reported_before_unused_values() -> None:
    placeholders = Placeholders({"#a": "x", "#b": "y"}, {":a": ONE, ":b": ONE})
    bind_condition("#a = :a", placeholders, kind="ConditionExpression")
    with pytest.raises(ValidationException, match=r"Names unused in expressions: keys: \{#b\}$"):
        placeholders.check_all_used()
    bind_condition("#b = :a", placeholders, kind="ConditionExpression")
    with pytest.raises(ValidationException, match=r"Values unused in expressions: keys: \{:b\}$"):
        placeholders.check_all_used()
    bind_condition("#b = :b", placeholders, kind="ConditionExpression")
    placeholders.check_all_used()


def test_unused_placeholders_are_listed_in_the_order_of_a_java_hash_table() -> None:
    names = {"#b": "x", "#A": "c", "#Z": "d", "#q": "e", "#m": "f"}
    placeholders = Placeholders(names, None)
    bind_condition("a = #b", placeholders, kind="ConditionExpression")
    with pytest.raises(ValidationException, match=r"keys: \{#Z, #m, #A, #q\}$"):
        placeholders.check_all_used()


def test_placeholders_after_or_count_as_used() -> None:
    placeholders = Placeholders({"#a": "x"}, {":a": ONE})
    bind_condition("attribute_exists(pk) OR #a = :a", placeholders, kind="FilterExpression")
    placeholders.check_all_used()
