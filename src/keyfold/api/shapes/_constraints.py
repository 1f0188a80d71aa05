"""The second gate: the constraints of the API's model, worded as the service words them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from keyfold.api.shapes._java import member_path, render_json, render_value, reported_order
from keyfold.api.shapes._model import Shape, shape
from keyfold.errors import ValidationException

REPORTED_AT_MOST = 10
NOT_NULL = "Member must not be null"
PATTERN = "Member must satisfy regular expression pattern"


def detected(failures: Iterable[str]) -> ValidationException | None:
    """The one error that lists the failures, or None when there are none."""
    found = list(islice(failures, REPORTED_AT_MOST))
    if not found:
        return None
    errors = "error" if len(found) == 1 else "errors"
    return ValidationException(f"{len(found)} validation {errors} detected: {'; '.join(found)}")


def failure(path: str, value: str, constraint: str) -> str:
    """One entry of the list: what was received, where, and which constraint it breaks."""
    return f"Value {value} at '{path}' failed to satisfy constraint: {constraint}"


def find_failures(of: Shape, value: Any, path: str = "", raw: str = "") -> Iterator[str]:
    """Every constraint that `value` breaks, in the order in which the service reports them.

    `path` is where the value stands, `raw` the same with the members' own capitals. Attribute
    values are not looked into, nor missed where one is null: the model has no constraints on
    them.
    """
    broken = [
        _describe(name, limit, of)
        for name, limit in of.constraints.items()
        if not _satisfies(of, name, limit, value)
    ]
    if broken and of.terse:
        yield from (f"Value at '{raw}' failed to satisfy constraint: {what}" for what in broken)
    elif broken:
        received = f"'{render_value(of, value)}'"
        yield from (failure(path, received, what) for what in broken)
    match of.type:
        case "structure" if of.name != "AttributeValue":
            for name in member_order(of.name):
                inner = value.get(name)
                at, raw_at = _join(path, member_path(name)), _join(raw, name)
                if inner is not None:
                    yield from find_failures(shape(of.members[name]), inner, at, raw_at)
                elif name in of.required:
                    yield failure(at, "null", NOT_NULL)
        case "list" if of.of != "AttributeValue":
            element = shape(of.of)
            for position, inner in enumerate(value, start=1):
                at, raw_at = f"{path}.{position}.member", f"{raw}.{position}.member"
                yield from _find_inside(element, inner, at, raw_at)
        case "map":
            yield from _find_in_map(of, value, path, raw)
        case _:
            pass


def _find_in_map(of: Shape, value: dict[str, Any], path: str, raw: str) -> Iterator[str]:
    element = shape(of.of)
    if about_keys := map_keys_failure(of, shape(of.key), value, path):
        yield about_keys
    # Members of a structure are reported where they stand; anything else by the whole map.
    if element.constraints and not all(
        inner is None or fits(element, inner) for inner in value.values()
    ):
        what = f"Map value must satisfy constraint: {_all_of(element)}"
        yield failure(path, _echo(of, value), what)
    if of.of != "AttributeValue":
        bare = _without_constraints(of.of)
        for name, inner in value.items():
            at, raw_at = f"{path}.{name}.member", f"{raw}.{name}.member"
            yield from _find_inside(bare, inner, at, raw_at)


def _find_inside(element: Shape, inner: Any, path: str, raw: str) -> Iterator[str]:
    if inner is None:
        yield failure(path, "null", NOT_NULL)
    else:
        yield from find_failures(element, inner, path, raw)


def map_keys_failure(of: Shape, key: Shape, value: dict[str, Any], path: str) -> str | None:
    """What is wrong with the keys of a map, if they are held to the shape `key`."""
    if all(fits(key, name) for name in value):
        return None
    return failure(path, _echo(of, value), f"Map keys must satisfy constraint: {_all_of(key)}")


@cache
def member_order(name: str) -> tuple[str, ...]:
    """The members of a structure in the order in which their faults are reported."""
    return tuple(reported_order(shape(name).members))


def fits(of: Shape, value: Any) -> bool:
    """Whether `value` satisfies the constraints of its own shape, leaving out what is inside."""
    return all(_satisfies(of, name, limit, value) for name, limit in of.constraints.items())


def _satisfies(of: Shape, constraint: str, limit: Any, value: Any) -> bool:
    if of.arn and value.startswith("arn:"):
        return True
    match constraint:
        case "enum":
            return value in limit
        case "pattern":
            return re.fullmatch(limit, value) is not None
        case "min":
            return (value if of.type in {"integer", "long"} else len(value)) >= limit
        case _:
            return (value if of.type in {"integer", "long"} else len(value)) <= limit


def _describe(constraint: str, limit: Any, of: Shape) -> str:
    match constraint:
        case "enum":
            return f"Member must satisfy enum value set: [{', '.join(limit)}]"
        case "pattern":
            return f"{PATTERN}: {limit}"
        case _:
            measure = "value" if of.type in {"integer", "long"} else "length"
            relation = "greater" if constraint == "min" else "less"
            return f"Member must have {measure} {relation} than or equal to {limit}"


def _all_of(of: Shape) -> str:
    order = sorted(of.constraints, key=("max", "min", "pattern", "enum").index)
    return f"[{', '.join(_describe(name, of.constraints[name], of) for name in order)}]"


@cache
def _without_constraints(name: str) -> Shape:
    of = shape(name)
    return Shape(of.name, of.type, of.members, of.required, of.of, of.key)


def _echo(of: Shape, value: dict[str, Any]) -> str:
    return f"'{render_json(of, value) if of.terse else render_value(of, value)}'"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
