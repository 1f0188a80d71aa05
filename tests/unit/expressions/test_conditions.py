from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.expressions.conditions import bind_condition, check_filter_keys
from keyfold.expressions.placeholders import Placeholders
from keyfold.values import Item
from tests.unit.expressions.refusals import refusal_of

VALUES: dict[str, Any] = {
    ":s": {"S": "x"},
    ":s2": {"S": "y"},
    ":n": {"N": "1"},
    ":n2": {"N": "2"},
    ":b": {"B": "eA=="},
    ":t": {"BOOL": True},
    ":u": {"NULL": True},
    ":l": {"L": []},
    ":m": {"M": {}},
    ":ss": {"SS": ["x"]},
}

ITEM: Item = {
    "s": {"S": "hé😀"},
    "n": {"N": "42"},
    "b": {"B": "AAECAw=="},
    "t": {"BOOL": True},
    "u": {"NULL": True},
    "l": {"L": [{"N": "1"}, {"S": "x"}, {"SS": ["a", "b"]}, {"L": [{"SS": ["q", "r"]}]}]},
    "m": {"M": {"a": {"N": "1"}, "deep": {"M": {"er": {"L": [{"S": "z"}]}}}}},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "bs": {"BS": ["AAE=", "AgM="]},
    "e": {"S": ""},
}


def holds(text: str, values: dict[str, Any] | None = None, item: Item = ITEM) -> bool:
    bound = bind_condition(text, Placeholders(None, values), kind="ConditionExpression")
    return bound.holds(item)


def refusal(text: str, names: dict[str, str] | None = None) -> str:
    placeholders = Placeholders(names, VALUES)
    message = refusal_of(lambda: bind_condition(text, placeholders, kind="ConditionExpression"))
    prefix, _, fault = message.partition(": ")
    assert prefix == "Invalid ConditionExpression"
    return fault


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("n = :v", {"N": "42.0"}, True),
        ("n = :v", {"S": "42"}, False),
        ("n <> :v", {"S": "42"}, True),
        ("t = :v", {"BOOL": True}, True),
        ("u = :v", {"NULL": True}, True),
        ("e = :v", {"S": ""}, True),
        ("ss = :v", {"SS": ["b", "a"]}, True),
        ("ss <> :v", {"SS": ["b", "a"]}, False),
        ("ss = :v", {"SS": ["a"]}, False),
        ("ns = :v", {"NS": ["2.0", "1"]}, True),
        ("l[3] = :v", {"L": [{"SS": ["r", "q"]}]}, True),
        ("l[3] = :v", {"L": [{"SS": ["r", "x"]}]}, False),
        ("m.a = :v", {"N": "1"}, True),
        ("m = :v", {"M": {"a": {"N": "1"}}}, False),
        ("m.deep.er[0] = :v", {"S": "z"}, True),
        ("m.deep.er[1] = :v", {"S": "z"}, False),
        ("s.a = :v", {"S": "z"}, False),
        ("s.a <> :v", {"S": "z"}, True),
        ("l.a = :v", {"S": "z"}, False),
        ("m[0] = :v", {"S": "z"}, False),
        ("zz = :v", {"S": "z"}, False),
        ("zz <> :v", {"S": "z"}, True),
        ("NOT zz = :v", {"S": "z"}, True),
    ],
)
def test_equality_compares_type_and_value(text: str, value: dict[str, Any], expected: bool) -> None:
    assert holds(text, {":v": value}) is expected


def test_an_absent_attribute_equals_nothing_not_even_another_absent_one() -> None:
    assert not holds("zz = yy")
    assert holds("zz <> yy")
    assert not holds("zz < yy")
    assert not holds("zz IN (yy)")


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("n > :v", {"N": "9"}, True),
        ("n < :v", {"N": "1E2"}, True),
        ("n >= :v", {"N": "42.00"}, True),
        ("n < :v", {"S": "9"}, False),
        ("NOT n < :v", {"S": "9"}, True),
        ("b < :v", {"B": "/w=="}, True),
        ("b > :v", {"B": "AAE="}, True),
        ("s > :v", {"S": "h"}, True),
        ("s > :v", {"S": "h\uffff"}, False),
        ("zz < :v", {"N": "9"}, False),
        ("t < :v", {"N": "9"}, False),
        (":v < n", {"N": "9"}, True),
        (":v >= n", {"N": "9"}, False),
        (":v = n", {"N": "42"}, True),
        ("n BETWEEN :v AND n2", {"N": "1"}, False),
    ],
)
def test_order_is_defined_between_strings_numbers_and_binaries(
    text: str, value: dict[str, Any], expected: bool
) -> None:
    assert holds(text, {":v": value}) is expected


