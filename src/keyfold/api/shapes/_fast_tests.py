"""The quick look at a request, which only ever says "certainly right".

Its tests are C functions where they can be. Whatever surprises one (a value of a type that it
cannot take, an unknown member, an empty map) makes it raise or return something false, and the
slow look decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from keyfold.api.shapes._constraints import fits
from keyfold.api.shapes._model import Shape, input_shape, shape
from keyfold.api.shapes._names import ARN

Test = Callable[[Any], object]
Tests = tuple[tuple[str, ...], dict[str, Test]]

_NAME = r"[a-zA-Z0-9_.-]{3,255}"
_is_name: Test = re.compile(_NAME).fullmatch
_is_name_or_arn: Test = re.compile(f"{_NAME}|{ARN.pattern}").fullmatch
# True of a dict that is not empty.
_is_filled: Test = dict[str, Any].__len__
_NAME_CONSTRAINTS = {"min": 3, "max": 255, "pattern": "[a-zA-Z0-9_.-]+"}


class _FastTests(dict[str, Tests]):
    """For each operation, the required members and a test for every member; made when asked."""

    def __missing__(self, operation: str) -> Tests:
        of = input_shape(operation)
        tests = self[operation] = (tuple(of.required), _member_tests(of))
        return tests


fast_tests = _FastTests()


def _member_tests(of: Shape) -> dict[str, Test]:
    return {name: _test_of(shape(inner)) for name, inner in of.members.items()}


def _test_of(of: Shape) -> Test:
    match of.type:
        case "string":
            return _text_test(of)
        case "boolean":
            return _is_boolean
        case "integer" | "long":
            return _number_test(of)
        case "structure":
            return _is_filled if of.name == "AttributeValue" else _structure_test(of)
        case "list":
            return _list_test(of)
        case "map":
            return _map_test(of)
        case "double" | "timestamp" | "blob":
            return _never


def _never(_: object) -> bool:
    return False


def _is_boolean(value: object) -> bool:
    return value is True or value is False


def _text_test(of: Shape) -> Test:
    if not of.constraints:
        return str.isascii
    if "enum" in of.constraints:
        return frozenset(of.constraints["enum"]).__contains__
    if of.arn or of.name == "TableArn":
        return _is_name_or_arn
    if of.constraints == _NAME_CONSTRAINTS:
        return _is_name
    return lambda value: str.isascii(value) and fits(of, value)


def _number_test(of: Shape) -> Test:
    low = of.constraints.get("min", 0)
    high = of.constraints.get("max", 2**31 - 1)
    return lambda value: type(value) is int and low <= value <= high


def _structure_test(of: Shape) -> Test:
    required, tests = tuple(of.required), _member_tests(of)

    def test(value: dict[str, Any]) -> bool:
        for name in required:
            value[name]
        for name, inner in value.items():  # noqa: SIM110 - all() of a generator takes longer
            if not tests[name](inner):
                return False
        return True

    return test


def _list_test(of: Shape) -> Test:
    low, high = of.constraints.get("min", 0), of.constraints.get("max", 2**63)
    inner = _test_of(shape(of.of))

    def test(value: list[Any]) -> bool:
        return type(value) is list and low <= len(value) <= high and all(map(inner, value))

    return test


def _map_test(of: Shape) -> Test:
    if of.of == "AttributeValue" and not shape(of.key).constraints:
        return _is_filled
    high = of.constraints.get("max", 2**63)
    key, inner = _test_of(shape(of.key)), _test_of(shape(of.of))

    def test(value: dict[str, Any]) -> bool:
        return (
            type(value) is dict
            and 1 <= len(value) <= high
            and all(map(key, value))
            and all(map(inner, value.values()))
        )

    return test
