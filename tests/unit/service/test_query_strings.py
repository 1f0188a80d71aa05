"""Query strings: those in which nothing is quoted are split without the rules for what is."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.service._http import ServiceRequest
from keyfold.service._problems import ServiceProblem


async def receive() -> dict[str, Any]:
    raise AssertionError("a query string is in the scope")


def read(text: bytes) -> list[tuple[str, str]]:
    scope: dict[str, Any] = {
        "method": "GET",
        "path": "/orders",
        "query_string": text,
        "headers": [],
    }
    return ServiceRequest(scope, receive).query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", []),
        (b"user=ada&count=10", [("user", "ada"), ("count", "10")]),
        (b"count=1&count=2", [("count", "1"), ("count", "2")]),
        (b"note=", [("note", "")]),
        (b"sum=1=2", [("sum", "1=2")]),
        (b"=x", [("", "x")]),
        (b"name=a+b%26c", [("name", "a b&c")]),
        (b"name=%C3%A9", [("name", "é")]),
    ],
)
def test_a_query_string_has_names_and_values(text: bytes, expected: list[tuple[str, str]]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        b"user",
        b"user=ada&",
        b"&user=ada",
        b"a=1&&b=2",
        b"name=\xe9",
        b"a=%ff",
        b"a=1&" * 200 + b"a=1",
    ],
)
def test_other_texts_are_refused(text: bytes) -> None:
    with pytest.raises(ServiceProblem, match="query string"):
        read(text)


def test_as_many_values_as_allowed_are_read() -> None:
    assert len(read(b"&".join([b"a=1"] * 200))) == 200


@given(st.text("ab1=&;/?~.-_ %+\x7f", min_size=1, max_size=20).map(str.encode))
def test_both_ways_to_split_agree(text: bytes) -> None:
    try:
        expected = parse_qsl(
            text.decode(), keep_blank_values=True, strict_parsing=True, errors="strict"
        )
    except ValueError:
        with pytest.raises(ServiceProblem):
            read(text)
    else:
        assert read(text) == expected
