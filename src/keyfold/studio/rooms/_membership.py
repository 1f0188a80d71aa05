"""Sparse indexes in words: which entities are in an index, and what decides that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from keyfold.keys._annotations import find_type
from keyfold.model import Index, Table
from keyfold.model._index_choices import fields_of
from keyfold.model._schemas import EntitySchema

# "free": the entity takes attributes of any name, so its items may have the key of any index.
Belonging = Literal["always", "if set", "never", "free"]


@dataclass(frozen=True, slots=True)
class IndexMembership:
    """Whether the items of an entity are in an index.

    `fields` have to be set for that, and `sentence` says so; names in it are in backticks.
    """

    entity: str
    index: str
    belongs: Belonging
    fields: tuple[str, ...]
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Return the membership for the browser."""
        return {
            "entity": self.entity,
            "index": self.index,
            "belongs": self.belongs,
            "fields": self.fields,
            "sentence": self.sentence,
        }


def list_memberships(table: Table) -> list[IndexMembership]:
    """Return the memberships of all entities in all indexes, by index."""
    return [
        find_membership(table, schema, index)
        for index in table.indexes
        for schema in table.entities.values()
    ]


def find_membership(table: Table, schema: EntitySchema, index: Index) -> IndexMembership:
    """Return whether the items of an entity are in an index, and why."""
    alternatives = schema.index_alternatives.get(index.name, ())
    if not alternatives:
        return _find_without_key(schema, index)
    needed = [
        tuple(name for name in fields_of(each) if schema.fields[name].accepts_none)
        for each in alternatives
    ]
    if not all(needed):
        sentence = _say_always(table, schema, index)
        return IndexMembership(schema.name, index.name, "always", (), sentence)
    names = tuple(dict.fromkeys(name for each in needed for name in each))
    sentence = f"{schema.name} is in {index.name} {_say_when(needed)}.{_say_fixed(schema, names)}"
    return IndexMembership(schema.name, index.name, "if set", names, sentence)


def _find_without_key(schema: EntitySchema, index: Index) -> IndexMembership:
    """Return the membership of an entity that does not declare the index's key."""
    lacking = [name for name in index.key.names if name not in schema.declared_names]
    names = _join(lacking or index.key.names)
    if schema.codec.has_extra:
        sentence = (
            f"{schema.name} takes attributes of any name: it is in {index.name} when {names} "
            f"{'is' if len(lacking) == 1 else 'are'} among them."
        )
        return IndexMembership(schema.name, index.name, "free", tuple(lacking), sentence)
    lacks = " and ".join(f"no `{name}`" for name in lacking)
    sentence = f"{schema.name} is never in {index.name}: it has {lacks}."
    return IndexMembership(schema.name, index.name, "never", (), sentence)


def _say_always(table: Table, schema: EntitySchema, index: Index) -> str:
    if set(index.key.names) <= set(table.key.names):
        return f"Every {schema.name} is in {index.name}: each item has {_join(index.key.names)}."
    fields = fields_of(schema.index_keys[index.name])
    if not fields:
        return f"Every {schema.name} is in {index.name}: its key there is always the same."
    verb = "is" if len(fields) == 1 else "are"
    return f"Every {schema.name} is in {index.name}: {_join(fields)} {verb} always set."


def _say_when(needed: Sequence[Sequence[str]]) -> str:
    """Return when an item is in an index: `when id and tp are set`."""
    listed = [f"{_join(each)} {'is' if len(each) == 1 else 'are'} set" for each in needed]
    return f"when {', or '.join(listed)}"


def _say_fixed(schema: EntitySchema, names: Sequence[str]) -> str:
    """Return a sentence about the fields that have only one value, and those that decide."""
    fixed = {name: value for name in names if (value := _find_only_value(schema, name)) is not None}
    if not fixed:
        return ""
    facts = " and ".join(f"`{name}` is always {value}" for name, value in fixed.items())
    rest = [name for name in names if name not in fixed]
    if not rest:
        return f" {_capitalise(facts)}, so every {schema.name} is."
    return f" {_capitalise(facts)}, so {_join(rest)} {'decides' if len(rest) == 1 else 'decide'}."


def _find_only_value(schema: EntitySchema, name: str) -> str | None:
    """Return the one value that a field has by default, and by its type, as text; or None."""
    kind = find_type(schema.fields[name].annotation)
    values = get_args(kind) if get_origin(kind) is Literal else ()
    default = schema.entity.__pydantic_fields__[name].default
    if len(values) != 1 or default != values[0]:
        return None
    return json.dumps(default) if isinstance(default, str) else repr(default)


def _join(names: Iterable[str]) -> str:
    """Return names in backticks: `a`, `b` and `c`."""
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} and {last}" if first else last


def _capitalise(text: str) -> str:
    # A name in backticks stays as it is written.
    return text if text.startswith("`") else text[:1].upper() + text[1:]
