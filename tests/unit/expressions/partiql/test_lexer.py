"""Splitting statements into tokens."""

from __future__ import annotations

import pytest

from keyfold.expressions.partiql.lexer import read_tokens
from tests.unit.expressions.refusals import refusal_of

NOT_WELL_FORMED = "Statement wasn't well formed, can't be processed: "


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.value) for token in read_tokens(text)][:-1]


def test_words_are_keywords_operators_or_names() -> None:
    assert kinds("SELECT Name AND index") == [
        ("keyword", "select"),
        ("identifier", "Name"),
        ("operator", "and"),
        ("keyword", "index"),
    ]


def test_quoted_words_are_names_even_if_they_are_keywords() -> None:
    assert kinds('"select" "a b" "say ""so"""') == [
        ("quoted", "select"),
        ("quoted", "a b"),
        ("quoted", 'say "so"'),
    ]


def test_quotes_inside_strings_are_doubled() -> None:
    assert kinds("'it''s' ''") == [("text", "it's"), ("text", "")]


@pytest.mark.parametrize("number", ["0", "12", "1.", ".5", "1.5e3", "2E-7", "1e+9"])
def test_numbers_are_kept_as_they_are_written(number: str) -> None:
    assert kinds(number) == [("number", number)]


def test_the_longest_operator_is_matched() -> None:
    assert kinds("<= >= <> != || << >> < >") == [
        ("operator", "<="),
        ("operator", ">="),
        ("operator", "<>"),
        ("operator", "<>"),
        ("operator", "||"),
        ("sign", "<<"),
        ("sign", ">>"),
        ("operator", "<"),
        ("operator", ">"),
    ]


def test_comments_are_treated_as_whitespace() -> None:
    assert kinds("a -- b\nc /* d\ne */ f") == [
        ("identifier", "a"),
        ("identifier", "c"),
        ("identifier", "f"),
    ]


def test_tokens_have_a_line_a_column_and_a_length() -> None:
    places = [token.at for token in read_tokens("SELECT\n  'a''b' /* x\n */ y")]
    assert places == ["1:1:6", "2:3:6", "3:5:1", "3:6:0"]


@pytest.mark.parametrize(
    "text",
    [
        "'open",
        '"open',
        "/* open",
        "# note",
        "a ! b",
        "1abc",
        "~",
        "1e2147483648",
        "1e99999999999999999999",
        "1.5e-2147483647",
    ],
)
def test_invalid_tokens_are_refused_without_a_detail(text: str) -> None:
    assert refusal_of(lambda: read_tokens(text)) == NOT_WELL_FORMED