def test_between_includes_both_ends_whatever_its_operands_are() -> None:
    item: Item = {"a": {"N": "1"}, "b": {"N": "2"}, "c": {"N": "2"}}
    assert holds("b BETWEEN a AND c", item=item)
    assert not holds("a BETWEEN b AND c", item=item)
    assert holds(":n BETWEEN a AND b", {":n": {"N": "1.5"}}, item)


def test_in_holds_for_any_equal_option() -> None:
    assert holds("n IN (:a, :b)", {":a": {"S": "42"}, ":b": {"N": "42"}})
    assert holds("ss IN (:a, :b)", {":a": {"S": "a"}, ":b": {"SS": ["b", "a"]}})
    assert not holds("n IN (:a, zz)", {":a": {"N": "1"}})


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("contains(s, :v)", {"S": "é"}, True),
        ("contains(s, :v)", {"S": ""}, True),
        ("contains(s, :v)", {"N": "1"}, False),
        ("contains(b, :v)", {"B": "AQI="}, True),
        ("contains(b, :v)", {"B": "AgE="}, False),
        ("contains(ss, :v)", {"S": "a"}, True),
        ("contains(ss, :v)", {"SS": ["a"]}, False),
        ("contains(ns, :v)", {"N": "1.0"}, True),
        ("contains(bs, :v)", {"B": "AAE="}, True),
        ("contains(l, :v)", {"N": "1"}, True),
        ("contains(l, :v)", {"SS": ["b", "a"]}, True),
        ("contains(m, :v)", {"S": "a"}, False),
        ("contains(n, :v)", {"N": "42"}, False),
        ("contains(zz, :v)", {"N": "42"}, False),
        ("contains(:v, s)", {"L": [{"S": "hé😀"}]}, True),
        ("begins_with(s, :v)", {"S": "h"}, True),
        ("begins_with(s, :v)", {"S": ""}, True),
        ("begins_with(b, :v)", {"B": "AAE="}, True),
        ("begins_with(b, :v)", {"B": "AQ=="}, False),
        ("begins_with(b, :v)", {"S": "A"}, False),
        ("begins_with(n, :v)", {"S": "4"}, False),
        ("begins_with(:v, e)", {"S": "4"}, True),
        ("attribute_type(ss, :v)", {"S": "SS"}, True),
        ("attribute_type(zz, :v)", {"S": "SS"}, False),
        ("attribute_type(size(s), :v)", {"S": "N"}, True),
    ],
)
def test_functions_return_false_for_mismatched_types(
    text: str, value: dict[str, Any], expected: bool
) -> None:
    assert holds(text, {":v": value}) is expected


def test_attribute_exists_takes_any_path() -> None:
    assert holds("attribute_exists(u) AND attribute_exists(l[3][0])")
    assert holds("attribute_not_exists(l[4]) AND attribute_not_exists(m.a.b)")
    assert not holds("attribute_exists(s.x)")
    assert holds("attribute_not_exists(pk)", item={})


@pytest.mark.parametrize(
    ("path", "size"),
    [("s", 4), ("e", 0), ("b", 4), ("l", 4), ("m", 2), ("ss", 2), ("ns", 2), ("bs", 2)],
)
def test_size_counts_characters_bytes_or_members(path: str, size: int) -> None:
    assert holds(f"size({path}) = :n", {":n": {"N": str(size)}})


def test_a_value_without_a_size_compares_like_an_absent_one() -> None:
    for path in ("n", "t", "u", "zz"):
        assert not holds(f"size({path}) >= :n", {":n": {"N": "0"}})
        assert holds(f"size({path}) <> :n", {":n": {"N": "0"}})


def test_and_or_and_not_combine_any_number() -> None:
    text = "attribute_exists(s) AND attribute_exists(n) AND (attribute_exists(zz) OR NOT n = s)"
    assert holds(text)
    assert holds(" OR ".join(["attribute_exists(zz)"] * 99 + ["attribute_exists(s)"]))


def test_an_expression_has_at_most_300_operators() -> None:
    assert holds("not " * 298 + "attribute_exists(s)")
    assert refusal("a<b" + " or a<b" * 150) == (
        "The expression contains too many operators; operator count: 301"
    )


def test_in_takes_at_most_100_options() -> None:
    options = [f"o{number}" for number in range(100)]
    assert not holds(f"n IN ({', '.join(options)})")
    assert refusal(f"n IN ({', '.join([*options, 'x'])})") == (
        "The IN operator is provided with too many operands; number of operands: 101"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("q < :t", "operator or function: <, operand type: BOOL"),
        (":l >= q", "operator or function: >=, operand type: L"),
        ("q BETWEEN :n AND :u", "operator or function: BETWEEN, operand type: NULL"),
        ("begins_with(q, :n)", "operator or function: begins_with, operand type: N"),
        ("begins_with(size(q), :s)", "operator or function: begins_with, operand type: N"),
        ("size(:n) > :n", "operator or function: size, operand type: N"),
        ("size(size(q)) > :n", "operator or function: size, operand type: N"),
        ("attribute_type(q, :n)", "operator or function: attribute_type, operand type: N"),
    ],
)
def test_a_value_of_a_type_that_the_operator_does_not_accept_is_refused(
    text: str, fault: str
) -> None:
    assert refusal(text) == f"Incorrect operand type for operator or function; {fault}"


