"""Expression trees: the node classes of conditions, updates and projections.

All code that handles expressions uses these classes. The parser builds them from text, the model
from Python (`Rate.f.stale.eq(True)`), and PartiQL and the legacy parameters are translated into
them. Operands may be placeholders, as in text, or the values themselves.

The classes are named tuples: a frozen dataclass takes seven times as long to define, which would
slow down every program that imports this module. Most nodes are subclasses of a named tuple, so
that nodes of different classes are never equal, and conditions can be combined with `&`, `|` and
`~`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from importlib import import_module
from typing import Any, Literal, NamedTuple, NoReturn, assert_never

from keyfold.errors import ConditionAsTruth, QueryInvalid
from keyfold.values import AttributeValue

Steps = tuple[str | int, ...]
"""The steps of a path: attribute names, and positions in lists."""

Comparator = Literal["=", "<>", "<", "<=", ">", ">="]

PredicateName = Literal[
    "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"
]
"""The functions that are conditions by themselves."""

FunctionName = PredicateName | Literal["size", "if_not_exists", "list_append"]
"""Every function; `size` is an operand of conditions, the other two are sources of updates."""

PREDICATES: dict[str, PredicateName] = {
    "attribute_exists": "attribute_exists",
    "attribute_not_exists": "attribute_not_exists",
    "attribute_type": "attribute_type",
    "begins_with": "begins_with",
    "contains": "contains",
}
UPDATE_FUNCTIONS: dict[str, FunctionName] = {
    "if_not_exists": "if_not_exists",
    "list_append": "list_append",
}
COMPARATORS: dict[str, Comparator] = {
    "=": "=",
    "<>": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}

MIRRORED: dict[Comparator, Comparator] = {
    "=": "=",
    "<>": "<>",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
"""The comparator with the same meaning when the operands are swapped."""


class Path(NamedTuple):
    """A document path; a name that starts with # is a placeholder if `has_placeholders`."""

    steps: Steps
    has_placeholders: bool = False
    owner: str | None = None
    """The entity whose field it is, if the model built the path."""

    def __str__(self) -> str:
        first, *rest = self.steps
        return str(first) + "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest
        )


class ValuePlaceholder(NamedTuple):
    """A placeholder of a value in ExpressionAttributeValues, such as `:v`."""

    name: str


class DeferredValue(NamedTuple):
    """A value that depends on the time of the request, such as `now`.

    Only the printer resolves it, so trees that are bound or compiled never contain one.
    """

    value: Any
    encode: Callable[[Any, datetime], AttributeValue]

    def resolve(self, now: datetime) -> AttributeValue:
        """Return the value for a request that runs at `now`."""
        return self.encode(self.value, now)


class _FunctionCall(NamedTuple):
    function: FunctionName
    operands: tuple[Operand, ...]


class _Comparison(NamedTuple):
    comparator: Comparator
    left: Operand
    right: Operand


class _Between(NamedTuple):
    value: Operand
    low: Operand
    high: Operand


class _In(NamedTuple):
    value: Operand
    options: tuple[Operand, ...]


class _And(NamedTuple):
    conditions: tuple[Condition, ...]


class _Or(NamedTuple):
    conditions: tuple[Condition, ...]


class _Not(NamedTuple):
    condition: Condition


