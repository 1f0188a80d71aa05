from __future__ import annotations

from typing import Any

import pytest

from keyfold.engine.items.key_conditions import ResolvedKeyCondition, resolve_key_condition
from keyfold.engine.items.keys import KeyAttribute
from keyfold.expressions.key_conditions import (
    AtLeast,
    AtMost,
    BeginsWith,
    Greater,
    Less,
    SortRange,
    Within,
    bind_key_condition,
)
from keyfold.expressions.placeholders import Placeholders
from tests.unit.expressions.refusals import refusal_of

X, Y, ONE = {"S": "x"}, {"S": "y"}, {"N": "1"}
VALUES: dict[str, Any] = {
    ":s": X,
    ":s2": Y,
    ":n": ONE,
    ":n2": {"N": "2"},
    ":t": {"BOOL": True},
    ":e": {"S": ""},
}

PK, SK = KeyAttribute("pk", "S"), KeyAttribute("sk", "S")
SEVERAL = (
    [KeyAttribute("h1", "S"), KeyAttribute("h2", "N")],
    [KeyAttribute("r1", "S"), KeyAttribute("r2", "N"), KeyAttribute("r3", "S")],
)


def resolve(text: str, sort: KeyAttribute | None = SK) -> ResolvedKeyCondition:
    bound = bind_key_condition(text, Placeholders({"#p": "pk"}, VALUES))
    return resolve_key_condition(bound.to_key_condition(), [PK], [] if sort is None else [sort])


def resolve_several(text: str) -> ResolvedKeyCondition:
    bound = bind_key_condition(text, Placeholders(None, VALUES))
    return resolve_key_condition(bound.to_key_condition(), *SEVERAL)


def test_the_partition_alone_is_enough() -> None:
    assert resolve("#p = :s") == ResolvedKeyCondition((X,), (), None)
    assert resolve(":s = pk", sort=None) == ResolvedKeyCondition((X,), (), None)


def test_equality_of_the_sort_key_fixes_it() -> None:
    assert resolve("sk = :s2 AND (pk = :s)") == ResolvedKeyCondition((X,), (Y,), None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sk < :s", Less(X)),
        ("sk <= :s", AtMost(X)),
        ("sk > :s", Greater(X)),
        ("sk >= :s", AtLeast(X)),
        (":s < sk", Greater(X)),
        (":s >= sk", AtMost(X)),
        ("sk BETWEEN :s AND :s2", Within(X, Y)),
        ("begins_with(sk, :s)", BeginsWith(X)),
    ],
)
def test_a_range_of_the_sort_key_is_one_of_six(text: str, expected: SortRange) -> None:
    assert resolve(f"pk = :s AND {text}") == ResolvedKeyCondition((X,), (), expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pk = :s OR sk = :s", "Invalid operator used in KeyConditionExpression: OR"),
        ("NOT pk = :s", "Invalid operator used in KeyConditionExpression: NOT"),
        ("pk <> :s", "Invalid operator used in KeyConditionExpression: <>"),
        ("pk IN (:s)", "Invalid operator used in KeyConditionExpression: IN"),
        (
            "pk = :s AND contains(sk, :s)",
            "Invalid operator used in KeyConditionExpression: contains",
        ),
        (
            "pk = :s AND :s BETWEEN sk AND :s2",
            (
                "Invalid condition in KeyConditionExpression: "
                "BETWEEN operator must have the key attribute as its first operand"
            ),
        ),
        (
            "pk = :s AND begins_with(:s, sk)",
            (
                "Invalid condition in KeyConditionExpression: "
                "begins_with operator must have the key attribute as its first operand"
            ),
        ),
        ("size(pk) = :n", "KeyConditionExpressions cannot contain nested operations"),
        (
            "pk = sk",
            (
                "Invalid condition in KeyConditionExpression: "
                "Multiple attribute names used in one condition"
            ),
        ),
        ("pk.a = sk", "KeyConditionExpressions cannot have conditions on nested attributes"),
        (":s = :s2", "Invalid condition in KeyConditionExpression: No key attribute specified"),
        (
            "pk = :s AND pk = :s AND a.b = :s",
            "KeyConditionExpressions must only contain one condition per key",
        ),
    ],
)
def test_only_key_conditions_are_accepted(text: str, message: str) -> None:
    bound = bind_key_condition(text, Placeholders(None, VALUES))
    assert refusal_of(bound.to_key_condition) == message


