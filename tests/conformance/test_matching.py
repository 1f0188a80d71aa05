"""The matcher: a case is worth what its matcher refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.cases import expand
from tests.conformance.matching import mismatches

VIOLATIONS = {"$violations": ["Value null at 'a'", "Value 'x' at 'b'"]}


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"Count": 1}, {"Count": 1.0}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"$match": "a+"}, "aaa"),
        ({"$type": "number"}, 1.5),
        ({"$type": "boolean"}, True),
        ({"$one": ["a", {"$match": "b."}]}, "bc"),
        ({"$has": {"a": 1}}, {"a": 1, "b": 2}),
        ({"$unordered": [{"a": 1}, {"$type": "string"}]}, ["x", {"a": 1}]),
        (VIOLATIONS, "2 validation errors detected: Value 'x' at 'b'; Value null at 'a'"),
    ],
)
def test_what_fits_is_accepted(expected: Any, actual: Any) -> None:
    assert mismatches(expected, actual) == []


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"Count": 1}, {"Count": 2}),
        ({"Count": 1}, {}),
        ({}, {"Count": 1}),
        ({"BOOL": True}, {"BOOL": 1}),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({"SS": ["a", "b"]}, {"SS": ["a", "a"]}),
        ({"$match": "a+"}, "aab"),
        ({"$type": "number"}, True),
        ({"$type": "number"}, "1"),
        ({"$one": ["a", "b"]}, "c"),
        ({"$has": {"a": 1}}, {"b": 1}),
        ({"$unordered": [1, 2]}, [1, 2, 2]),
        (VIOLATIONS, "2 validation errors detected: Value 'x' at 'b'; Value 'x' at 'b'"),
        (VIOLATIONS, "Value null at 'a'; Value 'x' at 'b'"),
    ],
)
def test_what_does_not_fit_is_told(expected: Any, actual: Any) -> None:
    assert mismatches(expected, actual)


def test_an_unknown_pattern_is_our_mistake() -> None:
    with pytest.raises(ValueError, match=r"\$matches"):
        mismatches({"$matches": "a"}, "a")


def test_shorthands_nest() -> None:
    written = {"$each": 2, "value": {"S": {"$join": ["{i}", {"$repeat": "x", "times": 2}]}}}
    assert expand(written) == [{"S": "0xx"}, {"S": "1xx"}]
