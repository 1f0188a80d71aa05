"""Conditions as data: their evaluation, and their expressions in a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, assert_never

from tests.property.plain_values import Item, Value, comparable, in_stored_form, sort_form


@dataclass(frozen=True)
class Present:
    name: str


@dataclass(frozen=True)
class Absent:
    name: str


@dataclass(frozen=True)
class Compared:
    """`operator` is one of = <> < <= > >=."""

    name: str
    operator: str
    value: Value = field(hash=False)


@dataclass(frozen=True)
class Between:
    name: str
    low: Value = field(hash=False)
    high: Value = field(hash=False)


@dataclass(frozen=True)
class Begins:
    name: str
    value: Value = field(hash=False)


@dataclass(frozen=True)
class Negated:
    inner: Condition


@dataclass(frozen=True)
class Joined:
    """`word` is AND or OR."""

    left: Condition
    word: str
    right: Condition


SortCondition = Compared | Between | Begins
Condition = Present | Absent | SortCondition | Negated | Joined


def holds(condition: Condition, item: Item) -> bool:
    """Evaluate a condition on an item in stored form."""
    match condition:
        case Present(name):
            return name in item
        case Absent(name):
            return name not in item
        case Negated(inner):
            return not holds(inner, item)
        case Joined(left, "AND", right):
            return holds(left, item) and holds(right, item)
        case Joined(left, _, right):
            return holds(left, item) or holds(right, item)
        case Compared() | Between() | Begins():
            return meets(condition, item)
        case _:
            assert_never(condition)


def meets(condition: SortCondition, item: Item) -> bool:
    """Evaluate a comparison of one attribute."""
    actual = item.get(condition.name)
    match condition:
        case Compared(_, "=", value):
            return actual is not None and _same(actual, value)
        case Compared(_, "<>", value):
            return actual is None or not _same(actual, value)
        case Compared(_, operator, value):
            return actual is not None and _in_order(actual, value, operator)
        case Between(_, low, high):
            return (
                actual is not None
                and _in_order(actual, low, ">=")
                and _in_order(actual, high, "<=")
            )
        case Begins(_, value):
            return (
                actual is not None
                and _kind(actual) == _kind(value)
                and sort_form(actual).startswith(sort_form(value))
            )
        case _:
            assert_never(condition)


def _kind(value: Value) -> str:
    (kind,) = value
    return kind


def _same(left: Value, right: Value) -> bool:
    return comparable(left) == comparable(in_stored_form(right))


def _in_order(left: Value, right: Value, operator: str) -> bool:
    if _kind(left) != _kind(right):
        return False
    low, high = sort_form(left), sort_form(right)
    match operator:
        case "<":
            return low < high
        case "<=":
            return low <= high
        case ">":
            return low > high
        case _:
            return low >= high


@dataclass
class Placeholders:
    """The placeholders of one request for names and values, numbered in order."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[str, Value] = field(default_factory=dict[str, Value])

    def name(self, name: str) -> str:
        for placeholder, known in self.names.items():
            if known == name:
                return placeholder
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = name
        return placeholder

    def value(self, value: Value) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def parameters(self) -> dict[str, Any]:
        """Return the request parameters that define them; empty maps may not be sent."""
        parameters: dict[str, Any] = {}
        if self.names:
            parameters["ExpressionAttributeNames"] = self.names
        if self.values:
            parameters["ExpressionAttributeValues"] = self.values
        return parameters


def write_condition(condition: Condition, used: Placeholders) -> str:
    """Return `condition` as an expression."""
    match condition:
        case Present(name):
            return f"attribute_exists({used.name(name)})"
        case Absent(name):
            return f"attribute_not_exists({used.name(name)})"
        case Compared(name, operator, value):
            return f"{used.name(name)} {operator} {used.value(value)}"
        case Between(name, low, high):
            return f"{used.name(name)} BETWEEN {used.value(low)} AND {used.value(high)}"
        case Begins(name, value):
            return f"begins_with({used.name(name)}, {used.value(value)})"
        case Negated(inner):
            return f"NOT ({write_condition(inner, used)})"
        case Joined(left, word, right):
            return f"({write_condition(left, used)}) {word} ({write_condition(right, used)})"
        case _:
            assert_never(condition)
