"""The legacy parameters that predate expressions, translated into the same trees and plans.

Expected, QueryFilter and ScanFilter become conditions, KeyConditions a key condition,
AttributeUpdates an update, AttributesToGet a projection. They name top-level attributes only: a
dot in a name does not separate path steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyfold.errors import ValidationException
from keyfold.expressions.comparison import SET_TYPES, to_ordered, type_name
from keyfold.expressions.conditions import BoundCondition, compile_condition
from keyfold.expressions.key_conditions import (
    KeyCondition,
    KeyConstraint,
    NotIndexable,
    make_constraint,
)
from keyfold.expressions.paths import Projection
from keyfold.expressions.placeholders import NAME_TOO_LONG
from keyfold.expressions.trees import (
    And,
    Between,
    Comparator,
    Comparison,
    Condition,
    FunctionCall,
    Not,
    Or,
    Path,
)
from keyfold.expressions.updates import (
    ADDABLE_TYPES,
    UPDATE_TOO_LARGE,
    Evaluate,
    PathChange,
    UpdatePlan,
    add_to,
    delete_from,
    plan_of,
)
from keyfold.values import (
    MAX_ITEM_BYTES,
    MAX_NAME_BYTES,
    AttributeValue,
    normalise_value,
    text_size_bytes,
    value_size_bytes,
)
from keyfold.values.wording import INVALID

_TYPE_MISMATCH = "Type mismatch for attribute to update"

_COMPARATORS: dict[str, Comparator] = {
    "EQ": "=",
    "NE": "<>",
    "LT": "<",
    "LE": "<=",
    "GT": ">",
    "GE": ">=",
}
_KEY_OPERATORS = {
    "EQ": "=",
    "LT": "<",
    "LE": "<=",
    "GT": ">",
    "GE": ">=",
    "BETWEEN": "BETWEEN",
    "BEGINS_WITH": "begins_with",
}
_ARGUMENT_COUNTS = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}

_SCALARS = frozenset({"S", "N", "B"})
_ARGUMENT_TYPES = {
    "LT": _SCALARS,
    "LE": _SCALARS,
    "GT": _SCALARS,
    "GE": _SCALARS,
    "BETWEEN": _SCALARS,
    "IN": _SCALARS,
    "BEGINS_WITH": frozenset({"S", "B"}),
    "CONTAINS": _SCALARS | {"BOOL", "NULL"},
    "NOT_CONTAINS": _SCALARS | {"BOOL", "NULL"},
}


def bind_expected(
    expected: dict[str, Any], conditional_operator: str | None
) -> BoundCondition | None:
    """Translate Expected; None if it is empty.

    >>> bound = bind_expected({"a": {"Exists": False}}, None)
    >>> bound is not None and bound.holds({})
    True

    Raises ValidationException.
    """
    conditions = [_translate_expected(name, given) for name, given in expected.items()]
    return _combine(conditions, conditional_operator)


def bind_filter(
    conditions: dict[str, Any], conditional_operator: str | None
) -> BoundCondition | None:
    """Translate QueryFilter or ScanFilter; None if it is empty. Raises ValidationException."""
    translated = [
        _to_condition(Path((name,)), operator, values)
        for name, operator, values in _read_conditions(conditions)
    ]
    return _combine(translated, conditional_operator)


def check_conditional_operator(conditional_operator: str | None, count: int) -> None:
    """Raise ValidationException if ConditionalOperator has fewer than two conditions to combine."""
    if conditional_operator is None:
        return
    if not count:
        raise ValidationException("ConditionalOperator cannot be used without Filter or Expected")
    if count == 1:
        raise ValidationException(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )


def _combine(
    conditions: list[Condition], conditional_operator: str | None
) -> BoundCondition | None:
    check_conditional_operator(conditional_operator, len(conditions))
    if not conditions:
        return None
    if len(conditions) == 1:
        return compile_condition(conditions[0])
    combine = Or if conditional_operator == "OR" else And
    return compile_condition(combine(tuple(conditions)))


def bind_key_conditions(conditions: dict[str, Any]) -> KeyCondition:
    """Translate KeyConditions; raises ValidationException."""
    if not conditions:
        raise ValidationException("Conditions must be at least length 1")
    constraints: dict[str, KeyConstraint] = {}
    for name, operator, values in _read_conditions(conditions):
        key_operator = _KEY_OPERATORS.get(operator)
        constraints[name] = (
            NotIndexable(operator)
            if key_operator is None
            else make_constraint(key_operator, values)
        )
    return KeyCondition(constraints)


def bind_attributes_to_get(names: list[str]) -> Projection:
    """Translate AttributesToGet; raises ValidationException.

    >>> bind_attributes_to_get(["a", "b.c"]).apply({"a": {"N": "1"}, "b.c": {"N": "2"}})
    {'a': {'N': '1'}, 'b.c': {'N': '2'}}
    """
    seen: set[str] = set()
    for name in names:
        _check_name(name)
        if name in seen:
            raise ValidationException(f"{INVALID}Duplicate value in attribute name: {name}")
        seen.add(name)
    return Projection.of(tuple((name,) for name in names))


def bind_attribute_updates(updates: dict[str, Any]) -> UpdatePlan:
    """Translate AttributeUpdates; raises ValidationException.

    >>> plan = bind_attribute_updates({"n": {"Action": "ADD", "Value": {"N": "2"}}})
    >>> plan.apply({"n": {"N": "40"}})
    {'n': {'N': '42'}}
    """
    changes: list[PathChange] = []
    only_removes = bool(updates)
    bytes_left = MAX_ITEM_BYTES
    for name, update in updates.items():
        action, value = update.get("Action") or "PUT", update.get("Value")
        source = _translate_update(name, action, value)
        given = source({}) if action in ("PUT", "ADD") else None
        changes.append(PathChange((name,), source, given))
        if given is not None and (action == "PUT" or "N" not in given):
            bytes_left -= len(name) + value_size_bytes(given)
            if bytes_left < 0:
                # The updated item would have all of these, whatever it has now.
                raise ValidationException(UPDATE_TOO_LARGE)
        _check_name(name)
        only_removes = only_removes and action == "DELETE"
    return plan_of(tuple(changes), only_removes=only_removes)


def _translate_update(name: str, action: str, given: Any) -> Evaluate:
    if given is None:
        if action != "DELETE":
            raise ValidationException(
                f"{INVALID}Only DELETE action is allowed when no attribute value is specified"
            )
        return lambda _: None
    value, _ = normalise_value(given)
    if action == "PUT":
        return lambda _: value
    kind = type_name(value)
    if action == "ADD":
        # Unlike the ADD of an expression, this one can append a list to a list.
        if kind not in ADDABLE_TYPES and kind != "L":
            raise ValidationException(f"{INVALID}ADD action is not supported for the type {kind}")
        return lambda item: add_to(item.get(name), value, mismatch=_TYPE_MISMATCH)
    if kind not in SET_TYPES:
        raise ValidationException(
            f"{INVALID}DELETE action with value is not supported for the type {kind}"
        )
    return lambda item: delete_from(item.get(name), value, mismatch=_TYPE_MISMATCH)


def _translate_expected(name: str, given: dict[str, Any]) -> Condition:
    operator, exists = given.get("ComparisonOperator"), given.get("Exists")
    value, arguments = given.get("Value"), given.get("AttributeValueList")

    def refuse(detail: str) -> ValidationException:
        return ValidationException(f"{INVALID}{detail} for Attribute: {name}")

    if operator is not None and exists is not None:
        raise refuse("Exists and ComparisonOperator cannot be used together")
    if value is not None and arguments is not None:
        raise refuse("Value and AttributeValueList cannot be used together")
    if operator is None:
        if arguments is not None:
            raise refuse("AttributeValueList can only be used with a ComparisonOperator")
        if value is None and exists is not False:
            shown = "null" if exists is None else "true"
            raise refuse(f"Value must be provided when Exists is {shown}")
        if value is not None and exists is False:
            raise refuse("Value cannot be used when Exists is false")
        operator = "NULL" if exists is False else "EQ"
    elif value is None and arguments is None and operator not in ("NULL", "NOT_NULL"):
        raise refuse(
            f"Value or AttributeValueList must be used with ComparisonOperator: {operator}"
        )
    if arguments is None:
        arguments = [] if value is None else [value]
    values = _read_arguments(operator, arguments)
    _check_name(name)
    return _to_condition(Path((name,)), operator, values)


def _read_conditions(
    conditions: dict[str, Any],
) -> Iterator[tuple[str, str, list[AttributeValue]]]:
    for name, given in conditions.items():
        operator = given["ComparisonOperator"]
        values = _read_arguments(operator, given.get("AttributeValueList") or [])
        _check_name(name)
        yield name, operator, values


def _read_arguments(operator: str, given: list[Any]) -> list[AttributeValue]:
    """Return the arguments of a comparison, after the service's checks in its order."""
    values = [normalise_value(value)[0] for value in given]
    wanted = _ARGUMENT_COUNTS.get(operator, 1)
    if len(values) != wanted and not (operator == "IN" and values):
        raise ValidationException(
            f"{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator"
        )
    allowed = _ARGUMENT_TYPES.get(operator)
    kinds = [type_name(value) for value in values]
    for kind in kinds:
        if allowed is not None and kind not in allowed:
            raise ValidationException(
                f"{INVALID}ComparisonOperator {operator} is not valid "
                f"for {kind} AttributeValue type"
            )
        if kind != kinds[0]:
            raise ValidationException(
                f"{INVALID}AttributeValues inside AttributeValueList must be of same type"
            )
    if operator == "BETWEEN":
        low, high = (to_ordered(kinds[0], value[kinds[0]]) for value in values)
        if low > high:  # pyright: ignore[reportOperatorIssue] - both have the same type
            raise ValidationException(
                "The BETWEEN condition was provided a range where the lower bound is greater "
                "than the upper bound"
            )
    return values


def _to_condition(path: Path, operator: str, values: list[AttributeValue]) -> Condition:
    comparator = _COMPARATORS.get(operator)
    if comparator is not None:
        return Comparison(comparator, path, values[0])
    match operator:
        case "NULL":
            return FunctionCall("attribute_not_exists", (path,))
        case "NOT_NULL":
            return FunctionCall("attribute_exists", (path,))
        case "CONTAINS":
            return FunctionCall("contains", (path, values[0]))
        case "NOT_CONTAINS":
            # Unlike NE, this does not hold for an absent attribute.
            return And(
                (
                    FunctionCall("attribute_exists", (path,)),
                    Not(FunctionCall("contains", (path, values[0]))),
                )
            )
        case "BEGINS_WITH":
            return FunctionCall("begins_with", (path, values[0]))
        case "BETWEEN":
            return Between(path, values[0], values[1])
        case _:
            return Or(tuple(Comparison("=", path, value) for value in values))


def _check_name(name: str) -> None:
    if not name:
        raise ValidationException("Empty attribute name")
    if text_size_bytes(name) > MAX_NAME_BYTES:
        raise ValidationException(NAME_TOO_LONG)
