"""Conditions and updates as trees, and how they become DynamoDB's expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NoReturn, assert_never

from keyfold.errors import ConditionAsTruth, QueryInvalid
from keyfold.model._formatting import show_value
from keyfold.model._moments import has_moment, resolve_moments
from keyfold.values import AttributeValue

Encode = Callable[[Any], AttributeValue]
Steps = tuple[str | int, ...]

Comparator = Literal["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is in an item: stored names, and positions in lists.

    `owner` is the entity whose field it is, where it is one's.
    """

    steps: Steps
    owner: str | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        first, *rest = self.steps
        return str(first) + "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest
        )


@dataclass(frozen=True, slots=True)
class Size:
    """How large the value at a place is."""

    place: Place


@dataclass(frozen=True, slots=True)
class Given:
    """A value that the caller gave: encoded already, unless it waits for a moment."""

    value: Any
    encode: Encode | None = None

    def resolve(self, now: datetime) -> AttributeValue:
        """Return the value for a request that runs at `now`."""
        return self.value if self.encode is None else self.encode(resolve_moments(self.value, now))

    def __repr__(self) -> str:
        return show_value(self.value) if self.encode is None else repr(self.value)


def give(value: Any, encode: Encode) -> Given:
    """Return a value as an operand, encoded now: what the caller does with it has no effect."""
    if has_moment(value):
        return Given(deepcopy(value), encode)
    return Given(encode(value))


@dataclass(frozen=True, slots=True)
class Computed:
    """A value made from what is stored; for updates alone."""

    function: Literal["if_not_exists", "list_append", "+", "-"]
    left: Operand
    right: Operand


Operand = Place | Size | Given | Computed


class Condition:
    """Something that may or may not hold for an item.

    Conditions are joined with `&`, `|` and `~`. They are not true or false themselves: whether
    they hold is found out where the item is.
    """

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        return Joined("AND", (self, check_condition(other)))

    def __or__(self, other: Condition) -> Condition:
        return Joined("OR", (self, check_condition(other)))

    def __invert__(self) -> Condition:
        return Negated(self)

    def __bool__(self) -> NoReturn:
        raise ConditionAsTruth(repr(self))


def check_condition(condition: object, entity: str | None = None) -> Condition:
    """Return a condition on an entity, or on any; raises QueryInvalid for anything else."""
    if not isinstance(condition, Condition):
        fact = f"a condition is needed, and {condition!r:.80} is none"
        raise QueryInvalid("where()", fact, "Write one as Entity.f.field.eq(value).")
    if entity is not None:
        for place in _places_in(condition):
            if place.owner not in (None, entity):
                fact = f"{place} is a field of {place.owner}, and this is about {entity}"
                raise QueryInvalid("where()", fact, f"Use {entity}.f.")
    return condition


@dataclass(frozen=True, slots=True)
class Compared(Condition):
    """One operand compared with another."""

    left: Operand
    comparator: Comparator
    right: Operand

    def __repr__(self) -> str:
        return f"{self.left} {self.comparator} {self.right}"


@dataclass(frozen=True, slots=True)
class Between(Condition):
    """An operand between two others, both included."""

    operand: Operand
    low: Operand
    high: Operand

    def __repr__(self) -> str:
        return f"{self.operand} BETWEEN {self.low} AND {self.high}"


@dataclass(frozen=True, slots=True)
class Among(Condition):
    """An operand that is one of several."""

    operand: Operand
    options: tuple[Operand, ...]

    def __repr__(self) -> str:
        return f"{self.operand} IN ({', '.join(map(repr, self.options))})"


@dataclass(frozen=True, slots=True)
class Called(Condition):
    """One of DynamoDB's functions, on the value at a place."""

    function: Literal[
        "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"
    ]
    place: Place
    argument: Given | None = None

    def __repr__(self) -> str:
        arguments = f"{self.place}" if self.argument is None else f"{self.place}, {self.argument}"
        return f"{self.function}({arguments})"


@dataclass(frozen=True, slots=True)
class Joined(Condition):
    """Several conditions, all or any of which must hold."""

    word: Literal["AND", "OR"]
    members: tuple[Condition, ...]

    def __repr__(self) -> str:
        return f" {self.word} ".join(f"({member!r})" for member in self.members)


@dataclass(frozen=True, slots=True)
class Negated(Condition):
    """A condition that must not hold."""

    member: Condition

    def __repr__(self) -> str:
        return f"NOT ({self.member!r})"


def join(word: Literal["AND", "OR"], *members: Condition | None) -> Condition | None:
    """Join the conditions that there are."""
    given = tuple(member for member in members if member is not None)
    if len(given) <= 1:
        return given[0] if given else None
    return Joined(word, given)


def holds_when_absent(condition: Condition) -> bool:
    """Tell whether a condition holds for an item that is not there, as DynamoDB decides it."""
    match condition:
        case Compared(_, comparator, _):
            return comparator == "<>"
        case Called(function):
            return function == "attribute_not_exists"
        case Joined(word, members):
            outcomes = map(holds_when_absent, members)
            return all(outcomes) if word == "AND" else any(outcomes)
        case Negated(member):
            return not holds_when_absent(member)
        case _:
            return False


def names_in(condition: Condition) -> set[str]:
    """Return the stored names of the attributes that a condition looks at."""
    return {str(place.steps[0]) for place in _places_in(condition)}


