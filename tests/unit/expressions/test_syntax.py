"""Syntax errors, redundant parentheses and the other faults that the text alone shows."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.parser import parse_condition, parse_projection, parse_update
from keyfold.expressions.trees import (
    And,
    Comparison,
    FunctionCall,
    Not,
    Or,
    Path,
    ValuePlaceholder,
)


def fault_of_condition(text: str) -> str:
    with pytest.raises(ExpressionFault) as caught:
        parse_condition(text)
    return caught.value.detail


def fault_of_update(text: str) -> str:
    with pytest.raises(ExpressionFault) as caught:
        parse_update(text)
    return caught.value.detail


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("a", "<EOF>", "a"),
        ("a  ", "<EOF>", "a  "),
        ("  ", "<EOF>", "  "),
        ("  = a", "=", "  = a"),
        ("a =", "<EOF>", "="),
        ("a x b", "x", "a x b"),
        ("  a   x   b  c", "x", "a   x   b"),
        ("a\tx\nb", "x", "a\tx\nb"),
        ("a = b c", "c", "b c"),
        ("a = :s)", ")", ":s)"),
        ("(a = :s", "<EOF>", ":s"),
        ("a != :s", "!", "a !="),
        ("a == :s", "=", "== :s"),
        ("a < b < c", "<", "b < c"),
        ("a = : s", ":", "= : s"),
        ("a = #é", "#", "= #é"),
        ("_a = :s", "_", "_a"),
        ("1a = :s", "1", "1a"),
        ("a[00] = :s", "0", "00]"),
        ("a[-1] = :s", "-", "[-1"),
        ("a[b] = :s", "b", "[b]"),
        ("a. = :s", "=", ". = :s"),
        ("a.set = :s", "set", ".set ="),
        ("a IN ()", ")", "()"),
        ("a IN (b c)", "c", "b c)"),
        ("a BETWEEN b OR c", "OR", "b OR c"),
        ("foo()", ")", "()"),
        ("a.foo(b)", "(", "foo(b"),
        ("size(a).b = c", ".", ").b"),
        ("a = NOT b", "NOT", "= NOT b"),
        ("a = b AND c OR d = e", "OR", "c OR d"),
        ("(a) AND (b)", "AND", ") AND ("),
        ("(a)", "<EOF>", ")"),
        ("NOT (a)", "<EOF>", ")"),
        ("(NOT a)", ")", "a)"),
        ("(a = b) = c", "=", ") = c"),
        ("a = (b AND c)", "AND", "b AND c"),
        ("attribute_exists(a) b", "b", ") b"),
    ],
)
def test_a_token_that_does_not_fit_is_quoted_with_its_neighbours(
    text: str, token: str, near: str
) -> None:
    assert fault_of_condition(text) == f'Syntax error; token: "{token}", near: "{near}"'


def test_an_empty_expression_has_its_own_message() -> None:
    assert fault_of_condition("") == "The expression can not be empty;"


def test_an_expression_of_more_than_4096_characters_is_refused_unparsed() -> None:
    parse_condition("a = b" + " " * 4091)
    assert fault_of_condition("?" * 4097) == (
        "Expression size has exceeded the maximum allowed size; expression size: 4097"
    )


@pytest.mark.parametrize(
    "text",
    [
        "((a = b))",
        "((a)) = b",
        "a = ((b))",
        "size(((a))) = b",
        "a IN (((b)))",
        "(NOT ((a = b)))",
        "((attribute_exists(a)))",
        "((a = b)) and then nonsense",
        "(((a = b)) c",
        "(" * 2040 + "a<b" + ")" * 2040,
    ],
)
def test_parentheses_directly_around_parentheses_are_redundant(text: str) -> None:
    assert fault_of_condition(text) == "The expression has redundant parentheses;"


@pytest.mark.parametrize(
    "text",
    [
        "(a = b)",
        "((a) = (b))",
        "((a = b) AND (c = d))",
        "NOT (NOT (a = b))",
        "(size(a)) > b",
        "size((a)) > b",
        "a IN ((b), (c))",
        "(a) BETWEEN (b) AND (c)",
        "attribute_exists((a))",
    ],
)
def test_one_pair_of_parentheses_is_never_redundant(text: str) -> None:
    parse_condition(text)


@pytest.mark.parametrize("text", ["(" * 4000, "foo(" * 1000, "a = " + "(" * 4000])
def test_thousands_of_open_parentheses_are_a_syntax_error(text: str) -> None:
    assert fault_of_condition(text) == 'Syntax error; token: "<EOF>", near: "("'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name = q", "Attribute name is a reserved keyword; reserved keyword: name"),
        ("a.Name = q", "Attribute name is a reserved keyword; reserved keyword: Name"),
        ("foo(a)", "Invalid function name; function: foo"),
        ("Size(a) > b", "Invalid function name; function: Size"),
        (
            "list_append(a, b) = c",
            "The function is not allowed in a condition expression; function: list_append",
        ),
        (
            "size(a)",
            "The function is not allowed to be used this way in an expression; function: size",
        ),
        (
            "attribute_exists(a) = b",
            (
                "The function is not allowed to be used this way in an expression; "
                "function: attribute_exists"
            ),
        ),
        (
            "contains(attribute_exists(a), b)",
            (
                "The function is not allowed to be used this way in an expression; "
                "function: attribute_exists"
            ),
        ),
        (
            "a[2147483648] = b",
            "List index is not within the allowable range; index: [2147483648]",
        ),
    ],
)
def test_static_faults_are_named(text: str, fault: str) -> None:
    assert fault_of_condition(text) == fault


def test_the_first_static_fault_is_reported_once_the_syntax_holds() -> None:
    assert "function: size" in fault_of_condition("size(name)")
    assert "reserved keyword: name" in fault_of_condition("a = name AND foo(b)")
    assert "function: foo" in fault_of_condition("foo(b) AND a = name")
    assert "Syntax error" in fault_of_condition("name = a AND")
    assert "redundant" in fault_of_condition("name = a AND ((b = c))")


def test_a_function_may_be_the_name_of_an_attribute() -> None:
    parsed = parse_condition("contains = begins_with").condition
    assert parsed == Comparison(
        "=",
        Path(("contains",), has_placeholders=False),
        Path(("begins_with",), has_placeholders=False),
    )


def test_not_binds_tighter_than_and_which_binds_tighter_than_or() -> None:
    parsed = parse_condition("NOT a = b AND c = d OR attribute_exists(#e)").condition
    assert parsed == Or(
        (
            And(
                (
                    Not(parse_condition("a = b").condition),
                    parse_condition("c = d").condition,
                )
            ),
            FunctionCall("attribute_exists", (Path(("#e",), has_placeholders=True),)),
        )
    )


def test_keywords_are_read_in_any_case_and_functions_are_not() -> None:
    assert parse_condition("a BeTwEeN b aNd c").operator_count == 1
    assert "Attribute_Exists" in fault_of_condition("Attribute_Exists(a)")


def test_every_operator_and_function_counts() -> None:
    text = "NOT size(a) = b AND c IN (d, e) OR f BETWEEN g AND h AND contains(i, j)"
    assert parse_condition(text).operator_count == 9


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("SET", "<EOF>", "SET"),
        ("SET b = :n,", "<EOF>", ","),
        ("SET b = :n c = :n", "c", ":n c ="),
        ("SET b = a + :n + :n", "+", ":n + :n"),
        ("SET b = (a + :n) - :n", "-", ") - :n"),
        ("SET b = a + (:n + :n)", "+", ":n + :n"),
        ("SET b = if_not_exists(b, :n + :n)", "+", ":n + :n"),
        ("SET (b) = :n", "(", "SET (b"),
        ("SET b = -:n", "-", "= -:n"),
        ("REMOVE :n", ":n", "REMOVE :n"),
        ("ADD b c", "c", "b c"),
        ("ADD b = :n", "=", "b = :n"),
        ("DELETE b", "<EOF>", "b"),
        ("HELLO b", "HELLO", "HELLO b"),
        ("SET b = :n, SET c = :n", "SET", ", SET c"),
        ("SET b <> :n", "<>", "b <> :n"),
    ],
)
def test_updates_have_their_own_grammar(text: str, token: str, near: str) -> None:
    assert fault_of_update(text) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "SET b = :n REMOVE a SET c = :n",
            'The "SET" section can only be used once in an update expression;',
        ),
        ("SET b = size(a)", "The function is not allowed in an update expression; function: size"),
        ("SET b = foo(a)", "Invalid function name; function: foo"),
        (
            "SET b = list_append(list_append(:l, :l), :l)",
            (
                "The function is not allowed to be used this way in an expression; "
                "function: list_append"
            ),
        ),
        (
            "SET b = list_append(:l, :l) + :n",
            (
                "The function is not allowed to be used this way in an expression; "
                "function: list_append"
            ),
        ),
        ("SET b = ((a + :n))", "The expression has redundant parentheses;"),
        ("SET b.name = :n", "Attribute name is a reserved keyword; reserved keyword: name"),
    ],
)
def test_static_faults_of_updates_are_named(text: str, fault: str) -> None:
    assert fault_of_update(text) == fault


def test_sections_of_an_update_may_come_in_any_order_and_case() -> None:
    actions = parse_update("remove a[0] Set b = (c) + :n, #d = if_not_exists(e, :v) ADD f :s")
    assert [action.path.steps for action in actions] == [("a", 0), ("b",), ("#d",), ("f",)]


@pytest.mark.parametrize(
    ("text", "near"),
    [("a,", ","), ("a b", "a b"), (",a", ",a"), ("size(a)", "size(a"), ("(a)", "(a")],
)
def test_projections_are_paths_between_commas(text: str, near: str) -> None:
    with pytest.raises(ExpressionFault) as caught:
        parse_projection(text)
    assert caught.value.detail.endswith(f'near: "{near}"')


def test_spaces_may_appear_anywhere_in_a_path() -> None:
    (path,) = parse_projection(" a . #b [ 3 ] . c ")
    assert path == Path(("a", "#b", 3, "c"), has_placeholders=True)


def test_a_text_is_parsed_once() -> None:
    assert parse_condition("a = :once") is parse_condition("a = :once")


@given(st.text(alphabet="ab#:.[]()0 1,=<>+-NOTANDSEIR\n$é", max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for parse in (parse_condition, parse_projection, parse_update):
        with contextlib.suppress(ExpressionFault):
            parse(text)


def test_values_are_placeholders_until_they_are_bound() -> None:
    condition = parse_condition(":a = b").condition
    assert isinstance(condition, Comparison)
    assert condition.left == ValuePlaceholder(":a")