class Node:
    """The base of nodes: nodes of different classes are never equal, unlike named tuples."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self.__class__ is other.__class__ and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()


class ConditionBase(Node):
    """The base of conditions, which can be combined with `&`, `|` and `~`.

    A condition has no truth value in Python: the database evaluates it for an item.
    """

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        return And((_as_condition(self), check_is_condition(other)))

    def __or__(self, other: Condition) -> Condition:
        return Or((_as_condition(self), check_is_condition(other)))

    def __invert__(self) -> Condition:
        return Not(_as_condition(self))

    def __bool__(self) -> NoReturn:
        raise ConditionAsTruth(repr(self))

    def __repr__(self) -> str:
        # Imported here because the printer imports this module.
        printer = import_module("keyfold.expressions.printer")
        return printer.ReadablePrinter().write_condition(self)


class FunctionCall(ConditionBase, _FunctionCall):
    """A function with its operands: a condition, an operand, or the source of an update."""

    __slots__ = ()


class Comparison(ConditionBase, _Comparison):
    """`left comparator right`."""

    __slots__ = ()


class Between(ConditionBase, _Between):
    """`value BETWEEN low AND high`, both ends included."""

    __slots__ = ()


class In(ConditionBase, _In):
    """`value IN (options)`."""

    __slots__ = ()


class And(ConditionBase, _And):
    """All of two or more conditions."""

    __slots__ = ()


class Or(ConditionBase, _Or):
    """At least one of two or more conditions."""

    __slots__ = ()


class Not(ConditionBase, _Not):
    """The negation of a condition."""

    __slots__ = ()


Condition = Comparison | Between | In | FunctionCall | And | Or | Not
"""A condition, which holds for an item or does not."""


class _Arithmetic(NamedTuple):
    operator: Literal["+", "-"]
    left: Source
    right: Source


class Arithmetic(Node, _Arithmetic):
    """`left + right` or `left - right`."""

    __slots__ = ()


Operand = Path | ValuePlaceholder | FunctionCall | DeferredValue | AttributeValue
"""An operand: a path, a value in one of three forms, or a function of other operands."""

Source = Operand | Arithmetic
"""The right-hand side of `SET path = …`."""

Value = ValuePlaceholder | DeferredValue | AttributeValue
"""A value: a placeholder, a value that depends on the time, or the value itself."""


class _SetTo(NamedTuple):
    path: Path
    source: Source


class SetTo(Node, _SetTo):
    """`SET path = source`."""

    __slots__ = ()


class _Remove(NamedTuple):
    path: Path


class Remove(Node, _Remove):
    """`REMOVE path`."""

    __slots__ = ()


class _AddTo(NamedTuple):
    path: Path
    value: Value


class AddTo(Node, _AddTo):
    """`ADD path value`."""

    __slots__ = ()


class _DeleteFrom(NamedTuple):
    path: Path
    value: Value


class DeleteFrom(Node, _DeleteFrom):
    """`DELETE path value`."""

    __slots__ = ()


Action = SetTo | Remove | AddTo | DeleteFrom
"""One action of an update."""


def check_is_condition(value: object) -> Condition:
    """Return `value` if it is a condition; raises QueryInvalid for anything else."""
    if not isinstance(value, Condition):
        fact = f"a condition is expected, but got {value!r:.80}"
        raise QueryInvalid("condition", fact, "Write one as Entity.f.field.eq(value).")
    return value


def _as_condition(node: ConditionBase) -> Condition:
    assert isinstance(node, Condition)
    return node


def join_all(*conditions: Condition | None) -> Condition | None:
    """Return the conjunction of the conditions that are not None; None if all are."""
    given = tuple(condition for condition in conditions if condition is not None)
    if len(given) <= 1:
        return given[0] if given else None
    return And(given)


def paths_in(node: Condition | Action) -> Iterator[Path]:
    """Yield every path in a condition or in an action of an update."""
    match node:
        case Comparison(_, left, right):
            yield from _paths_in_operands(left, right)
        case Between(value, low, high):
            yield from _paths_in_operands(value, low, high)
        case In(value, options):
            yield from _paths_in_operands(value, *options)
        case FunctionCall(_, operands):
            yield from _paths_in_operands(*operands)
        case And(conditions) | Or(conditions):
            for condition in conditions:
                yield from paths_in(condition)
        case Not(condition):
            yield from paths_in(condition)
        case SetTo(path, source):
            yield path
            yield from _paths_in_operands(source)
        case Remove(path) | AddTo(path, _) | DeleteFrom(path, _):
            yield path
        case _:
            assert_never(node)


def _paths_in_operands(*operands: Source) -> Iterator[Path]:
    for operand in operands:
        match operand:
            case Path():
                yield operand
            case FunctionCall(_, inner):
                yield from _paths_in_operands(*inner)
            case Arithmetic(_, left, right):
                yield from _paths_in_operands(left, right)
            case _:
                pass


def holds_for_absent_item(condition: Condition) -> bool:
    """Return whether a condition holds if the item does not exist, as in DynamoDB."""
    match condition:
        case Comparison(comparator, _, _):
            return comparator == "<>"
        case FunctionCall(function, _):
            return function == "attribute_not_exists"
        case And(conditions):
            return all(map(holds_for_absent_item, conditions))
        case Or(conditions):
            return any(map(holds_for_absent_item, conditions))
        case Not(inner):
            return not holds_for_absent_item(inner)
        case Between() | In():
            return False
        case _:
            assert_never(condition)


def show_path(steps: Steps) -> str:
    """Return a path in the format of the service's messages.

    >>> show_path(("a", "b", 3, "c"))
    '[a, b, [3], c]'
    """
    return "[" + ", ".join(step if isinstance(step, str) else f"[{step}]" for step in steps) + "]"
