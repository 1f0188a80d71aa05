"""Conditions and filters: bound to a request's values and compiled into closures.

Binding walks a tree once per request. It resolves the operands, checks them in the service's
order, node by node from the left, and returns a single callable. Evaluating that for an item does
not walk the tree again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple, assert_never

from keyfold.errors import ValidationException
from keyfold.expressions.binder import (
    Binder,
    BoundOperand,
    SizeOf,
    bind_between,
    bind_call,
    bind_comparison,
    bind_in,
)
from keyfold.expressions.comparison import (
    ORDERED_TYPES,
    are_equal,
    has_element,
    ordering_of,
    size_of,
    starts_with,
    to_ordered,
    type_name,
)
from keyfold.expressions.containment import FEW_QUESTIONS, AskedPath, ConstantList
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.parser import (
    CACHED_EXPRESSIONS,
    MAX_OPERATORS,
    parse_condition,
)
from keyfold.expressions.placeholders import NO_PLACEHOLDERS, Placeholders
from keyfold.expressions.repeated import RepeatedComparison
from keyfold.expressions.trees import (
    MIRRORED,
    And,
    Between,
    Comparator,
    Comparison,
    Condition,
    FunctionCall,
    FunctionName,
    In,
    Not,
    Or,
    Steps,
)
from keyfold.values import AttributeValue, Item

_ORDERINGS: dict[Comparator, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

# In an expression with more operands than this, a repeated comparison is made once for each item.
_FEW_OPERANDS = 16

Predicate = Callable[[Item], bool]
Reader = Callable[[Item], AttributeValue | None]


class BoundCondition(NamedTuple):
    """A condition that can be evaluated for items; pass `{}` for an absent item."""

    holds: Predicate
    paths: tuple[Steps, ...]
    """Every path that it mentions."""
    weight: int = 0
    """The number of operands that are evaluated for each item; 0 if only a few are."""

    @property
    def attributes(self) -> frozenset[str]:
        """The top-level attributes that it mentions."""
        return frozenset(str(path[0]) for path in self.paths)


def bind_condition(
    text: str,
    placeholders: Placeholders,
    *,
    kind: Literal["ConditionExpression", "FilterExpression"],
) -> BoundCondition:
    """Parse `text`, bind it to the request's placeholders and compile it.

    >>> placeholders = Placeholders(None, {":n": {"N": "2"}})
    >>> bound = bind_condition("size(tags) >= :n", placeholders, kind="FilterExpression")
    >>> bound.holds({"tags": {"SS": ["a", "b"]}}), bound.holds({})
    (True, False)

    Raises ValidationException.
    """
    try:
        parsed = parse_condition(text)
        check_operator_count(parsed.operator_count)
        if not parsed.has_placeholders:
            return _compile_constant(text)
        return compile_condition(parsed.condition, placeholders)
    except ExpressionFault as fault:
        raise fault.to_service_error(kind) from None


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _compile_constant(text: str) -> BoundCondition:
    """Compile a condition that is the same for every request, such as `attribute_exists(pk)`."""
    return compile_condition(parse_condition(text).condition)


def compile_condition(
    condition: Condition, placeholders: Placeholders = NO_PLACEHOLDERS
) -> BoundCondition:
    """Bind a tree to the placeholders and compile it; raises ExpressionFault."""
    binder = Binder(placeholders)
    holds = _compile(condition, binder)
    indexed = [each for each in binder.asked.values() if each.calls > FEW_QUESTIONS]
    if indexed or binder.repeated:
        holds = _forgetting(holds, [*indexed, *binder.repeated.values()])
    return BoundCondition(holds, tuple(binder.paths), binder.bound)


def _forgetting(holds: Predicate, asked: list[AskedPath | RepeatedComparison]) -> Predicate:
    def holds_and_forgets(item: Item) -> bool:
        try:
            return holds(item)
        finally:
            # A condition may be cached, and must not keep an item's lists.
            for each in asked:
                each.forget()

    return holds_and_forgets


def check_operator_count(count: int) -> None:
    """Raise ExpressionFault for an expression with too many operators and functions."""
    if count > MAX_OPERATORS:
        # The service stops counting at the first operator over the limit.
        raise ExpressionFault(
            f"The expression contains too many operators; operator count: {MAX_OPERATORS + 1}"
        )


def check_filter_keys(
    bound: BoundCondition,
    key_names: Iterable[str],
    kind: Literal["FilterExpression", "QueryFilter"],
) -> None:
    """Raise ValidationException if a query's filter mentions an attribute of the queried key."""
    attributes = bound.attributes
    for name in key_names:
        if name in attributes:
            shown = "Filter Expression" if kind == "FilterExpression" else kind
            raise ValidationException(
                f"{shown} can only contain non-primary key attributes: "
                f"Primary key attribute: {name}"
            )


