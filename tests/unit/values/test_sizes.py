"""Sizes of items, which decide limits, pages and capacity."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from keyfold.values import (
    AttributeValue,
    item_size_bytes,
    normalise_item,
    normalise_value,
    text_size_bytes,
    value_size_bytes,
)


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "é"}, 2),
        ({"S": "\U0001f600"}, 4),
        ({"N": "0"}, 1),
        ({"N": "-123.4"}, 5),
        ({"B": ""}, 0),
        ({"B": _base64(b"1")}, 1),
        ({"B": _base64(b"12")}, 2),
        ({"B": _base64(b"123")}, 3),
        ({"B": _base64(b"1234")}, 4),
        ({"BOOL": True}, 1),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bcd", "é"]}, 6),
        ({"NS": ["-5", "1", "100"]}, 7),
        ({"BS": [_base64(b"1"), _base64(b"22")]}, 3),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 8),
        ({"M": {}}, 3),
        ({"M": {"key": {"S": "ab"}}}, 9),
        ({"M": {"a": {"L": [{"N": "1"}]}}}, 3 + 1 + 1 + 3 + 1 + 2),
    ],
)
def test_every_type_has_its_size(value: AttributeValue, size: int) -> None:
    assert value_size_bytes(value) == size
    assert normalise_value(value) == (value, size)


def test_binaries_may_be_bytes() -> None:
    assert value_size_bytes({"B": b"1234"}) == 4
    assert value_size_bytes({"L": [{"BS": [b"1", b"22"]}]}) == 3 + 1 + 3


def test_an_item_counts_its_names_and_its_values() -> None:
    item = {"pk": {"S": "a"}, "é": {"N": "1"}, "list": {"L": [{"NULL": True}]}}
    size = (2 + 1) + (2 + 2) + (4 + 3 + 1 + 1)
    assert item_size_bytes(item) == size
    assert normalise_item(item) == (item, size)


def test_text_counts_in_utf8() -> None:
    assert [text_size_bytes(text) for text in ("", "a", "é", "€", "\U0001f600")] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"N": "001.50"}, {"N": "1.5"}),
        ({"NS": ["1e2", "2"]}, {"NS": ["2", "100"]}),
        ({"B": b"hi"}, {"B": "aGk="}),
        ({"B": bytearray(b"hi")}, {"B": "aGk="}),
        ({"B": memoryview(b"hi")}, {"B": "aGk="}),
        ({"BS": [b"hi", "aGo="]}, {"BS": ["aGk=", "aGo="]}),
        ({"L": [{"N": "1.0"}]}, {"L": [{"N": "1"}]}),
        ({"M": {"n": {"N": "1.0"}}}, {"M": {"n": {"N": "1"}}}),
    ],
)
def test_the_size_is_that_of_the_stored_form(given: Any, kept: AttributeValue) -> None:
    assert normalise_value(given) == (kept, value_size_bytes(kept))
