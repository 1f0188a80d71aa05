"""Attribute values as callers send them: which are accepted, normalised or refused."""

from __future__ import annotations

from copy import deepcopy
from enum import StrEnum
from typing import Any

import pytest

from keyfold.errors import SerializationException, ServiceError, ValidationException
from keyfold.values import (
    MAX_NESTING,
    normalise_item,
    normalise_value,
    restore_binaries,
    to_json,
)

INVALID = "One or more parameter values were invalid: "
EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)
WRONG_TYPE = "Unexpected value type in payload"
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)
NO_NUMBER = "The parameter cannot be converted to a numeric value"
BAD_BASE64 = "Invalid Base64 in a binary value"
BAD_TEXT = "Invalid UTF-16 surrogate in a string"

FAULTS: list[tuple[Any, type[ServiceError], str]] = [
    ({}, ValidationException, EMPTY),
    ({"S": None}, ValidationException, EMPTY),
    ({"X": "a"}, ValidationException, EMPTY),
    ({"S": "a", "N": "1"}, ValidationException, SEVERAL),
    ({"S": "a", "BOOL": False}, ValidationException, SEVERAL),
    ({"S": "a", "N": "x"}, ValidationException, f"{NO_NUMBER}: x"),
    ({"N": ""}, ValidationException, NO_NUMBER),
    ({"N": "one"}, ValidationException, f"{NO_NUMBER}: one"),
    (
        {"NULL": False},
        ValidationException,
        f"{INVALID}Null attribute value types must have the value of true",
    ),
    ({"SS": []}, ValidationException, f"{INVALID}An string set  may not be empty"),
    ({"NS": []}, ValidationException, f"{INVALID}An number set  may not be empty"),
    ({"BS": []}, ValidationException, f"{INVALID}Binary sets should not be empty"),
    (
        {"SS": ["a", "b", "a"]},
        ValidationException,
        f"{INVALID}Input collection [a, b, a] contains duplicates.",
    ),
    ({"NS": ["1", "1.0"]}, ValidationException, "Input collection contains duplicates"),
    (
        {"BS": ["YQ==", b"a"]},
        ValidationException,
        f"{INVALID}Input collection [YQ==, YQ==]of type BS contains duplicates.",
    ),
    ({"NS": ["1", "x"]}, ValidationException, f"{NO_NUMBER}: x"),
    ({"M": {"": {"S": "a"}}}, ValidationException, "Empty attribute name"),
    ({"M": {"a": None}}, ValidationException, EMPTY),
    ({"M": {"a": {}}}, ValidationException, EMPTY),
    ({"L": [{}]}, ValidationException, EMPTY),
    (
        {"M": {"x" * 65_536: {"S": "a"}}},
        ValidationException,
        "Attribute name is too large, must be less than 65536 bytes",
    ),
    (None, SerializationException, WRONG_TYPE),
    ("a", SerializationException, WRONG_TYPE),
    ([], SerializationException, WRONG_TYPE),
    ({"S": 1}, SerializationException, WRONG_TYPE),
    ({"S": ["a"]}, SerializationException, WRONG_TYPE),
    ({"N": 1}, SerializationException, WRONG_TYPE),
    ({"B": 1}, SerializationException, WRONG_TYPE),
    ({"BOOL": 1}, SerializationException, WRONG_TYPE),
    ({"BOOL": "true"}, SerializationException, WRONG_TYPE),
    ({"NULL": "true"}, SerializationException, WRONG_TYPE),
    ({"L": {}}, SerializationException, WRONG_TYPE),
    ({"L": [None]}, SerializationException, WRONG_TYPE),
    ({"M": []}, SerializationException, WRONG_TYPE),
    ({"SS": "ab"}, SerializationException, WRONG_TYPE),
    ({"SS": ["a", 1]}, SerializationException, WRONG_TYPE),
    ({"NS": [1]}, SerializationException, WRONG_TYPE),
    ({"BS": [1]}, SerializationException, WRONG_TYPE),
    ({"B": "YQ"}, SerializationException, BAD_BASE64),
    ({"B": "YR=="}, SerializationException, BAD_BASE64),
    ({"B": "Y Q="}, SerializationException, BAD_BASE64),
    ({"B": "é==="}, SerializationException, BAD_BASE64),
    ({"BS": ["YQ==", "!"]}, SerializationException, BAD_BASE64),
    ({"S": "\ud800"}, SerializationException, BAD_TEXT),
    ({"SS": ["a", "\udfff"]}, SerializationException, BAD_TEXT),
    ({"M": {"\ud800": {"S": "a"}}}, SerializationException, BAD_TEXT),
    ({"M": {1: {"S": "a"}}}, SerializationException, "Attribute names are strings"),
]


@pytest.mark.parametrize(("value", "kind", "message"), FAULTS)
def test_every_invalid_value_has_its_message(
    value: Any, kind: type[ServiceError], message: str
) -> None:
    with pytest.raises(kind) as refused:
        normalise_value(value)
    assert refused.value.message == message