def _compile(node: Condition, binder: Binder) -> Predicate:
    match node:
        case Comparison():
            return _compile_comparison(node.comparator, *bind_comparison(node, binder), binder)
        case And():
            return _all_of([_compile(condition, binder) for condition in node.conditions])
        case FunctionCall():
            operands = bind_call(node, binder)
            if node.function == "contains":
                return _compile_contains(operands, binder)
            return _compile_call(node.function, operands)
        case Between():
            return _compile_between(*bind_between(node, binder))
        case In():
            return _compile_in(*bind_in(node, binder), binder)
        case Or(conditions):
            return _any_of([_compile(condition, binder) for condition in conditions])
        case Not(condition):
            return _negated(_compile(condition, binder))
        case _:
            assert_never(node)


def _all_of(predicates: list[Predicate]) -> Predicate:
    if len(predicates) == 2:  # noqa: PLR2004 - by far the most common count: avoids a loop
        first, second = predicates
        return lambda item: first(item) and second(item)
    return lambda item: all(holds(item) for holds in predicates)


def _any_of(predicates: list[Predicate]) -> Predicate:
    if len(predicates) == 1:
        return predicates[0]
    return lambda item: any(holds(item) for holds in predicates)


def _negated(holds: Predicate) -> Predicate:
    return lambda item: not holds(item)


def _compile_comparison(
    comparator: Comparator, left: BoundOperand, right: BoundOperand, binder: Binder
) -> Predicate:
    if isinstance(left, dict) and not isinstance(right, dict):
        left, right, comparator = right, left, MIRRORED[comparator]
    if comparator == "=":
        return _compile_equality(left, right, binder)
    if comparator == "<>":
        return _negated(_compile_equality(left, right, binder))
    return _compile_ordering(_ORDERINGS[comparator], left, right)


def _compile_equality(left: BoundOperand, right: BoundOperand, binder: Binder) -> Predicate:
    if binder.bound <= _FEW_OPERANDS:
        return _compile_equality_once(left, right, binder)
    # An operand that is neither is an object of its own, and the comparison is not repeated.
    first, second = (each if isinstance(each, tuple) else id(each) for each in (left, right))
    repeated = binder.repeated.get((first, second))
    if repeated is None:
        repeated = RepeatedComparison(_compile_equality_once(left, right, binder))
        binder.repeated[first, second] = repeated
    return repeated.holds


def _compile_equality_once(left: BoundOperand, right: BoundOperand, binder: Binder) -> Predicate:
    if isinstance(right, dict) and not binder.has_set(right):
        if isinstance(left, tuple) and len(left) == 1:
            name: Any = left[0]
            return lambda item: item.get(name) == right
        read = reader(left)
        return lambda item: read(item) == right
    read_left, read_right = reader(left), reader(right)

    def holds(item: Item) -> bool:
        mine, theirs = read_left(item), read_right(item)
        # An absent attribute equals nothing, not even another absent attribute.
        return mine is not None and theirs is not None and are_equal(mine, theirs)

    return holds


def _compile_in(value: BoundOperand, options: list[BoundOperand], binder: Binder) -> Predicate:
    if len(options) > _FEW_OPERANDS:
        # The same placeholder is the same object.
        options = list({id(option): option for option in options}.values())
    if all(isinstance(option, dict) and not binder.has_set(option) for option in options):
        read = reader(value)
        return lambda item: read(item) in options
    return _any_of([_compile_equality(value, option, binder) for option in options])


