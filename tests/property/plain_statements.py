"""Conditions and updates in PartiQL, with values as literals or as parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, assert_never

from tests.property.plain_conditions import (
    Absent,
    Begins,
    Between,
    Compared,
    Condition,
    Joined,
    Negated,
    Present,
)
from tests.property.plain_updates import (
    Action,
    Add,
    Delete,
    Remove,
    Set,
    SetIfAbsent,
    SetLonger,
    SetSum,
)
from tests.property.plain_values import Value


@dataclass
class Parameters:
    """The parameters of one statement; `as_literals` decides which values become literals."""

    as_literals: Iterator[bool]
    values: list[Value] = field(default_factory=list[Value])

    def value(self, value: Value) -> str:
        """Return the literal or the placeholder of a value."""
        literal = write_literal(value)
        if literal is not None and next(self.as_literals):
            return literal
        self.values.append(value)
        return "?"

    def fields(self) -> dict[str, Any]:
        """Return the request's parameters; an empty list may not be sent."""
        return {"Parameters": self.values} if self.values else {}


def write_literal(value: Value) -> str | None:
    """Return a value as a literal; None for binaries and values that contain one."""
    ((kind, data),) = value.items()
    match kind:
        case "S":
            return _quoted(data)
        case "N":
            return str(data)
        case "BOOL":
            return "true" if data else "FALSE"
        case "NULL":
            return "null"
        case "SS":
            return f"<<{', '.join(map(_quoted, data))}>>"
        case "NS":
            return f"<<{', '.join(data)}>>"
        case "L":
            return _joined("[{}]", [write_literal(each) for each in data])
        case "M":
            members = [(name, write_literal(each)) for name, each in data.items()]
            texts = [None if text is None else f"{_quoted(name)}: {text}" for name, text in members]
            return _joined("{{{}}}", texts)
        case _:
            return None


def _joined(brackets: str, members: list[str | None]) -> str | None:
    texts = [member for member in members if member is not None]
    return brackets.format(", ".join(texts)) if len(texts) == len(members) else None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def write_name(name: str) -> str:
    """Return the name of an attribute, quoted so that it is not read as a keyword."""
    return '"' + name.replace('"', '""') + '"'


def write_where(condition: Condition, used: Parameters) -> str:
    """Return `condition` as a WHERE clause."""
    match condition:
        case Present(name):
            return f"{write_name(name)} IS NOT MISSING"
        case Absent(name):
            return f"{write_name(name)} IS MISSING"
        case Compared(name, operator, value):
            return f"{write_name(name)} {operator} {used.value(value)}"
        case Between(name, low, high):
            return f"{write_name(name)} BETWEEN {used.value(low)} AND {used.value(high)}"
        case Begins(name, value):
            return f"begins_with({write_name(name)}, {used.value(value)})"
        case Negated(inner):
            return f"NOT ({write_where(inner, used)})"
        case Joined(left, word, right):
            return f"({write_where(left, used)}) {word} ({write_where(right, used)})"
        case _:
            assert_never(condition)


def write_change(action: Action, used: Parameters) -> str | None:
    """Return the clause of an action; None if PartiQL has none."""
    name = write_name(action.name)
    match action:
        case Set(_, value):
            return f"SET {name} = {used.value(value)}"
        case SetIfAbsent(_, value):
            return f"SET {name} = if_not_exists({name}, {used.value(value)})"
        case SetSum(_, sign, value):
            return f"SET {name} = {name} {sign} {used.value(value)}"
        case SetLonger(_, value):
            return f"SET {name} = list_append({name}, {used.value(value)})"
        case Remove():
            return f"REMOVE {name}"
        case Add(_, value):
            # PartiQL adds numbers by arithmetic, which needs the attribute to exist.
            return None if "N" in value else f"SET {name} = set_add({name}, {used.value(value)})"
        case Delete(_, value):
            return f"SET {name} = set_delete({name}, {used.value(value)})"
        case _:
            assert_never(action)