@pytest.mark.parametrize(("value", "kind", "message"), FAULTS)
def test_the_message_is_the_same_deep_inside_an_item(
    value: Any, kind: type[ServiceError], message: str
) -> None:
    given = {"pk": {"S": "a"}, "m": {"M": {"l": {"L": [value]}}}}
    before = deepcopy(given)
    with pytest.raises(kind) as refused:
        normalise_item(given)
    assert refused.value.message == message
    assert given == before


def test_an_attribute_that_is_null_counts_as_empty() -> None:
    with pytest.raises(ValidationException, match=EMPTY):
        normalise_item({"pk": {"S": "a"}, "b": None})


def _nested(kind: str, depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "inmost"}
    for _ in range(depth):
        value = {"L": [value]} if kind == "L" else {"M": {"in": value}}
    return value


@pytest.mark.parametrize("kind", ["L", "M"])
def test_an_item_may_be_31_deep_around_a_scalar_and_no_deeper(kind: str) -> None:
    normalise_item({"a": _nested(kind, MAX_NESTING - 1)})
    with pytest.raises(ValidationException, match=TOO_DEEP):
        normalise_item({"a": _nested(kind, MAX_NESTING)})


def test_an_endlessly_nested_value_is_refused_too() -> None:
    with pytest.raises(ValidationException, match=TOO_DEEP):
        normalise_item({"a": _nested("L", 900)})


def test_a_valid_item_is_returned_unchanged() -> None:
    item: dict[str, Any] = {
        "s": {"S": "é"},
        "n": {"N": "-1.5"},
        "b": {"B": "aGk="},
        "t": {"BOOL": False},
        "z": {"NULL": True},
        "l": {"L": [{"N": "1"}, {"M": {"x": {"SS": ["a", "b"]}}}]},
        "ns": {"NS": ["1", "2"]},
        "bs": {"BS": ["aGk="]},
        "e": {"L": []},
        "m": {"M": {}},
    }
    normal, _ = normalise_item(item)
    assert normal is item


def test_normalising_changes_only_a_copy() -> None:
    given = {"n": {"N": "1.0"}, "m": {"M": {"b": {"B": b"hi"}, "l": {"L": [{"N": "1e1"}]}}}}
    before = deepcopy(given)
    normal, _ = normalise_item(given)
    assert normal == {
        "n": {"N": "1"},
        "m": {"M": {"b": {"B": "aGk="}, "l": {"L": [{"N": "10"}]}}},
    }
    assert given == before


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"S": "a", "X": 1}, {"S": "a"}),
        ({"S": "a", "N": None}, {"S": "a"}),
        ({"S": "a", "N": None, "BOOL": None}, {"S": "a"}),
    ],
)
def test_nulls_and_unknown_types_count_as_absent(given: Any, kept: dict[str, Any]) -> None:
    assert normalise_value(given)[0] == kept


def test_the_order_of_lists_and_their_duplicates_are_kept() -> None:
    value = {"L": [{"S": "b"}, {"S": "b"}, {"S": "a"}]}
    assert normalise_value(value)[0] == value


@pytest.mark.parametrize(
    ("kind", "ordered"),
    [
        # By UTF-8 bytes: UTF-16, as in Java, has the last two the other way round.
        ("SS", ["", "B", "a", "aa", "é", "\uffff", "\U0001f600"]),
        ("NS", ["-10", "-9.5", "-1", "0", "0.5", "9", "10", "1" + "0" * 125]),
        # By bytes: base64 has another order.
        ("BS", ["", "AA==", "AAA=", "Kw==", "aQ==", "+w==", "/w=="]),
    ],
)
def test_members_of_sets_are_sorted(kind: str, ordered: list[str]) -> None:
    given = {"a": {kind: ordered[::-1]}, "m": {"M": {"b": {kind: ordered[::-1]}}}, "s": {"S": "x"}}
    before = deepcopy(given)
    normal, _ = normalise_item(given)
    expected = {kind: ordered}
    assert normal == {"a": expected, "m": {"M": {"b": expected}}, "s": {"S": "x"}}
    assert normalise_value({"L": [{kind: ordered[::-1]}]})[0] == {"L": [expected]}
    assert given == before


class Colour(StrEnum):
    RED = "red"


def test_members_of_a_string_enum_become_text() -> None:
    item, size = normalise_item({Colour.RED: {"S": Colour.RED}})
    assert size == 6
    assert to_json(item) == b'{"red":{"S":"red"}}'


def test_binaries_go_in_and_come_out_as_bytes() -> None:
    given = {
        "b": {"B": b"\x00\xff"},
        "bs": {"BS": [b"a", b"b"]},
        "l": {"L": [{"B": b"x"}, {"M": {"in": {"B": b""}}}]},
        "s": {"S": "aGk="},
    }
    normal, _ = normalise_item(given)
    assert restore_binaries(normal) == given