def test_operands_are_checked_as_in_any_condition() -> None:
    placeholders = Placeholders(None, VALUES)
    for text, fault in (
        ("pk < :t", "operator or function: <, operand type: BOOL"),
        ("pk = :zz OR sk = :s", "attribute value: :zz"),
        ("pk = pk", "operator: =, first operand: [pk]"),
        ("name = :s", "reserved keyword: name"),
        ("pk", 'Syntax error; token: "<EOF>", near: "pk"'),
    ):
        message = refusal_of(lambda text=text: bind_key_condition(text, placeholders))
        assert message.startswith("Invalid KeyConditionExpression: ")
        assert message.endswith(fault)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sk = :s", "Query condition missed key schema element: pk"),
        ("pk = :s AND a = :s", "Query condition missed key schema element: sk"),
        ("pk < :s", "Query key condition not supported"),
        ("begins_with(pk, :s)", "Query key condition not supported"),
        ("pk = :s AND sk = :s AND a = :s", "Conditions can be of length 1 or 2 only"),
        (
            "pk = :s AND sk = :n",
            (
                "One or more parameter values were invalid: "
                "Condition parameter type does not match schema type"
            ),
        ),
        (
            "pk > :n",
            (
                "One or more parameter values were invalid: "
                "Condition parameter type does not match schema type"
            ),
        ),
        (
            "pk = :s AND sk > :e",
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                "cannot contain an empty string value. Key: sk"
            ),
        ),
    ],
)
def test_a_condition_must_match_the_key(text: str, message: str) -> None:
    assert refusal_of(lambda: resolve(text)) == message


def test_a_key_without_a_sort_key_takes_one_condition() -> None:
    message = "Query key condition not supported"
    assert refusal_of(lambda: resolve("pk = :s AND sk = :s", sort=None)) == message
    assert refusal_of(lambda: resolve("a = :s AND b = :s", sort=None)) == message


@pytest.mark.parametrize(
    ("text", "equals", "wanted"),
    [
        ("", (), None),
        ("AND r1 = :s", (X,), None),
        ("AND r1 > :s", (), Greater(X)),
        ("AND r2 = :n AND r1 = :s", (X, ONE), None),
        ("AND r1 = :s AND r2 BETWEEN :n AND :n2", (X,), Within(ONE, {"N": "2"})),
        ("AND r1 = :s AND r2 = :n AND begins_with(r3, :s2)", (X, ONE), BeginsWith(Y)),
    ],
)
def test_several_sort_attributes_are_used_from_the_left(
    text: str, equals: tuple[dict[str, str], ...], wanted: SortRange | None
) -> None:
    resolved = resolve_several(f"h2 = :n AND h1 = :s {text}")
    assert resolved == ResolvedKeyCondition((X, ONE), equals, wanted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "h1 = :s",
            "HASH key attributes h2 must have equality conditions specified in the query",
        ),
        (
            "r1 = :s",
            "HASH key attributes h1, h2 must have equality conditions specified in the query",
        ),
        (
            "h1 > :s AND h2 = :n",
            "HASH key attributes h1 must have equality conditions specified in the query",
        ),
        (
            "h1 = :s AND h2 = :n AND r3 = :s",
            (
                "RANGE key attributes r1, r2 must have equality conditions specified in the query "
                "because a condition is present on key attribute r3"
            ),
        ),
        (
            "h1 = :s AND h2 = :n AND r1 > :s AND r3 = :s",
            (
                "RANGE key attributes r2 must have equality conditions specified in the query "
                "because a condition is present on key attribute r3"
            ),
        ),
        (
            "h1 = :s AND h2 = :n AND r1 > :s AND r2 > :n AND r3 > :s",
            (
                "RANGE key attributes r1, r2 must have equality conditions specified in the query "
                "because a condition is present on key attribute r3"
            ),
        ),
        (
            "h1 = :s AND h2 = :n AND zz = :s",
            "Query condition missed key schema element: r1",
        ),
        (
            "h1 = :s AND h2 = :s",
            (
                "One or more parameter values were invalid: "
                "Condition parameter type does not match schema type"
            ),
        ),
        (
            "h1 = :s AND h2 = :n AND r1 = :s AND r2 = :n AND r3 = :s AND zz = :s",
            "Query key condition not supported",
        ),
    ],
)
def test_a_condition_must_match_a_key_of_several_attributes(text: str, message: str) -> None:
    assert refusal_of(lambda: resolve_several(text)) == message
