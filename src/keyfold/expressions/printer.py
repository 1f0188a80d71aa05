"""Prints trees as text: as expressions in requests, and in a form for people."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, assert_never

from keyfold.expressions.reserved_words import is_reserved
from keyfold.expressions.trees import (
    Action,
    AddTo,
    And,
    Arithmetic,
    Between,
    Comparison,
    Condition,
    DeferredValue,
    DeleteFrom,
    FunctionCall,
    In,
    Not,
    Or,
    Path,
    Remove,
    SetTo,
    Source,
    Value,
    ValuePlaceholder,
)
from keyfold.values import AttributeValue

_MAX_SHOWN_LENGTH = 80
CACHED_NAMES = 10_000

_matches_plain = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,254}").fullmatch
_JOINED = frozenset({And, Or})


class Printer(ABC):
    """Writes trees as text; subclasses define how names and values are written."""

    @abstractmethod
    def write_name(self, name: str) -> str:
        """Return the text of an attribute's name."""

    @abstractmethod
    def write_value(self, value: Value) -> str:
        """Return the text of a value."""

    def write_path(self, path: Path) -> str:
        """Return the text of a document path."""
        steps = path.steps
        if len(steps) == 1:
            return self.write_name(str(steps[0]))
        text = ""
        for step in steps:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += ("." if text else "") + self.write_name(step)
        return text

    def write_operand(self, operand: Source) -> str:
        """Return the text of an operand of a condition, or of the source of an update."""
        if isinstance(operand, dict):
            return self.write_value(operand)
        match operand:
            case Path():
                return self.write_path(operand)
            case FunctionCall(function, operands):
                return f"{function}({', '.join(map(self.write_operand, operands))})"
            case Arithmetic(operator, left, right):
                return f"{self.write_operand(left)} {operator} {self.write_operand(right)}"
            case _:
                return self.write_value(operand)

    def write_condition(self, condition: Condition) -> str:
        """Return the text of a condition."""
        # What key conditions are made of comes first: every query prints one.
        match condition:
            case Comparison(comparator, left, right):
                return f"{self.write_operand(left)} {comparator} {self.write_operand(right)}"
            case And(conditions):
                return " AND ".join([self._write_member(each) for each in conditions])
            case FunctionCall(function, operands):
                return f"{function}({', '.join([self.write_operand(each) for each in operands])})"
            case Between(value, low, high):
                ends = f"{self.write_operand(low)} AND {self.write_operand(high)}"
                return f"{self.write_operand(value)} BETWEEN {ends}"
            case In(value, options):
                written = ", ".join(map(self.write_operand, options))
                return f"{self.write_operand(value)} IN ({written})"
            case Or(conditions):
                return " OR ".join(map(self._write_member, conditions))
            case Not(inner):
                return f"NOT ({self.write_condition(inner)})"
            case _:
                assert_never(condition)

    def _write_member(self, condition: Condition) -> str:
        written = self.write_condition(condition)
        return f"({written})" if condition.__class__ in _JOINED else written

    def write_update(self, actions: Iterable[Action]) -> str:
        """Return the text of an update, with its clauses in a fixed order."""
        clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
        for action in actions:
            path = self.write_path(action.path)
            match action:
                case SetTo(_, source):
                    clauses["SET"].append(f"{path} = {self.write_operand(source)}")
                case Remove():
                    clauses["REMOVE"].append(path)
                case AddTo(_, value):
                    clauses["ADD"].append(f"{path} {self.write_value(value)}")
                case DeleteFrom(_, value):
                    clauses["DELETE"].append(f"{path} {self.write_value(value)}")
                case _:
                    assert_never(action)
        return " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses.items() if parts)


class RequestPrinter(Printer):
    """Writes expressions for one request, with placeholders for values, and for names that need one.

    >>> printer = RequestPrinter()
    >>> printer.write_condition(Comparison("=", Path(("Artist",)), {"S": "Fela"}))
    'Artist = :0'
    >>> printer.write_condition(FunctionCall("attribute_exists", (Path(("ttl",)),)))
    'attribute_exists(#0)'
    >>> printer.names, printer.values
    ({'#0': 'ttl'}, {':0': {'S': 'Fela'}})

    `now` is the time of the request, which deferred values need.
    """

    def __init__(self, now: datetime | None = None) -> None:
        self._now = now
        self.names: dict[str, str] = {}
        self.values: dict[str, AttributeValue] = {}
        self._by_name: dict[str, str] = {}

    def write_name(self, name: str) -> str:
        """Return a plain name as it is; else its placeholder, adding it to `names` if it is new."""
        if is_plain_name(name):
            return name
        placeholder = self._by_name.get(name)
        if placeholder is None:
            placeholder = self._by_name[name] = f"#{len(self._by_name)}"
            self.names[placeholder] = name
        return placeholder

    def write_value(self, value: Value) -> str:
        """Return the placeholder of a value, adding the value to `values` if it is new."""
        if not isinstance(value, dict):
            if isinstance(value, ValuePlaceholder):
                return value.name
            assert self._now is not None  # a deferred value needs it
            value = value.resolve(self._now)
        for placeholder, known in self.values.items():
            if known == value and known.keys() == value.keys():
                return placeholder
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def add_to(self, request: dict[str, Any]) -> None:
        """Add ExpressionAttributeNames and ExpressionAttributeValues to a request, if not empty."""
        if self.names:
            request["ExpressionAttributeNames"] = dict(self.names)
        if self.values:
            request["ExpressionAttributeValues"] = dict(self.values)


@lru_cache(maxsize=CACHED_NAMES)
def is_plain_name(name: str) -> bool:
    """Return whether an expression may contain a name without a placeholder.

    >>> is_plain_name("owner_id"), is_plain_name("2nd"), is_plain_name("Status")
    (True, False, False)
    """
    return _matches_plain(name) is not None and not is_reserved(name)


class ReadablePrinter(Printer):
    """Writes expressions for people, with the names and values themselves.

    >>> ReadablePrinter().write_condition(Comparison("=", Path(("Base",)), {"S": "USD"}))
    "Base = 'USD'"

    `names` and `values` are those of the request whose expressions are shown. `show` formats a
    value; the default is `readable_value`.
    """

    def __init__(
        self,
        names: dict[str, str] | None = None,
        values: dict[str, AttributeValue] | None = None,
        show: Callable[[AttributeValue], str] | None = None,
    ) -> None:
        self._names, self._values = names or {}, values or {}
        self._show = show or readable_value

    def write_name(self, name: str) -> str:
        """Return a name, or the name behind a placeholder."""
        return self._names.get(name, name)

    def write_value(self, value: Value) -> str:
        """Return the text of a value, or of the value behind a placeholder."""
        if isinstance(value, DeferredValue):
            return repr(value.value)
        if isinstance(value, ValuePlaceholder):
            known = self._values.get(value.name)
            return value.name if known is None else self._show(known)
        return self._show(value)


def readable_value(value: AttributeValue) -> str:
    """Return a value in readable form, truncated if it is long.

    >>> readable_value({"S": "USD"}), readable_value({"N": "1"})
    ("'USD'", '1')
    """
    ((kind, data),) = value.items()
    # A secret is a str whose repr is masked.
    text = data if kind == "N" and data.__class__ is str else repr(data)
    return text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[:_MAX_SHOWN_LENGTH]}…"