@pytest.mark.parametrize(
    ("text", "operator", "shown"),
    [
        ("q = q", "=", "[q]"),
        ("q.a[1] < q.a[1]", "<", "[q, a, [1]]"),
        ("q BETWEEN r AND q", "BETWEEN", "[q]"),
        ("q IN (r, q)", "IN", "[q]"),
        ("contains(q, q)", "contains", "[q]"),
        ("attribute_type(q, q)", "attribute_type", "[q]"),
        ("#a = #b", "=", "[q]"),
    ],
)
def test_a_path_is_not_compared_with_itself(text: str, operator: str, shown: str) -> None:
    assert refusal(text, {"#a": "q", "#b": "q"}) == (
        "The first operand must be distinct from the remaining operands for this operator or "
        f"function; operator: {operator}, first operand: {shown}"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "attribute_exists(q, r)",
            (
                "Incorrect number of operands for operator or function; "
                "operator or function: attribute_exists, number of operands: 2"
            ),
        ),
        (
            "attribute_exists(:s)",
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        (
            "q BETWEEN :n2 AND :n",
            (
                "The BETWEEN operator requires upper bound to be greater than or equal to lower "
                "bound; lower bound operand: AttributeValue: {N:2}, "
                "upper bound operand: AttributeValue: {N:1}"
            ),
        ),
        (
            "q BETWEEN :n AND :s",
            (
                "The BETWEEN operator requires same data type for lower and upper bounds; "
                "lower bound operand: AttributeValue: {N:1}, "
                "upper bound operand: AttributeValue: {S:x}"
            ),
        ),
        (
            "q = :zz",
            "An expression attribute value used in expression is not defined; attribute value: :zz",
        ),
        (
            "#zz = q",
            (
                "An expression attribute name used in the document path is not defined; "
                "attribute name: #zz"
            ),
        ),
        (
            "q" + ".w" * 32 + " = r",
            "The document path has too many nesting levels; nesting levels: 33",
        ),
    ],
)
def test_faults_of_operands_are_named(text: str, fault: str) -> None:
    assert refusal(text) == fault


def test_an_unknown_type_name_is_refused() -> None:
    assert refusal("attribute_type(q, :s)").startswith(
        "Invalid attribute type name found; type: x, valid types: {"
    )


def test_operands_are_checked_from_the_left_and_before_their_operator() -> None:
    assert refusal("q < :t AND q = :zz").endswith("operand type: BOOL")
    assert refusal("q = :zz AND q < :t").endswith("attribute value: :zz")
    assert refusal("begins_with(:n, :zz)").endswith("attribute value: :zz")


def test_the_fault_names_the_parameter_it_came_from() -> None:
    placeholders = Placeholders(None, None)
    message = refusal_of(lambda: bind_condition("a", placeholders, kind="FilterExpression"))
    assert message == 'Invalid FilterExpression: Syntax error; token: "<EOF>", near: "a"'


def test_a_filter_may_not_mention_the_queried_key() -> None:
    bound = bind_condition(
        "size(a) > b.c AND attribute_exists(sk)", Placeholders(None, None), kind="FilterExpression"
    )
    assert bound.attributes == {"a", "b", "sk"}
    check_filter_keys(bound, ["pk"], "FilterExpression")
    assert refusal_of(lambda: check_filter_keys(bound, ["pk", "sk"], "FilterExpression")) == (
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"
    )


numbers = st.integers(-(10**12), 10**12) | st.decimals(
    -1_000_000, 1_000_000, places=5, allow_nan=False, allow_infinity=False
)


@given(numbers, numbers)
def test_numbers_compare_by_value(left: Any, right: Any) -> None:
    values = {":l": {"N": str(left)}, ":r": {"N": str(right)}}
    for operator, expected in (
        ("<", left < right),
        ("<=", left <= right),
        ("=", left == right),
        ("<>", left != right),
        (">", left > right),
    ):
        text = f":l {operator} :r"
        assert holds(text, values, {}) is expected


@given(st.text(max_size=8), st.text(max_size=8))
def test_strings_compare_by_their_bytes(left: str, right: str) -> None:
    item: Item = {"l": {"S": left}}
    assert holds("l < :r", {":r": {"S": right}}, item) is (left.encode() < right.encode())
    assert holds("begins_with(l, :r)", {":r": {"S": right}}, item) is left.startswith(right)
