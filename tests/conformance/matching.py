"""Whether an answer matches what a case expects; volatile parts match patterns in the data.

A pattern is an object with one key that starts with `$`:

    {"$match": "regex"}        a string that the expression matches as a whole
    {"$type": "number"}        any number; also "string", "boolean", "object", "array"
    {"$one": [...]}            any one of these
    {"$has": {...}}            an object with at least these entries
    {"$unordered": [...]}      a list with these members in any order
    {"$violations": [...]}     the message that lists these constraint violations, in any order

Sets (SS, NS, BS) have no order, so their members always match in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

_TYPES: dict[str, type | tuple[type, ...]] = {
    "number": (int, float),
    "string": str,
    "boolean": bool,
    "object": dict,
    "array": list,
}
_SETS = {"SS", "NS", "BS"}


def mismatches(expected: Any, actual: Any, path: str = "") -> list[str]:
    """One line for each place where `actual` is not what `expected` says; empty when it fits.

    >>> mismatches({"Count": 1}, {"Count": 2, "Items": []})
    ['Count: expected 1, got 2', 'Items: unexpected, got []']
    """
    return list(_compare(expected, actual, path))


def _compare(expected: Any, actual: Any, path: str) -> Iterator[str]:
    if isinstance(expected, dict):
        wanted = cast("dict[str, Any]", expected)
        name = next(iter(wanted), "")
        if name.startswith("$"):
            if not _fits(name, wanted[name], actual):
                yield f"{path or 'answer'}: expected {_short(wanted)}, got {_short(actual)}"
        elif not isinstance(actual, dict):
            yield f"{path or 'answer'}: expected {_short(wanted)}, got {_short(actual)}"
        elif name in _SETS and len(wanted) == 1 and set(cast("dict[str, Any]", actual)) == {name}:
            members: Any = cast("dict[str, Any]", actual)[name]
            yield from _compare({"$unordered": wanted[name]}, members, f"{path}.{name}")
        else:
            yield from _compare_objects(wanted, cast("dict[str, Any]", actual), path)
    elif isinstance(expected, list):
        items = cast("list[Any]", expected)
        if not isinstance(actual, list):
            yield f"{path or 'answer'}: expected {_short(items)}, got {_short(actual)}"
            return
        got = cast("list[Any]", actual)
        if len(items) != len(got):
            yield f"{path or 'answer'}: expected {len(items)} members, got {len(got)}: {_short(got)}"
        for position, (one, other) in enumerate(zip(items, got, strict=False)):
            yield from _compare(one, other, f"{path}[{position}]")
    elif expected != actual or isinstance(expected, bool) is not isinstance(actual, bool):
        yield f"{path or 'answer'}: expected {_short(expected)}, got {_short(actual)}"


def _compare_objects(
    expected: Mapping[str, Any], actual: Mapping[str, Any], path: str
) -> Iterator[str]:
    prefix = f"{path}." if path else ""
    for name, value in expected.items():
        if name in actual:
            yield from _compare(value, actual[name], prefix + name)
        else:
            yield f"{prefix}{name}: missing, expected {_short(value)}"
    for name in actual.keys() - expected.keys():
        yield f"{prefix}{name}: unexpected, got {_short(actual[name])}"


def _fits(kind: str, argument: Any, actual: Any) -> bool:
    match kind:
        case "$match":
            return isinstance(actual, str) and re.fullmatch(argument, actual, re.DOTALL) is not None
        case "$type":
            if isinstance(actual, bool):
                return argument == "boolean"
            return isinstance(actual, _TYPES[argument])
        case "$has":
            return isinstance(actual, dict) and _has(argument, cast("dict[str, Any]", actual))
        case "$one":
            return any(not mismatches(one, actual) for one in argument)
        case "$unordered":
            return isinstance(actual, list) and _same_members(argument, cast("list[Any]", actual))
        case "$violations":
            return isinstance(actual, str) and _same_violations(argument, actual)
        case _:
            raise ValueError(f"unknown pattern {kind!r}")


def _has(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> bool:
    return all(
        name in actual and not mismatches(value, actual[name]) for name, value in expected.items()
    )


def _same_members(expected: list[Any], actual: list[Any]) -> bool:
    left = list(actual)
    for one in expected:
        for position, other in enumerate(left):
            if not mismatches(one, other):
                del left[position]
                break
        else:
            return False
    return not left


def _same_violations(expected: list[Any], message: str) -> bool:
    plural = "s" if len(expected) > 1 else ""
    prefix = f"{len(expected)} validation error{plural} detected: "
    if not message.startswith(prefix):
        return False
    return _same_members(expected, message.removeprefix(prefix).split("; "))


def _short(value: Any, limit: int = 300) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
