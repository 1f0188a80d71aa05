"""The fast path for the most common conditions: attributes compared with placeholders.

Conditions such as `a > :v AND b = :w` or `attribute_not_exists(#k) OR #t <= :now` are compiled once
for each text with its names, and bound to a request's values in about a microsecond. The functions
return None for every condition or value that the fast path does not handle. The caller then takes
the ordinary path, which is the only one that raises errors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple

from keyfold.errors import ValidationException
from keyfold.expressions.conditions import Predicate, check_operator_count
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.parser import CACHED_EXPRESSIONS, parse_condition
from keyfold.expressions.placeholders import MAX_PLACEHOLDER_LENGTH, Placeholders
from keyfold.expressions.trees import (
    And,
    Comparison,
    Condition,
    FunctionCall,
    Or,
    Path,
    ValuePlaceholder,
)
from keyfold.values.fast_scalars import read_fast_scalar

_ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Values = dict[str, Any]
_Bind = Callable[[Values], Predicate | None]

MAX_STRING_LENGTH = 10_000
_NO_VALUES: Values = {}


class FastCondition(NamedTuple):
    """A condition that can be bound to values without parsing it again or resolving names."""

    # Returns the predicate for unchecked values; None if one of them needs the ordinary path.
    bind: Callable[[Values], Predicate | None]
    attributes: frozenset[str]
    placeholders: frozenset[str]
    # The number of conditions that are evaluated for each item.
    weight: int


class _FastLeaf(NamedTuple):
    """One condition: an attribute, an operator, and the placeholder of the value, if any."""

    name: str
    operator: str
    value: str | None


def bind_fast_condition(text: Any, names: Any, values: Any) -> Predicate | None:
    """Return the predicate of a ConditionExpression; None if it needs the ordinary path.

    `names` and `values` are the request's placeholders, unchecked; None for those not given.

    >>> holds = bind_fast_condition("#a > :v", {"#a": "age"}, {":v": {"N": "17"}})
    >>> holds is not None and holds({"age": {"N": "18"}})
    True
    """
    try:
        condition = _compile_alone(text, None if names is None else tuple(names.items()))
    except (AttributeError, TypeError):
        # The names are not a map of strings.
        return None
    given = _NO_VALUES if values is None else values
    if (
        condition is None
        or given.__class__ is not dict
        or len(given) != len(condition.placeholders)
        or (given is values and not values)
    ):
        return None
    return condition.bind(given)


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _compile_alone(text: Any, names: tuple[tuple[str, str], ...] | None) -> FastCondition | None:
    """Compile the only expression of a request; None if it needs the ordinary path."""
    if text.__class__ is not str:
        return None
    try:
        placeholders = Placeholders(None if names is None else dict(names), None)
        condition = compile_fast_condition(text, placeholders)
        placeholders.check_all_used()
    except ValidationException:
        return None
    return condition


def compile_fast_condition(text: str, placeholders: Placeholders) -> FastCondition | None:
    """Return the condition in `text`; None if it is too complex for the fast path, or invalid.

    Only the names of `placeholders` are used: the same condition is bound to the values of many
    requests.

    >>> fast = compile_fast_condition("a > :v AND attribute_exists(b)", Placeholders(None, None))
    >>> fast is not None and sorted(fast.attributes)
    ['a', 'b']
    >>> compile_fast_condition("size(a) > :v", Placeholders(None, None)) is None
    True
    """
    leaves: list[_FastLeaf] = []
    try:
        parsed = parse_condition(text)
        check_operator_count(parsed.operator_count)
        bind = _compile(parsed.condition, placeholders, leaves)
    except ExpressionFault:
        return None
    used = frozenset(leaf.value for leaf in leaves if leaf.value is not None)
    if bind is None or any(len(placeholder) > MAX_PLACEHOLDER_LENGTH for placeholder in used):
        return None
    return FastCondition(bind, frozenset(leaf.name for leaf in leaves), used, len(leaves))


def _compile(node: Condition, placeholders: Placeholders, leaves: list[_FastLeaf]) -> _Bind | None:
    match node:
        case And(conditions):
            return _compile_joined(conditions, placeholders, leaves, _both, all)
        case Or(conditions):
            return _compile_joined(conditions, placeholders, leaves, _either, any)
        case Comparison(comparator, Path() as path, ValuePlaceholder(value)):
            leaf = _read_leaf(path, comparator, value, placeholders)
        case FunctionCall("attribute_exists" | "attribute_not_exists", (Path() as path,)):
            leaf = _read_leaf(path, node.function, None, placeholders)
        case _:
            return None
    if leaf is None:
        return None
    leaves.append(leaf)
    return partial(_bind_leaf, leaf)


def _read_leaf(
    path: Path, comparator: str, value: str | None, placeholders: Placeholders
) -> _FastLeaf | None:
    steps = placeholders.resolve(path)
    return _FastLeaf(str(steps[0]), comparator, value) if len(steps) == 1 else None


def _compile_joined(
    conditions: Sequence[Condition],
    placeholders: Placeholders,
    leaves: list[_FastLeaf],
    join_two: Callable[[Predicate, Predicate], Predicate],
    join_all: Callable[[Iterable[object]], bool],
) -> _Bind | None:
    binds: list[_Bind] = []
    for condition in conditions:
        bind = _compile(condition, placeholders, leaves)
        if bind is None:
            return None
        binds.append(bind)

    def bind_joined(values: Values) -> Predicate | None:
        predicates: list[Predicate] = []
        for bind in binds:
            predicate = bind(values)
            if predicate is None:
                return None
            predicates.append(predicate)
        if len(predicates) == 2:  # noqa: PLR2004 - the most common count: avoids a loop
            return join_two(*predicates)
        return lambda item: join_all(holds(item) for holds in predicates)

    return bind_joined


def _both(first: Predicate, second: Predicate) -> Predicate:
    return lambda item: first(item) and second(item)


def _either(first: Predicate, second: Predicate) -> Predicate:
    return lambda item: first(item) or second(item)


def _bind_leaf(leaf: _FastLeaf, values: Values) -> Predicate | None:
    name, comparator, placeholder = leaf
    if placeholder is None:
        if comparator == "attribute_exists":
            return lambda item: name in item
        return lambda item: name not in item
    value: Any = values.get(placeholder)
    if value.__class__ is not dict or len(value) != 1:
        return None
    (kind,) = value
    # Only the ordinary path checks the limit on the total size of all values. An expression has at
    # most 300 operators, so strings of this length cannot reach that limit.
    data = read_fast_scalar(kind, value, MAX_STRING_LENGTH)
    if data is None and value.get("BOOL").__class__ is not bool:
        return None
    if comparator == "=":
        return lambda item: item.get(name) == value
    if comparator == "<>":
        return lambda item: item.get(name) != value
    return None if data is None else _bind_ordering(name, _ORDERINGS[comparator], kind, data)


def _bind_ordering(
    name: str, compare: Callable[[Any, Any], bool], kind: str, data: str
) -> Predicate:
    if kind == "S":

        def text_holds(item: dict[str, Any]) -> bool:
            value = item.get(name)
            return value is not None and "S" in value and compare(value["S"], data)

        return text_holds
    bound = Decimal(data)

    def number_holds(item: dict[str, Any]) -> bool:
        value = item.get(name)
        return value is not None and "N" in value and compare(Decimal(value["N"]), bound)

    return number_holds
