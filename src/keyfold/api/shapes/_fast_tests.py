"""The tests of the fast check, which passes only requests that are certainly valid.

The tests are C functions where possible. For anything they do not handle (a value of an unexpected
type, an unknown member, an empty map), they raise or return a false value, and the full check
decides.
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
# Raises TypeError for anything but a dict.
_is_nonempty_dict: Test = dict[str, Any].__len__
_NAME_CONSTRAINTS = {"min": 3, "max": 255, "pattern": "[a-zA-Z0-9_.-]+"}


class _FastTests(dict[str, Tests]):
    """The required members and the tests of all members of each operation, built on first use."""

    def __missing__(self, operation: str) -> Tests:
        spec = input_shape(operation)
        tests = self[operation] = (tuple(spec.required), _member_tests(spec))
        return tests


fast_tests = _FastTests()


def _member_tests(spec: Shape) -> dict[str, Test]:
    return {name: _test_of(shape(inner)) for name, inner in spec.members.items()}


def _test_of(spec: Shape) -> Test:
    match spec.type:
        case "string":
            return _text_test(spec)
        case "boolean":
            return _is_boolean
        case "integer" | "long":
            return _number_test(spec)
        case "structure":
            return _is_nonempty_dict if spec.name == "AttributeValue" else _structure_test(spec)
        case "list":
            return _list_test(spec)
        case "map":
            return _map_test(spec)
        case "double" | "timestamp" | "blob":
            return _never


def _never(_: object) -> bool:
    return False


def _is_boolean(value: object) -> bool:
    return value is True or value is False


def _text_test(spec: Shape) -> Test:
    if not spec.constraints:
        return str.isascii
    if "enum" in spec.constraints:
        return frozenset(spec.constraints["enum"]).__contains__
    if spec.arn or spec.name == "TableArn":
        return _is_name_or_arn
    if spec.constraints == _NAME_CONSTRAINTS:
        return _is_name
    return lambda value: str.isascii(value) and fits(spec, value)


def _number_test(spec: Shape) -> Test:
    low = spec.constraints.get("min", 0)
    high = spec.constraints.get("max", 2**31 - 1)
    return lambda value: type(value) is int and low <= value <= high


def _structure_test(spec: Shape) -> Test:
    required, tests = tuple(spec.required), _member_tests(spec)

    def test(value: dict[str, Any]) -> bool:
        for name in required:
            value[name]
        for name, inner in value.items():  # noqa: SIM110 - all() with a generator is slower
            if not tests[name](inner):
                return False
        return True

    return test


def _list_test(spec: Shape) -> Test:
    low, high = spec.constraints.get("min", 0), spec.constraints.get("max", 2**63)
    inner = _test_of(shape(spec.of))

    def test(value: list[Any]) -> bool:
        return type(value) is list and low <= len(value) <= high and all(map(inner, value))

    return test


def _map_test(spec: Shape) -> Test:
    if spec.of == "AttributeValue" and not shape(spec.key).constraints:
        return _is_nonempty_dict
    high = spec.constraints.get("max", 2**63)
    key, inner = _test_of(shape(spec.key)), _test_of(shape(spec.of))

    def test(value: dict[str, Any]) -> bool:
        return (
            type(value) is dict
            and 1 <= len(value) <= high
            and all(map(key, value))
            and all(map(inner, value.values()))
        )

    return test
