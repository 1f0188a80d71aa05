"""Statements as tokens."""

from __future__ import annotations

import pytest

from keyfold.engine.partiql.lexer import read_tokens
from tests.unit.engine.expressions.refusals import refusal_of

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


def test_what_is_quoted_is_a_name_whatever_it_says() -> None:
    assert kinds('"select" "a b" "say ""so"""') == [
        ("quoted", "select"),
        ("quoted", "a b"),
        ("quoted", 'say "so"'),
    ]


def test_text_has_its_quotes_doubled() -> None:
    assert kinds("'it''s' ''") == [("text", "it's"), ("text", "")]


@pytest.mark.parametrize("number", ["0", "12", "1.", ".5", "1.5e3", "2E-7", "1e+9"])
def test_numbers_are_kept_as_they_are_written(number: str) -> None:
    assert kinds(number) == [("number", number)]


def test_operators_are_as_long_as_they_can_be() -> None:
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


def test_comments_are_space() -> None:
    assert kinds("a -- b\nc /* d\ne */ f") == [
        ("identifier", "a"),
        ("identifier", "c"),
        ("identifier", "f"),
    ]


def test_a_token_knows_its_line_its_column_and_its_length() -> None:
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
def test_what_is_no_token_is_refused_without_a_detail(text: str) -> None:
    assert refusal_of(lambda: read_tokens(text)) == NOT_WELL_FORMED
