"""Any request, whatever it contains, passes or is refused with a service error."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keyfold.api import OPERATIONS
from keyfold.api.shapes import check, check_types
from keyfold.api.shapes._check import _check_in_full
from keyfold.api.shapes._model import Shape, input_shape, shape
from keyfold.errors import ServiceError
from tests.examples import examples

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(["", "abc", "a;", "a\ud800", "arn:", "ü", "HASH", "NONE", "YQ==", "x" * 300])
    | st.binary(max_size=3)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
ATTRIBUTE_VALUES = st.sampled_from(
    [
        {"S": "a"},
        {"N": "1"},
        {"B": "YQ=="},
        {"NULL": True},
        {"L": [{"S": "a"}]},
        {"M": {"a": {"S": "a"}}},
    ]
)


def values_of(spec: Shape, noise: st.SearchStrategy[Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a shape, some of them replaced with `noise`."""
    return noise | _right_values(spec, noise, depth) if depth else _right_values(spec, noise, depth)


def _right_values(spec: Shape, noise: st.SearchStrategy[Any], depth: int) -> st.SearchStrategy[Any]:
    if spec.name == "AttributeValue":
        return ATTRIBUTE_VALUES
    limits = spec.constraints
    match spec.type:
        case "structure":
            members = {
                name: values_of(shape(inner), noise, depth + 1)
                for name, inner in spec.members.items()
            }
            required = {name: members.pop(name) for name in sorted(spec.required)}
            return st.fixed_dictionaries(required, optional=members)
        case "list":
            return st.lists(
                values_of(shape(spec.of), noise, depth + 1),
                min_size=limits.get("min", 0),
                max_size=3,
            )
        case "map":
            keys = _right_values(shape(spec.key), noise, depth)
            return st.dictionaries(keys, values_of(shape(spec.of), noise, depth + 1), max_size=2)
        case "string" if "enum" in limits:
            return st.sampled_from(limits["enum"])
        case "string":
            return st.sampled_from(["abc", "some-name", "a.b_c"])
        case "integer" | "long":
            low = limits.get("min", 0)
            return st.integers(low, limits.get("max", low + 9))
        case "boolean":
            return st.booleans()
        case _:
            return SCALARS


def requests(noise: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, Any]]:
    return st.sampled_from(sorted(OPERATIONS)).flatmap(
        lambda name: st.tuples(st.just(name), values_of(input_shape(name), noise))
    )


@examples(150)
@given(operation=st.sampled_from(sorted(OPERATIONS)), request_body=JSON)
def test_any_json_passes_or_is_refused(operation: str, request_body: Any) -> None:
    with contextlib.suppress(ServiceError):
        check(operation, request_body)
    with contextlib.suppress(ServiceError):
        check_types(operation, request_body)


@examples(250)
@given(requests(noise=JSON))
def test_any_request_with_faults_passes_or_is_refused(case: tuple[str, Any]) -> None:
    operation, request_body = case
    with contextlib.suppress(ServiceError):
        check(operation, request_body)
    with contextlib.suppress(ServiceError):
        check_types(operation, request_body)


@examples(250)
@given(requests(noise=SCALARS))
def test_the_fast_check_passes_nothing_that_the_full_check_refuses(case: tuple[str, Any]) -> None:
    operation, request_body = case
    try:
        check(operation, request_body)
    except ServiceError:
        return
    if _values_are_objects(input_shape(operation), request_body):
        _check_in_full(operation, request_body)


def _values_are_objects(spec: Shape, value: Any) -> bool:
    # The fast check leaves attribute values of any type to the engine.
    match spec.type:
        case _ if value is None:
            return spec.name != "AttributeValue"
        case "structure" if spec.name == "AttributeValue":
            return isinstance(value, dict)
        case "structure":
            return all(
                _values_are_objects(shape(spec.members[name]), inner)
                for name, inner in value.items()
            )
        case "list":
            return all(_values_are_objects(shape(spec.of), inner) for inner in value)
        case "map":
            return all(_values_are_objects(shape(spec.of), inner) for inner in value.values())
        case _:
            return True
