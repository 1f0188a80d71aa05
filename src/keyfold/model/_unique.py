"""Unique fields: the names of their guards, and the values that an item holds of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from keyfold.expressions import Action, SetTo, Source
from keyfold.model._key_types import find_secret_problem
from keyfold.model._type_names import name_type
from keyfold.values import AttributeValue

if TYPE_CHECKING:
    from keyfold.model._codecs import ModelCodec
    from keyfold.model._key_parts import KeyPart
    from keyfold.model._schemas import EntitySchema

# The fields that a class statement declares unique, each with the name given for its guards.
UniqueNames = Mapping[str, str | None]

_SCALARS = frozenset({"S", "N", "B"})
# A guard's partition key holds the name, the value's type and at most 200 characters of the value.
_MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class UniqueField:
    """A unique field: the name of its guards, and the attributes that may hold its value.

    `attributes` has the stored name first, then former ones. The name of the guards outlives
    renames of the class and the field: it is made of the oldest kind and the oldest stored name,
    or was given (`is_given`).
    """

    field: str
    guard: str
    attributes: tuple[str, ...]
    is_given: bool = False

    def value_in(self, item: Mapping[str, AttributeValue]) -> AttributeValue | None:
        """Return the value that an item holds; None if it holds none."""
        attribute = self.attribute_in(item)
        if attribute is None or not item[attribute].keys() <= _SCALARS:
            return None
        return item[attribute]

    def attribute_in(self, item: Mapping[str, AttributeValue]) -> str | None:
        """Return the attribute in which an item has the field; None if it has none."""
        return next((each for each in self.attributes if each in item), None)


def find_unique_sources(
    unique: Mapping[str, UniqueField], actions: Iterable[Action]
) -> dict[str, Source | None]:
    """Return what an update's actions set unique fields to, by field; None for one that is removed."""
    fields = {field.attributes[0]: name for name, field in unique.items()}
    return {
        fields[str(action.path.steps[0])]: action.source if isinstance(action, SetTo) else None
        for action in actions
        if action.path.steps[0] in fields
    }


def read_unique(given: str | Sequence[str] | Mapping[str, str]) -> UniqueNames:
    """Return the fields of the option `unique`, each with the name given for its guards."""
    if isinstance(given, Mapping):
        return dict(given)
    return dict.fromkeys((given,) if isinstance(given, str) else given)


def make_unique_fields(
    unique: UniqueNames, codec: ModelCodec, oldest_kind: str
) -> dict[str, UniqueField]:
    """Return the unique fields of an entity whose declaration has no problems, by field name."""
    fields: dict[str, UniqueField] = {}
    for name, given in unique.items():
        stored = codec.fields[name]
        attributes = (stored.stored, *stored.former)
        guard = f"{oldest_kind}.{attributes[-1]}" if given is None else given
        fields[name] = UniqueField(name, guard, attributes, given is not None)
    return fields


def find_unique_problems(
    name: str,
    unique: UniqueNames,
    codec: ModelCodec,
    keys: tuple[KeyPart, ...],
) -> Iterator[str]:
    """Yield the problems of an entity's unique fields."""
    if not unique:
        return
    for each in unique:
        field = codec.fields.get(each)
        if field is None:
            known = ", ".join(codec.fields) or "none"
            yield f"{name}: unique field {each!r} is not one of its fields, which are {known}."
        elif field.codec.is_secret:
            yield find_secret_problem(name, field, "unique")
        elif field.is_part:
            yield (
                f"{name}.{each}: a unique field is an attribute, but this is stored only in the key. "
                "Declare it with attr()."
            )
        elif not field.codec.kinds or not field.codec.kinds <= _SCALARS:
            yield (
                f"{name}.{each}: a unique field must be stored as text, a number or bytes; it is "
                f"{name_type(field.annotation)}."
            )
    if any(part.kind != "S" for part in keys):
        yield f"{name}: it has unique fields, whose guard items need a table with text keys."


def find_guard_name_problems(name: str, fields: Iterable[UniqueField]) -> Iterator[str]:
    """Yield the problems of the names of an entity's guards."""
    listed = list(fields)
    for each in listed:
        if not each.guard or "#" in each.guard or len(each.guard) > _MAX_NAME_LENGTH:
            yield (
                f"{name}.{each.field}: its guards cannot be named {each.guard!r:.80}: a name has 1 "
                f"to {_MAX_NAME_LENGTH} characters other than '#'. Give one with "
                f'unique={{"{each.field}": "…"}}.'
            )
    for one, other in combinations(listed, 2):
        if one.guard == other.guard:
            yield (
                f"{name}.{other.field}: its guards are named {other.guard!r}, as are those of "
                f"{one.field}. Give each field a name of its own."
            )


def find_shared_guards(schemas: Iterable[EntitySchema]) -> Iterator[str]:
    """Yield a problem for each guard name that two entities share without both saying so."""
    for one, other in combinations(list(schemas), 2):
        theirs = {each.guard: each for each in other.unique.values()}
        for mine in one.unique.values():
            shared = theirs.get(mine.guard)
            if shared is None or (mine.is_given and shared.is_given):
                continue
            yield (
                f"{one.name}.{mine.field} and {other.name}.{shared.field}: the guards of both are "
                f"named {mine.guard!r}. Give one another name with unique={{…}}; give the name to "
                "both if no value may occur in either twice."
            )
