"""Expressions as trees.

Parsing makes them from text alone: names and values may still be placeholders. Binding
replaces every operand by what it stands for. The same classes serve both, and the legacy
parameters, which are translated straight into bound trees. Most are named tuples: a frozen
dataclass takes ten times as long to define, which every program that imports this waits for.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from keyfold.values import AttributeValue

Steps = tuple[str | int, ...]
"""A path whose names are known: attribute names, and positions in lists."""


class Path(NamedTuple):
    """A document path as written; a name starting with # is still a placeholder."""

    steps: Steps
    has_placeholders: bool


class ValuePlaceholder(NamedTuple):
    """A value to be taken from ExpressionAttributeValues, such as `:v`."""

    name: str


class FunctionCall(NamedTuple):
    """A function with its operands: a condition, an operand, or the source of an update."""

    function: str
    operands: tuple[Operand, ...]


Operand = Path | ValuePlaceholder | FunctionCall | Steps | AttributeValue
"""An operand: as written (the classes above) or bound (a path's steps, a value itself)."""

Comparator = Literal["=", "<>", "<", "<=", ">", ">="]


class Comparison(NamedTuple):
    """`left comparator right`."""

    comparator: Comparator
    left: Operand
    right: Operand


class Interval(NamedTuple):
    """`value BETWEEN low AND high`, both ends included."""

    value: Operand
    low: Operand
    high: Operand


class Membership(NamedTuple):
    """`value IN (options)`."""

    value: Operand
    options: tuple[Operand, ...]


class Both(NamedTuple):
    """Every one of two or more conditions."""

    conditions: tuple[Condition, ...]


class Either(NamedTuple):
    """At least one of two or more conditions."""

    conditions: tuple[Condition, ...]


class Negation(NamedTuple):
    """Not the condition."""

    condition: Condition


Condition = Comparison | Interval | Membership | FunctionCall | Both | Either | Negation


class Arithmetic(NamedTuple):
    """`left + right` or `left - right`."""

    operator: Literal["+", "-"]
    left: Operand | Arithmetic
    right: Operand | Arithmetic


class SetTo(NamedTuple):
    """`SET path = source`."""

    path: Path
    source: Operand | Arithmetic


class Remove(NamedTuple):
    """`REMOVE path`."""

    path: Path


class AddTo(NamedTuple):
    """`ADD path value`."""

    path: Path
    value: ValuePlaceholder | AttributeValue


class DeleteFrom(NamedTuple):
    """`DELETE path value`."""

    path: Path
    value: ValuePlaceholder | AttributeValue


Action = SetTo | Remove | AddTo | DeleteFrom


def show_path(steps: Steps) -> str:
    """Write a path as the service's messages do.

    >>> show_path(("a", "b", 3, "c"))
    '[a, b, [3], c]'
    """
    return "[" + ", ".join(step if isinstance(step, str) else f"[{step}]" for step in steps) + "]"
