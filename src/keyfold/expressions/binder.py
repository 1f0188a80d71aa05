"""Binding: resolves the operands of conditions against a request, and checks their types.

Everything here raises ExpressionFault with the service's wording. An operand is checked only as
far as is possible without an item: the type of the value at a path is not known yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import assert_never

from keyfold.expressions.comparison import (
    ORDERED_TYPES,
    TEXT_TYPES,
    contains_set,
    show_value,
    size_of,
    to_ordered,
    type_name,
)
from keyfold.expressions.containment import AskedPath, ConstantList
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.repeated import RepeatedComparison
from keyfold.expressions.trees import (
    Between,
    Comparison,
    FunctionCall,
    In,
    Operand,
    Path,
    Steps,
    ValuePlaceholder,
    show_path,
)
from keyfold.values import AttributeValue

MAX_OPTIONS = 100

_ATTRIBUTE_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"})
# The order in which the service lists them varies.
_SHOWN_TYPES = "{N,BS,L,B,NULL,M,S,SS,NS,BOOL}"

_OPERAND_COUNTS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}


@dataclass(frozen=True, slots=True)
class SizeOf:
    """The bound operand `size(path)`."""

    steps: Steps


BoundOperand = Steps | AttributeValue | SizeOf
"""A path to look up, a value, or the size of the value at a path."""


class Binder:
    """Resolves the operands of one request, and collects the paths among them."""

    __slots__ = ("_placeholders", "_with_sets", "asked", "bound", "lists", "paths", "repeated")

    def __init__(self, placeholders: Placeholders) -> None:
        self._placeholders = placeholders
        self.paths: list[Steps] = []
        # By identity; the values are held, so that no other gets it.
        self._with_sets: dict[int, tuple[AttributeValue, bool]] = {}
        # The number of operands.
        self.bound = 0
        # The paths that `contains` asks for elements.
        self.asked: dict[Steps, AskedPath] = {}
        # The lists of the request that `contains` asks for elements, by their identity.
        self.lists: dict[int, ConstantList] = {}
        # Comparisons of a long expression: paths by their steps, and values by their identity.
        self.repeated: dict[tuple[Steps | int, Steps | int], RepeatedComparison] = {}

    def bind(self, operand: Operand) -> BoundOperand:
        """Return the path or value of `operand`, with placeholders replaced; raises ExpressionFault."""
        self.bound += 1
        if isinstance(operand, Path):
            steps = self._placeholders.resolve(operand)
            self.paths.append(steps)
            return steps
        if isinstance(operand, ValuePlaceholder):
            return self._placeholders.value(operand.name)
        if isinstance(operand, FunctionCall):
            return self._bind_size(operand)
        assert isinstance(operand, dict), operand  # the printer has resolved deferred values
        return operand

    def has_set(self, value: AttributeValue) -> bool:
        """Return whether a bound value is or contains a set, which `==` cannot compare.

        A value is walked once, although hundreds of operators may use it.
        """
        known = self._with_sets.get(id(value))
        if known is None:
            known = self._with_sets[id(value)] = (value, contains_set(value))
        return known[1]

    def bind_all(self, operands: tuple[Operand, ...]) -> list[BoundOperand]:
        """Return the paths and values of `operands`; raises ExpressionFault."""
        return [self.bind(operand) for operand in operands]

    def _bind_size(self, call: FunctionCall) -> BoundOperand:
        if any(isinstance(operand, FunctionCall) for operand in call.operands):
            # A size is a number, which has no size. Raising here, without binding the inner call,
            # avoids deep recursion for hundreds of nested calls.
            raise incorrect_operand("size", "N")
        (operand,) = check_operand_count(call.function, self.bind_all(call.operands))
        if isinstance(operand, dict):
            size = size_of(operand)
            if size is None:
                raise incorrect_operand("size", type_name(operand))
            return {"N": str(size)}
        assert isinstance(operand, tuple)
        return SizeOf(operand)


def check_operand_count(function: str, operands: list[BoundOperand]) -> list[BoundOperand]:
    """Return `operands` if `function` takes that many; raises ExpressionFault."""
    if len(operands) != _OPERAND_COUNTS[function]:
        raise ExpressionFault(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {function}, number of operands: {len(operands)}"
        )
    return operands


def incorrect_operand(function: str, kind: str) -> ExpressionFault:
    """Return the fault for an operand type that an operator or function does not accept."""
    return ExpressionFault(
        "Incorrect operand type for operator or function; "
        f"operator or function: {function}, operand type: {kind}"
    )


def check_types(function: str, operands: Iterable[BoundOperand], allowed: frozenset[str]) -> None:
    """Check the types of values and sizes; raises ExpressionFault. Paths have no type yet."""
    for operand in operands:
        if isinstance(operand, dict):
            kind = type_name(operand)
        elif isinstance(operand, SizeOf):
            kind = "N"
        else:
            continue
        if kind not in allowed:
            raise incorrect_operand(function, kind)


def check_distinct(function: str, first: BoundOperand, others: Collection[BoundOperand]) -> None:
    """Raise ExpressionFault if an operator compares a path with itself."""
    if isinstance(first, tuple) and first in others:
        raise ExpressionFault(
            "The first operand must be distinct from the remaining operands for this operator "
            f"or function; operator: {function}, first operand: {show_path(first)}"
        )


def check_bounds(low: BoundOperand, high: BoundOperand) -> None:
    """Raise ExpressionFault for invalid bounds of BETWEEN, if both are values."""
    if not (isinstance(low, dict) and isinstance(high, dict)):
        return
    kind = type_name(low)
    if kind not in high:
        requirement = "same data type for lower and upper bounds"
    elif to_ordered(kind, low[kind]) > to_ordered(kind, high[kind]):  # pyright: ignore[reportOperatorIssue] - both have the same type
        requirement = "upper bound to be greater than or equal to lower bound"
    else:
        return
    raise ExpressionFault(
        f"The BETWEEN operator requires {requirement}; lower bound operand: {show_value(low)}, "
        f"upper bound operand: {show_value(high)}"
    )


def bind_comparison(node: Comparison, binder: Binder) -> tuple[BoundOperand, BoundOperand]:
    """Bind and check the operands of a comparison; raises ExpressionFault."""
    left, right = binder.bind(node.left), binder.bind(node.right)
    if node.comparator not in ("=", "<>"):
        check_types(node.comparator, (left, right), ORDERED_TYPES)
    check_distinct(node.comparator, left, (right,))
    return left, right


def bind_between(node: Between, binder: Binder) -> tuple[BoundOperand, BoundOperand, BoundOperand]:
    """Bind and check the operands of BETWEEN; raises ExpressionFault."""
    value, low, high = binder.bind(node.value), binder.bind(node.low), binder.bind(node.high)
    check_types("BETWEEN", (value, low, high), ORDERED_TYPES)
    check_bounds(low, high)
    check_distinct("BETWEEN", value, (low, high))
    return value, low, high


def bind_in(node: In, binder: Binder) -> tuple[BoundOperand, list[BoundOperand]]:
    """Bind and check the operands of IN; raises ExpressionFault."""
    value = binder.bind(node.value)
    options = binder.bind_all(node.options)
    if len(options) > MAX_OPTIONS:
        raise ExpressionFault(
            "The IN operator is provided with too many operands; "
            f"number of operands: {len(options)}"
        )
    check_distinct("IN", value, options)
    return value, options


def bind_call(node: FunctionCall, binder: Binder) -> list[BoundOperand]:
    """Bind and check the operands of a function used as a condition; raises ExpressionFault."""
    function = node.function
    operands = check_operand_count(function, binder.bind_all(node.operands))
    match function:
        case "attribute_exists" | "attribute_not_exists":
            if not isinstance(operands[0], tuple):
                raise ExpressionFault(
                    "Operator or function requires a document path; "
                    f"operator or function: {function}"
                )
        case "attribute_type":
            check_distinct(function, operands[0], operands[1:])
            _check_type_name(operands[1])
        case "begins_with":
            check_types(function, operands, TEXT_TYPES)
            check_distinct(function, operands[0], operands[1:])
        case "contains":
            check_distinct(function, operands[0], operands[1:])
        case "size" | "if_not_exists" | "list_append":
            raise AssertionError(function)  # the parser rejects them as conditions
        case _:
            assert_never(function)
    return operands


def _check_type_name(operand: BoundOperand) -> None:
    if not isinstance(operand, dict):
        kind = "N" if isinstance(operand, SizeOf) else _SHOWN_TYPES
        raise incorrect_operand("attribute_type", kind)
    if "S" not in operand:
        raise incorrect_operand("attribute_type", type_name(operand))
    if operand["S"] not in _ATTRIBUTE_TYPES:
        raise ExpressionFault(
            f"Invalid attribute type name found; type: {operand['S']}, valid types: {_SHOWN_TYPES}"
        )
