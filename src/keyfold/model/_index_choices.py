"""Several templates of one entity for one index: an item uses the first whose fields all have values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from keyfold.errors import FieldUnknown, QueryInvalid
from keyfold.keys import KeyTemplate, find_collision
from keyfold.model._codecs import StoredField
from keyfold.model._key_parts import KeyPart
from keyfold.model._keys import Key
from keyfold.values import AttributeValue

Alternative = tuple[KeyPart, ...]
_UNKNOWN = object()


@dataclass(frozen=True, slots=True)
class ChoicePart(KeyPart):
    """A key attribute of an index that is rendered by one of several templates.

    `options` has the parts in which the alternatives differ, and `position` is that of this attribute
    among them. An option is chosen as a whole, so that all attributes are of the same one.
    """

    options: tuple[Alternative, ...] = ()
    position: int = 0

    def __post_init__(self) -> None:
        fields = dict.fromkeys(name for option in self.options for name in fields_of(option))
        object.__setattr__(self, "fields", tuple(fields))

    def render(self, values: Mapping[str, Any]) -> AttributeValue | None:
        """Return the attribute by the first option whose fields all have values; None if none is."""
        for option in self.options:
            if all(values[name] is not None for name in fields_of(option)):
                return option[self.position].render(values)
        return None


def fields_of(parts: Sequence[KeyPart]) -> tuple[str, ...]:
    """Return the fields that key parts are made from."""
    return tuple(dict.fromkeys(name for part in parts for name in part.fields))


def text_of(part: KeyPart) -> str:
    """Return the template of a key part as it was declared; several are separated by bars."""
    if isinstance(part, ChoicePart):
        return " | ".join(text_of(option[part.position]) for option in part.options)
    if part.held_by is not None:
        return "{" + part.held_by.name + "}"
    return "" if part.template is None else part.template.text


def join_alternatives(alternatives: Sequence[Alternative]) -> Alternative:
    """Return the parts of an index key; those in which the alternatives differ are choices."""
    first = alternatives[0]
    differing = [
        position
        for position, part in enumerate(first)
        if any(text_of(other[position]) != text_of(part) for other in alternatives)
    ]
    options = tuple(tuple(each[position] for position in differing) for each in alternatives)
    return tuple(
        ChoicePart(part.attribute, part.template, None, options, differing.index(position))
        if position in differing
        else part
        for position, part in enumerate(first)
    )


# Updates: what is known of an entity may be only a part of it.


def _options_of(part: KeyPart) -> tuple[Alternative, ...]:
    return part.options if isinstance(part, ChoicePart) else ((part,),)


def find_missing(part: KeyPart, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields that have to be known, besides `values`, to render a part."""
    for option in _options_of(part):
        names = fields_of(option)
        if any(values.get(name, _UNKNOWN) is None for name in names):
            continue
        return tuple(name for name in names if name not in values)
    return ()


def find_decisive(part: KeyPart, assigned: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields whose values decide how a part is rendered after fields are assigned."""
    decisive: dict[str, None] = {}
    for option in _options_of(part):
        names = fields_of(option)
        if any(assigned.get(name, _UNKNOWN) is None for name in names):
            continue
        decisive.update(dict.fromkeys(names))
        if all(name in assigned for name in names):
            break
    return tuple(decisive)


def render_known(part: KeyPart, values: Mapping[str, Any]) -> AttributeValue | None:
    """Render a part with what is known; None if the entity is not in the index."""
    for option in _options_of(part):
        if all(values.get(name, _UNKNOWN) is not None for name in fields_of(option)):
            position = part.position if isinstance(part, ChoicePart) else 0
            return option[position].render(values)
    return None


# Queries.


def choose_alternative(
    where: str, key: Key, alternatives: Sequence[Alternative], fields: Mapping[str, Any]
) -> tuple[Alternative, Mapping[str, Any]]:
    """Return the key parts that a query is for, by the fields that it gives, and those fields.

    A field that is None has no value, which rules out the templates that need it. If the fields fit
    several templates with the same partition, the query is for the whole partition. Raises
    FieldUnknown and QueryInvalid.
    """
    usable = dict.fromkeys(name for each in alternatives for name in fields_of(each))
    for name in fields:
        if name not in usable:
            raise FieldUnknown(where, name, tuple(usable))
    given = {name: value for name, value in fields.items() if value is not None}
    count = len(key.partition)
    fitting = [
        each
        for each in alternatives
        if set(fields_of(each[:count])) <= given.keys() <= set(fields_of(each))
        and all(fields.get(name, _UNKNOWN) is not None for name in fields_of(each))
    ]
    if len(fitting) == 1:
        return fitting[0], given
    shown = "; ".join(" and ".join(map(text_of, each)) for each in alternatives)
    if not fitting:
        got = ", ".join(given) or "nothing"
        raise QueryInvalid(where, f"none of its templates fits; got {got}", f"It has {shown}.")
    partitions = {tuple(map(text_of, each[:count])) for each in fitting}
    if len(partitions) == 1 and given.keys() == set(fields_of(fitting[0][:count])):
        return fitting[0][:count], given
    fact = f"several of its templates fit: {shown}"
    raise QueryInvalid(where, fact, "Pass more fields, or None for a field without a value.")


# Problems of declarations.


def find_choice_problems(
    owner: str, key: Key, alternatives: Sequence[Alternative], fields: Mapping[str, StoredField]
) -> Iterator[str]:
    """Yield the problems of several templates for one index."""
    for position in range(len(key.names)):
        held = {each[position].held_by is not None for each in alternatives}
        if len(held) > 1:
            name = alternatives[0][position].attribute
            yield (
                f"{owner}: {name!r} is the stored name of a field, so all templates must have that "
                "field there. Give the field another name with attr()."
            )
    for one, other in combinations(alternatives, 2):
        optional = [
            {name for name in fields_of(each) if fields[name].accepts_none} for each in (one, other)
        ]
        shown = [" and ".join(map(text_of, each)) for each in (one, other)]
        if optional[0] <= optional[1]:
            yield (
                f"{owner}: {shown[1]!r} is never used: whenever its fields have values, those of "
                f"{shown[0]!r} have values, and that comes first."
            )
        elif _can_mix(len(key.partition), one, other):
            yield (
                f"{owner}: a query for {shown[0]!r} could return items of {shown[1]!r}. Begin their "
                "partition keys, or their sort keys, with different texts."
            )


def _can_mix(count: int, one: Alternative, other: Alternative) -> bool:
    """Return whether a query for one alternative could return items of another."""
    partitions = [[part.template for part in each[:count]] for each in (one, other)]
    templates = [[each for each in found if each is not None] for found in partitions]
    are_templates = len(templates[0]) == len(templates[1]) == count
    if are_templates and find_collision(templates[0], templates[1]) is None:
        return False
    heads = [_head_of(each[count:]) for each in (one, other)]
    return heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])


def _head_of(sort: Sequence[KeyPart]) -> str:
    template: KeyTemplate | None = sort[0].template if sort else None
    return "" if template is None else template.prefix({}).text