def _places_in(condition: Condition) -> list[Place]:
    match condition:
        case Compared(left, _, right):
            operands: tuple[Operand, ...] = (left, right)
        case Between(operand, low, high):
            operands = (operand, low, high)
        case Among(operand, options):
            operands = (operand, *options)
        case Called(_, place):
            operands = (place,)
        case Joined(_, members):
            return [place for member in members for place in _places_in(member)]
        case Negated(member):
            return _places_in(member)
        case _:
            raise TypeError(condition)
    places = (each.place if isinstance(each, Size) else each for each in operands)
    return [place for place in places if isinstance(place, Place)]


# Updates.


@dataclass(frozen=True, slots=True)
class SetTo:
    """Put a value at a place."""

    place: Place
    value: Operand


@dataclass(frozen=True, slots=True)
class Removed:
    """Take away what is at a place."""

    place: Place


@dataclass(frozen=True, slots=True)
class Added:
    """Add to a number, or members to a set."""

    place: Place
    value: Given


@dataclass(frozen=True, slots=True)
class Taken:
    """Take members out of a set."""

    place: Place
    value: Given


Action = SetTo | Removed | Added | Taken


def names_in_update(actions: Iterable[Action]) -> set[str]:
    """Return the stored names of the attributes that an update changes or looks at."""
    operands: list[Operand] = []
    for action in actions:
        operands.append(action.place)
        if isinstance(action, SetTo):
            operands.append(action.value)
    found: set[str] = set()
    while operands:
        match operands.pop():
            case Place(steps) | Size(Place(steps)):
                found.add(str(steps[0]))
            case Computed(_, left, right):
                operands += (left, right)
            case _:
                pass
    return found


@dataclass(slots=True)
class ExpressionWriter:
    """Writes trees as expressions; every name and value is behind a placeholder.

    >>> writer = ExpressionWriter(datetime.min)
    >>> writer.write_condition(Called("attribute_exists", Place(("Base",)))), writer.names
    ('attribute_exists(#0)', {'#0': 'Base'})
    """

    now: datetime
    names: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[str, AttributeValue] = field(default_factory=dict[str, AttributeValue])
    _by_name: dict[str, str] = field(default_factory=dict[str, str])

    def write_name(self, name: str) -> str:
        """Return the placeholder of an attribute's name."""
        placeholder = self._by_name.get(name)
        if placeholder is None:
            placeholder = self._by_name[name] = f"#{len(self._by_name)}"
            self.names[placeholder] = name
        return placeholder

    def write_value(self, value: AttributeValue) -> str:
        """Return the placeholder of a value."""
        for placeholder, known in self.values.items():
            if known == value and known.keys() == value.keys():
                return placeholder
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def write_place(self, place: Place) -> str:
        """Return a path."""
        text = ""
        for step in place.steps:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += ("." if text else "") + self.write_name(step)
        return text

    def write_operand(self, operand: Operand) -> str:
        """Return an operand."""
        match operand:
            case Place():
                return self.write_place(operand)
            case Size(place):
                return f"size({self.write_place(place)})"
            case Given():
                return self.write_value(operand.resolve(self.now))
            case Computed(("+" | "-") as sign, left, right):
                return f"{self.write_operand(left)} {sign} {self.write_operand(right)}"
            case Computed(function, left, right):
                return f"{function}({self.write_operand(left)}, {self.write_operand(right)})"
            case _:
                assert_never(operand)

    def write_condition(self, condition: Condition) -> str:
        """Return a condition."""
        match condition:
            case Compared(left, comparator, right):
                return f"{self.write_operand(left)} {comparator} {self.write_operand(right)}"
            case Between(operand, low, high):
                ends = f"{self.write_operand(low)} AND {self.write_operand(high)}"
                return f"{self.write_operand(operand)} BETWEEN {ends}"
            case Among(operand, options):
                written = ", ".join(map(self.write_operand, options))
                return f"{self.write_operand(operand)} IN ({written})"
            case Called(function, place, argument):
                arguments = [self.write_place(place)]
                if argument is not None:
                    arguments.append(self.write_operand(argument))
                return f"{function}({', '.join(arguments)})"
            case Joined(word, members):
                return f" {word} ".join(self._write_member(member) for member in members)
            case Negated(member):
                return f"NOT ({self.write_condition(member)})"
            case _:
                raise TypeError(condition)

    def _write_member(self, member: Condition) -> str:
        written = self.write_condition(member)
        return f"({written})" if isinstance(member, Joined) else written

    def write_update(self, actions: tuple[Action, ...]) -> str:
        """Return an update."""
        clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
        for action in actions:
            place = self.write_place(action.place)
            match action:
                case SetTo(_, value):
                    clauses["SET"].append(f"{place} = {self.write_operand(value)}")
                case Removed():
                    clauses["REMOVE"].append(place)
                case Added(_, value):
                    clauses["ADD"].append(f"{place} {self.write_operand(value)}")
                case Taken(_, value):
                    clauses["DELETE"].append(f"{place} {self.write_operand(value)}")
                case _:
                    assert_never(action)
        return " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses.items() if parts)

    def add_to(self, request: dict[str, Any]) -> None:
        """Add the names and values that were used to a request."""
        if self.names:
            request["ExpressionAttributeNames"] = dict(self.names)
        if self.values:
            request["ExpressionAttributeValues"] = dict(self.values)
