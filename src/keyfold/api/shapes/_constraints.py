"""The second stage: the constraints of the API's model, reported with the service's wording."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from keyfold.api.shapes._java import member_path, render_json, render_value, reported_order
from keyfold.api.shapes._model import Shape, shape
from keyfold.errors import ValidationException

MAX_REPORTED = 10
NOT_NULL = "Member must not be null"
# Buckets: as the service writes it, a name of a thousand letters and a mistake would take seconds.
_LINEAR = {
    r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$": r"[a-z0-9A-Z][.\-\w]++(?<=[a-z0-9A-Z])",
}
PATTERN = "Member must satisfy regular expression pattern"


def failures_error(failures: Iterable[str]) -> ValidationException | None:
    """Return the error that lists the first ten failures, or None if there are none."""
    found = list(islice(failures, MAX_REPORTED))
    if not found:
        return None
    errors = "error" if len(found) == 1 else "errors"
    return ValidationException(f"{len(found)} validation {errors} detected: {'; '.join(found)}")


def terse_message(member: str, measure: str, least: int) -> str:
    """Return the error for a member that is too short, as the current validation words it."""
    limit = f"{measure} greater than or equal to {least}"
    return f"1 validation error detected: Value at '{member}' failed to satisfy constraint: {limit}"


def failure(path: str, value: str, constraint: str) -> str:
    """Return one entry of the list: the value, its path, and the constraint it breaks."""
    return f"Value {value} at '{path}' failed to satisfy constraint: {constraint}"


def find_failures(spec: Shape, value: Any, path: str = "", raw: str = "") -> Iterator[str]:
    """Yield a message for each constraint that `value` breaks, in the service's order.

    `path` is the path of the value with lower-case member names, `raw` the path with the original
    ones. Attribute values are neither checked nor reported if null: the model has no constraints
    on them.
    """
    broken = [
        _describe(name, limit, spec)
        for name, limit in spec.constraints.items()
        if not _satisfies(spec, name, limit, value)
    ]
    if broken and spec.terse:
        yield from (f"Value at '{raw}' failed to satisfy constraint: {what}" for what in broken)
    elif broken:
        received = f"'{render_value(spec, value)}'"
        yield from (failure(path, received, what) for what in broken)
    match spec.type:
        case "structure" if spec.name != "AttributeValue":
            for name in member_order(spec.name):
                inner = value.get(name)
                at, raw_at = _join(path, member_path(name)), _join(raw, name)
                if inner is not None:
                    yield from find_failures(shape(spec.members[name]), inner, at, raw_at)
                elif name in spec.required:
                    yield failure(at, "null", NOT_NULL)
        case "list" if spec.of != "AttributeValue":
            element = shape(spec.of)
            for position, inner in enumerate(value, start=1):
                at, raw_at = f"{path}.{position}.member", f"{raw}.{position}.member"
                yield from _find_inside(element, inner, at, raw_at)
        case "map":
            yield from _find_in_map(spec, value, path, raw)
        case _:
            pass


def _find_in_map(spec: Shape, value: dict[str, Any], path: str, raw: str) -> Iterator[str]:
    element = shape(spec.of)
    if about_keys := map_keys_failure(spec, shape(spec.key), value, path):
        yield about_keys
    # Failures inside structures are reported with their own paths, all others for the whole map.
    if element.constraints and not all(
        inner is None or fits(element, inner) for inner in value.values()
    ):
        what = f"Map value must satisfy constraint: {_describe_all(element)}"
        yield failure(path, _echo(spec, value), what)
    if spec.of != "AttributeValue":
        unconstrained = _without_constraints(spec.of)
        for name, inner in value.items():
            at, raw_at = f"{path}.{name}.member", f"{raw}.{name}.member"
            yield from _find_inside(unconstrained, inner, at, raw_at)


def _find_inside(element: Shape, inner: Any, path: str, raw: str) -> Iterator[str]:
    if inner is None:
        yield failure(path, "null", NOT_NULL)
    else:
        yield from find_failures(element, inner, path, raw)


def map_keys_failure(spec: Shape, key: Shape, value: dict[str, Any], path: str) -> str | None:
    """Return the failure for map keys that break the constraints of `key`, or None."""
    if all(fits(key, name) for name in value):
        return None
    return failure(
        path, _echo(spec, value), f"Map keys must satisfy constraint: {_describe_all(key)}"
    )


@cache
def member_order(name: str) -> tuple[str, ...]:
    """Return the members of a structure in the order in which their failures are reported."""
    return tuple(reported_order(shape(name).members))


def fits(spec: Shape, value: Any) -> bool:
    """Return whether `value` satisfies the constraints of its shape, ignoring nested values."""
    return all(_satisfies(spec, name, limit, value) for name, limit in spec.constraints.items())


def find_linear(pattern: str) -> str:
    """Return a pattern that matches the same texts as one of the service's, in linear time."""
    return _LINEAR.get(pattern, pattern)


def _satisfies(spec: Shape, constraint: str, limit: Any, value: Any) -> bool:
    if spec.arn and value.startswith("arn:"):
        return True
    match constraint:
        case "enum":
            return value in limit
        case "pattern":
            return re.fullmatch(find_linear(limit), value) is not None
        case "min":
            return (value if spec.type in {"integer", "long"} else len(value)) >= limit
        case _:
            return (value if spec.type in {"integer", "long"} else len(value)) <= limit


def _describe(constraint: str, limit: Any, spec: Shape) -> str:
    match constraint:
        case "enum":
            return f"Member must satisfy enum value set: [{', '.join(limit)}]"
        case "pattern":
            return f"{PATTERN}: {limit}"
        case _:
            measure = "value" if spec.type in {"integer", "long"} else "length"
            relation = "greater" if constraint == "min" else "less"
            return f"Member must have {measure} {relation} than or equal to {limit}"


def _describe_all(spec: Shape) -> str:
    order = sorted(spec.constraints, key=("max", "min", "pattern", "enum").index)
    return f"[{', '.join(_describe(name, spec.constraints[name], spec) for name in order)}]"


@cache
def _without_constraints(name: str) -> Shape:
    spec = shape(name)
    return Shape(spec.name, spec.type, spec.members, spec.required, spec.of, spec.key)


def _echo(spec: Shape, value: dict[str, Any]) -> str:
    return f"'{render_json(spec, value) if spec.terse else render_value(spec, value)}'"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