def _compile_ordering(
    compare: Callable[[Any, Any], bool], left: BoundOperand, right: BoundOperand
) -> Predicate:
    read_left = reader(left)
    if not isinstance(right, dict):
        read_right = reader(right)
        return lambda item: _is_ordered(compare, read_left(item), read_right(item))
    kind = type_name(right)
    convert = ordering_of(kind)
    bound = convert(right[kind])
    if isinstance(left, tuple) and len(left) == 1:
        name: Any = left[0]

        def attribute_holds(item: Item) -> bool:
            value = item.get(name)
            return value is not None and kind in value and compare(convert(value[kind]), bound)

        return attribute_holds

    def holds(item: Item) -> bool:
        value = read_left(item)
        return value is not None and kind in value and compare(convert(value[kind]), bound)

    return holds


def _is_ordered(
    compare: Callable[[Any, Any], bool],
    left: AttributeValue | None,
    right: AttributeValue | None,
) -> bool:
    if left is None or right is None:
        return False
    kind = type_name(left)
    return (
        kind in ORDERED_TYPES
        and kind in right
        and compare(to_ordered(kind, left[kind]), to_ordered(kind, right[kind]))
    )


def _compile_between(value: BoundOperand, low: BoundOperand, high: BoundOperand) -> Predicate:
    return _all_of(
        [
            _compile_ordering(operator.ge, value, low),
            _compile_ordering(operator.le, value, high),
        ]
    )


def _compile_call(function: FunctionName, operands: list[BoundOperand]) -> Predicate:
    read = reader(operands[0])
    match function:
        case "attribute_exists":
            return lambda item: read(item) is not None
        case "attribute_not_exists":
            return lambda item: read(item) is None
        case "attribute_type":
            kind: str = operands[1]["S"]  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue, reportUnknownVariableType] - bind_call has checked that it is a string
            return lambda item: kind in (read(item) or ())
        case "begins_with":
            return _relation(starts_with, read, reader(operands[1]))
        case "contains" | "size" | "if_not_exists" | "list_append":
            # The parser rejects the others as conditions.
            raise AssertionError(function)
        case _:
            assert_never(function)


def _compile_contains(operands: list[BoundOperand], binder: Binder) -> Predicate:
    container, element = operands
    read_element = reader(element)
    if isinstance(container, dict) and "L" in container:
        elements = container["L"]
        # Calls with the same placeholder share the same list.
        constant = binder.lists.get(id(elements))
        if constant is None:
            constant = binder.lists[id(elements)] = ConstantList(elements)
        has = constant.has

        def constant_holds(item: Item) -> bool:
            sought = read_element(item)
            return sought is not None and has(sought)

        return constant_holds
    if not isinstance(container, tuple):
        return _relation(has_element, reader(container), read_element)
    asked = binder.asked.setdefault(container, AskedPath())
    asked.calls += 1
    return _relation(asked.has, reader(container), read_element)


def _relation(
    relates: Callable[[AttributeValue, AttributeValue], bool],
    read_left: Reader,
    read_right: Reader,
) -> Predicate:
    def holds(item: Item) -> bool:
        left, right = read_left(item), read_right(item)
        return left is not None and right is not None and relates(left, right)

    return holds


def reader(operand: BoundOperand) -> Reader:
    """Return a function from an item to the operand's value, or to None if it has none."""
    if isinstance(operand, dict):
        return lambda _: operand
    if isinstance(operand, SizeOf):
        read = path_reader(operand.steps)

        def read_size(item: Item) -> AttributeValue | None:
            size = size_of(read(item))
            return None if size is None else {"N": str(size)}

        return read_size
    return path_reader(operand)


def path_reader(steps: Steps) -> Reader:
    """Return a function from an item to the value at a path, or to None if there is none."""
    name: Any = steps[0]
    inner = steps[1:]
    if not inner:
        return lambda item: item.get(name)

    def read(item: Item) -> AttributeValue | None:
        value = item.get(name)
        for step in inner:
            if value is None:
                return None
            if isinstance(step, str):
                members = value.get("M")
                value = None if members is None else members.get(step)
            else:
                elements = value.get("L")
                value = None if elements is None or step >= len(elements) else elements[step]
        return value

    return read
