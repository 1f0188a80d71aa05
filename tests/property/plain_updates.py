"""Updates as data: their effect on an item, and their expressions in a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from tests.property.plain_conditions import Placeholders
from tests.property.plain_values import (
    WIDE,
    Item,
    Value,
    in_stored_form,
    is_in_range,
    number_of,
    print_number,
)


@dataclass(frozen=True)
class Set:
    name: str
    value: Value = field(hash=False)


@dataclass(frozen=True)
class SetIfAbsent:
    name: str
    value: Value = field(hash=False)


@dataclass(frozen=True)
class SetSum:
    """The attribute plus, or minus, an amount."""

    name: str
    sign: str
    amount: Value = field(hash=False)


@dataclass(frozen=True)
class SetLonger:
    """The attribute's list with `more` appended."""

    name: str
    more: Value = field(hash=False)


@dataclass(frozen=True)
class Remove:
    name: str


@dataclass(frozen=True)
class Add:
    name: str
    value: Value = field(hash=False)


@dataclass(frozen=True)
class Delete:
    """Members removed from a set."""

    name: str
    members: Value = field(hash=False)


Action = Set | SetIfAbsent | SetSum | SetLonger | Remove | Add | Delete
Update = tuple[Action, ...]

# Actions whose value has the type that the attribute will have.
SETTING = Set | Add


def only_removes(update: Update) -> bool:
    """Return whether an update cannot create an item, because it only removes."""
    return all(isinstance(action, Remove | Delete) for action in update)


def updated(item: Item, update: Update) -> Item:
    """Return the item after an update; raises ValueError if types do not match.

    Every action sees the item as it was before.
    """
    new = dict(item)
    for action in update:
        result = _result(item.get(action.name), action)
        if result is None:
            new.pop(action.name, None)
        else:
            new[action.name] = result
    return new


def _result(old: Value | None, action: Action) -> Value | None:
    match action:
        case Set(_, value):
            return in_stored_form(value)
        case SetIfAbsent(_, value):
            return in_stored_form(value) if old is None else old
        case SetSum(_, sign, amount):
            if old is None:
                raise ValueError
            return _sum(old, amount, -1 if sign == "-" else 1)
        case SetLonger(_, more):
            if old is None or "L" not in old:
                raise ValueError
            return {"L": old["L"] + in_stored_form(more)["L"]}
        case Remove():
            return None
        case Add(_, value):
            return _added(old, in_stored_form(value))
        case Delete(_, members):
            return _without(old, in_stored_form(members))
        case _:
            assert_never(action)


def _sum(left: Value, right: Value, factor: int) -> Value:
    if "N" not in left or "N" not in right:
        raise ValueError
    total = WIDE.add(number_of(left["N"]), number_of(right["N"]) * factor)
    if not is_in_range(total):
        raise ValueError
    return {"N": print_number(total)}


def _added(old: Value | None, value: Value) -> Value:
    ((kind, data),) = value.items()
    if old is None:
        return value
    if kind == "N":
        return _sum(old, value, 1)
    if kind not in old:
        raise ValueError
    return {kind: old[kind] + [each for each in data if each not in old[kind]]}


def _without(old: Value | None, members: Value) -> Value | None:
    if old is None:
        return None
    ((kind, data),) = members.items()
    if kind not in old:
        raise ValueError
    left = [each for each in old[kind] if each not in data]
    return {kind: left} if left else None


def write_update(update: Update, used: Placeholders) -> str:
    """Return `update` as an expression."""
    sections: dict[str, list[str]] = {}
    for action in update:
        name = used.name(action.name)
        match action:
            case Set(_, value):
                sections.setdefault("SET", []).append(f"{name} = {used.value(value)}")
            case SetIfAbsent(_, value):
                text = f"{name} = if_not_exists({name}, {used.value(value)})"
                sections.setdefault("SET", []).append(text)
            case SetSum(_, sign, amount):
                text = f"{name} = {name} {sign} {used.value(amount)}"
                sections.setdefault("SET", []).append(text)
            case SetLonger(_, more):
                text = f"{name} = list_append({name}, {used.value(more)})"
                sections.setdefault("SET", []).append(text)
            case Remove():
                sections.setdefault("REMOVE", []).append(name)
            case Add(_, value):
                sections.setdefault("ADD", []).append(f"{name} {used.value(value)}")
            case Delete(_, members):
                sections.setdefault("DELETE", []).append(f"{name} {used.value(members)}")
            case _:
                assert_never(action)
    return " ".join(f"{word} {', '.join(parts)}" for word, parts in sections.items())
