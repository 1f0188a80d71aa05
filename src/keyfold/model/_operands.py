"""Python values as operands of expressions, and conditions checked against their entity."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from functools import partial
from typing import Any

from keyfold.errors import QueryInvalid
from keyfold.expressions import (
    Action,
    Comparison,
    Condition,
    DeferredValue,
    FunctionCall,
    Path,
    paths_in,
)
from keyfold.expressions.trees import check_is_condition
from keyfold.model._moments import has_moment, resolve_moments
from keyfold.values import AttributeValue

Encode = Callable[[Any], AttributeValue]
Literal = AttributeValue | DeferredValue
"""A value in an expression: encoded, or to be encoded when the request runs."""


def to_literal(value: Any, encode: Encode) -> Literal:
    """Return a value as an operand, encoded now: later changes to the object have no effect.

    A value that holds a Moment is encoded when the request runs.
    """
    if has_moment(value):
        return DeferredValue(deepcopy(value), partial(_encode_at, encode))
    return encode(value)


def _encode_at(encode: Encode, value: Any, now: datetime) -> AttributeValue:
    return encode(resolve_moments(value, now))


def check_condition(condition: object, entity: str | None = None) -> Condition:
    """Return a condition if it is one, on the fields of `entity`; raises QueryInvalid."""
    checked = check_is_condition(condition)
    if entity is not None:
        for path in paths_in(checked):
            if path.owner not in (None, entity):
                fact = f"{path} is a field of {path.owner}, but the request is for {entity}"
                raise QueryInvalid("where()", fact, f"Use {entity}.f.")
    return checked


def is_stored_as(path: Path, value: AttributeValue | None) -> Condition:
    """Return the condition that an attribute has a stored value; None: that it does not exist."""
    if value is None:
        return FunctionCall("attribute_not_exists", (path,))
    return Comparison("=", path, value)


def attributes_in(*nodes: Condition | Action) -> set[str]:
    """Return the stored names of the attributes that conditions or actions mention."""
    return {str(path.steps[0]) for node in nodes for path in paths_in(node)}
