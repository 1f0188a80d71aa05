"""Random expressions of every kind, most of them valid."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.random_values import PLAIN_NAMES, USUAL, Value, scalar, value

_FAULTS = 0.06  # the fraction of expressions that are damaged
_FITTING = {  # the usual types that each update action fits
    "SET": {"N", "L", "M", "SS", "NS"},
    "REMOVE": {"N", "L", "M", "SS", "NS"},
    "ADD": {"N", "SS", "NS"},
    "DELETE": {"SS", "NS"},
}
_TYPES = ("S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M")


@dataclass(slots=True)
class Placeholders:
    """The names and values that the expressions of one request use."""

    source: random.Random
    names: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[str, Value] = field(default_factory=dict[str, Value])

    def name(self, name: str) -> str:
        """Return the name itself, or a placeholder for it."""
        if name in PLAIN_NAMES and self.source.random() < 0.6:
            return name
        key = f"#{'nmo'[len(self.names) % 3]}{len(self.names)}"
        self.names[key] = name
        return key

    def value(self, one: Value) -> str:
        """Return a placeholder for a value."""
        key = f":{'vwx'[len(self.values) % 3]}{len(self.values)}"
        self.values[key] = one
        return key

    def parameters(self) -> dict[str, Any]:
        """Return the placeholder parameters; rarely with a placeholder too many or too few."""
        result: dict[str, Any] = {}
        fault = self.source.random()
        if fault < 0.01:
            self.names["#unused"] = "a"
        elif fault < 0.02:
            self.values[":unused"] = {"S": "x"}
        elif fault < 0.03 and self.values:
            self.values.popitem()
        elif fault < 0.04 and self.names:
            self.names.popitem()
        if self.names:
            result["ExpressionAttributeNames"] = self.names
        if self.values:
            result["ExpressionAttributeValues"] = self.values
        return result


def path(
    source: random.Random, holders: Placeholders, names: tuple[str, ...], deep: float = 0.4
) -> str:
    """Return a document path; `deep` is the fraction that lead into a document."""
    result = holders.name(source.choice(names))
    for _ in range(source.choice([1, 1, 2]) if source.random() < deep else 0):
        if source.random() < 0.5:
            result += f"[{source.choice([0, 0, 1, 2, 9])}]"
        else:
            result += "." + holders.name(source.choice(PLAIN_NAMES))
    return result


def condition(
    source: random.Random, holders: Placeholders, names: tuple[str, ...], depth: int = 2
) -> str:
    """Return a condition or filter."""
    text = _condition(source, holders, names, depth)
    return damaged(source, text) if source.random() < _FAULTS else text


def _condition(
    source: random.Random, holders: Placeholders, names: tuple[str, ...], depth: int
) -> str:
    if depth and source.random() < 0.4:
        left = _condition(source, holders, names, depth - 1)
        right = _condition(source, holders, names, depth - 1)
        return source.choice(
            [f"{left} AND {right}", f"{left} OR {right}", f"NOT {left}", f"({left}) AND {right}"]
        )
    kind = source.random()
    if kind < 0.45:
        operator = source.choice(["=", "<>", "<", "<=", ">", ">="])
        return f"{_operand(source, holders, names)} {operator} {_operand(source, holders, names)}"
    if kind < 0.55:
        low, high = _bounds(source)
        lower, upper = holders.value(low), holders.value(high)
        return f"{path(source, holders, names)} BETWEEN {lower} AND {upper}"
    if kind < 0.65:
        several = ", ".join(holders.value(value(source, 1)) for _ in range(source.randint(1, 3)))
        return f"{path(source, holders, names)} IN ({several})"
    target = path(source, holders, names)
    match source.choice(["exists", "not_exists", "type", "begins", "contains"]):
        case "exists":
            return f"attribute_exists({target})"
        case "not_exists":
            return f"attribute_not_exists({target})"
        case "type":
            return f"attribute_type({target}, {holders.value({'S': source.choice(_TYPES)})})"
        case "begins":
            return f"begins_with({target}, {holders.value(scalar(source, source.choice('SSSBN')))})"
        case _:
            return f"contains({target}, {_operand(source, holders, names)})"


def _bounds(source: random.Random) -> tuple[Value, Value]:
    kind = source.choice("SNB")
    low, high = scalar(source, kind), scalar(source, source.choice([kind, kind, kind, "S"]))
    return low, high


def _operand(source: random.Random, holders: Placeholders, names: tuple[str, ...]) -> str:
    kind = source.random()
    if kind < 0.45:
        return path(source, holders, names)
    if kind < 0.9:
        return holders.value(value(source, 1))
    return f"size({path(source, holders, names)})"


def projection(source: random.Random, holders: Placeholders, names: tuple[str, ...]) -> str:
    """Return one or more paths."""
    paths = [path(source, holders, names) for _ in range(source.choice([1, 1, 2, 2, 3]))]
    text = ", ".join(dict.fromkeys(paths))
    return damaged(source, text) if source.random() < _FAULTS else text


def update(source: random.Random, holders: Placeholders, names: tuple[str, ...]) -> str:
    """Return one or more sections; each action usually has a different attribute.

    One of them always writes: for an update that only removes, DynamoDB Local creates a missing
    item and AWS does not, and from then on the two would diverge.
    """
    apart = source.random() < 0.8
    targets = source.sample(names, len(names))
    kinds = [source.choice(["SET", "SET", "ADD"])]
    others = [kind for kind in ("SET", "REMOVE", "ADD", "DELETE") if kind not in kinds]
    kinds += source.sample(others, source.choice([0, 0, 1, 1, 2]))
    source.shuffle(kinds)
    sections: list[str] = []
    for kind in kinds:
        actions: list[str] = []
        for _ in range(source.choice([1, 1, 2])):
            among = (targets.pop(),) if apart and targets else names
            actions.append(
                _usual_action(source, holders, among[0], kind)
                if len(among) == 1 and USUAL.get(among[0]) in _FITTING[kind]
                else _action(source, holders, path(source, holders, among, deep=0.1), names, kind)
            )
        sections.append(f"{kind} {', '.join(actions)}")
    text = " ".join(sections)
    return damaged(source, text) if source.random() < _FAULTS else text


def _action(
    source: random.Random, holders: Placeholders, target: str, names: tuple[str, ...], kind: str
) -> str:
    match kind:
        case "REMOVE":
            return target
        case "ADD":
            added = source.choice([{"N": "1"}, {"N": "-2.5"}, {"SS": ["x"]}])
            return f"{target} {holders.value(_at_times(source, value(source, 0), added))}"
        case "DELETE":
            gone = source.choice([{"SS": ["x", "a"]}, {"NS": ["1", "2"]}])
            return f"{target} {holders.value(_at_times(source, value(source, 0), gone))}"
        case _:
            return f"{target} = {_assigned(source, holders, names)}"


def _usual_action(source: random.Random, holders: Placeholders, name: str, kind: str) -> str:
    """Return an action that fits the usual type of an attribute."""
    shown = holders.name(name)
    if kind == "REMOVE":
        return shown + {"L": "[0]", "M": ".a"}.get(USUAL[name], "")
    given = holders.value(_member(source, name))
    match kind, USUAL[name]:
        case "SET", "N":
            old = f"if_not_exists({shown}, {holders.value({'N': '0'})})"
            return f"{shown} = {old} {source.choice('+-')} {given}"
        case "SET", "L":
            old = f"if_not_exists({shown}, {holders.value({'L': []})})"
            return f"{shown} = list_append({source.choice([f'{old}, {given}', f'{given}, {old}'])})"
        case "SET", "M" if source.random() < 0.5:
            return f"{shown}.a = {given}"
        case "SET", _:
            return f"{shown} = {given}"
        case _:
            return f"{shown} {given}"


def _member(source: random.Random, name: str) -> Value:
    match USUAL[name]:
        case "N":
            return {"N": source.choice(["1", "-2.5", "1E+2", "0.001", "99999"])}
        case "L":
            return {"L": [value(source, 1) for _ in range(source.randint(0, 2))]}
        case "SS":
            return {"SS": source.sample(["a", "b", "x", "é", ""], 2)}
        case "NS":
            return {"NS": source.sample(["1", "2", "-3", "0.5"], 2)}
        case _:
            return {"M": {"a": value(source, 1), "b": value(source, 1)}}


def _at_times(source: random.Random, odd: Value, usual: Value) -> Value:
    return odd if source.random() < 0.15 else usual


def _assigned(source: random.Random, holders: Placeholders, names: tuple[str, ...]) -> str:
    def operand() -> str:
        if source.random() < 0.5:
            return path(source, holders, names, deep=0.1)
        return holders.value({"N": str(source.randint(-5, 5))})

    kinds = [*["value"] * 6, *["default"] * 3, "path", "plus", "minus", "append"]
    match source.choice(kinds):
        case "value":
            return holders.value(value(source))
        case "path":
            return path(source, holders, names)
        case "plus":
            return f"{operand()} + {operand()}"
        case "minus":
            return f"{operand()} - {operand()}"
        case "default":
            given = holders.value(value(source, 1))
            return f"if_not_exists({path(source, holders, names)}, {given})"
        case _:
            items = holders.value({"L": [value(source, 0)]})
            return f"list_append({path(source, holders, names)}, {items})"


def damaged(source: random.Random, text: str) -> str:
    """Return the expression with one token dropped, doubled or replaced."""
    tokens = text.split(" ")
    at = source.randrange(len(tokens))
    match source.choice(["drop", "double", "replace", "wrap"]):
        case "drop":
            del tokens[at]
        case "double":
            tokens.insert(at, tokens[at])
        case "replace":
            tokens[at] = source.choice(["abort", "AND", "(", ")", ",", "foo(a)", "5", "a.b.c", "="])
        case _:
            return f"(({text}))"
    return " ".join(tokens)
