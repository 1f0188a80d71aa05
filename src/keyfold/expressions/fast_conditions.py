"""The fast path for the most common conditions: attributes compared with placeholders.

Conditions such as `a > :v AND b = :w` or `attribute_not_exists(pk)` are analysed once per text, and
bound to a request's values in about a microsecond. The functions return None for every condition
or value that the fast path does not handle. The caller then takes the ordinary path, which is the
only one that raises errors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from keyfold.expressions.conditions import Predicate, check_operator_count
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.parser import CACHED_EXPRESSIONS, parse_condition
from keyfold.expressions.placeholders import MAX_PLACEHOLDER_LENGTH
from keyfold.expressions.trees import And, Comparison, FunctionCall, Path, ValuePlaceholder
from keyfold.values.fast_scalars import read_fast_scalar

_ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


MAX_STRING_LENGTH = 10_000


class FastLeaf(NamedTuple):
    """One condition: an attribute, an operator, and the placeholder of the value, if any."""

    name: str
    operator: str
    value: str | None


class FastCondition(NamedTuple):
    """A condition that can be bound without parsing it again or resolving names."""

    leaves: tuple[FastLeaf, ...]
    attributes: frozenset[str]
    placeholders: frozenset[str]

    def bind(self, values: dict[str, Any]) -> Predicate | None:
        """Return the predicate for unchecked values; None if one needs the ordinary path."""
        if len(self.leaves) == 1:
            return _bind_leaf(self.leaves[0], values)
        predicates: list[Predicate] = []
        for leaf in self.leaves:
            predicate = _bind_leaf(leaf, values)
            if predicate is None:
                return None
            predicates.append(predicate)
        if len(predicates) == 2:  # noqa: PLR2004 - the most common count: avoids a loop
            first, second = predicates
            return lambda item: first(item) and second(item)
        return lambda item: all(holds(item) for holds in predicates)


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def read_fast_condition(text: str) -> FastCondition | None:
    """Return the condition in `text`; None if it is too complex for the fast path, or invalid.

    >>> fast = read_fast_condition("a > :v AND attribute_exists(b)")
    >>> fast is not None and sorted(fast.attributes)
    ['a', 'b']
    >>> read_fast_condition("a > :v OR b = :w") is None
    True
    """
    try:
        parsed = parse_condition(text)
        check_operator_count(parsed.operator_count)
    except ExpressionFault:
        return None
    node = parsed.condition
    leaves: list[FastLeaf] = []
    for leaf in node.conditions if isinstance(node, And) else (node,):
        match leaf:
            case Comparison(comparator, Path((str(name),)), ValuePlaceholder(value)):
                leaves.append(FastLeaf(name, comparator, value))
            case FunctionCall("attribute_exists" | "attribute_not_exists", (Path((str(name),)),)):
                leaves.append(FastLeaf(name, leaf.function, None))
            case _:
                return None
    names = frozenset(leaf.name for leaf in leaves)
    if any(name[0] == "#" for name in names):
        return None
    used = frozenset(leaf.value for leaf in leaves if leaf.value is not None)
    if any(len(placeholder) > MAX_PLACEHOLDER_LENGTH for placeholder in used):
        return None
    return FastCondition(tuple(leaves), names, used)


def _bind_leaf(leaf: FastLeaf, values: dict[str, Any]) -> Predicate | None:
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
