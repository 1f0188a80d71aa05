"""Conflicts between the entities of a table: keys, kinds and types of key attributes."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from keyfold.keys import find_collision
from keyfold.model._shared_keys import key_templates

if TYPE_CHECKING:
    # A table looks for them when it is checked.
    from keyfold.model._tables import Table


def find_entity_conflicts(table: Table) -> list[str]:
    """Return why entities of a table cannot be told apart."""
    return [*_find_collisions(table), *_find_kind_conflicts(table)]


def _find_collisions(table: Table) -> list[str]:
    if table.type_attribute is not None:
        return []
    problems: list[str] = []
    own = [schema for schema in table.entities.values() if schema is not table.fallback]
    for one, other in combinations(own, 2):
        templates, others = key_templates(one), key_templates(other)
        if templates is None or others is None:
            problems.append(
                f"{one.name} and {other.name}: an entity with a free-form key must be the only "
                "one in its table, or the table's fallback."
            )
            continue
        example = find_collision(templates, others)
        if example is not None:
            problems.append(
                f"{one.name} and {other.name} can both have the key {example}. "
                "Change a template, so that a key identifies the entity of its item."
            )
    return problems


def _find_kind_conflicts(table: Table) -> list[str]:
    if table.type_attribute is None:
        return []
    owners: dict[str, str] = {}
    problems: list[str] = []
    for schema in table.entities.values():
        for kind in schema.kinds:
            other = owners.setdefault(kind, schema.name)
            if other != schema.name:
                problems.append(f"{other} and {schema.name} are both of kind {kind!r}.")
    return problems


def find_type_conflicts(table: Table) -> list[str]:
    """Return the key attributes whose types differ between entities, or cannot be a key's."""
    kinds: dict[str, dict[str, str]] = {}
    all_keys = (table.key, *(index.key for index in table.indexes))
    for key in all_keys:
        for name, kind in key.types.items():
            kinds.setdefault(name, {})[kind] = "the declaration"
    names = {name for key in all_keys for name in key.names}
    for schema in table.entities.values():
        for parts in (schema.keys, *schema.index_keys.values()):
            for part in parts:
                if part.held_by is None or part.held_by.codec.kinds:
                    kinds.setdefault(part.attribute, {})[part.kind] = schema.name
        # A field may be stored under one attribute of a key without filling the whole key.
        for name in names & schema.codec.by_stored.keys():
            for kind in schema.codec.by_stored[name].codec.kinds:
                kinds.setdefault(name, {})[kind] = schema.name
    unkeyable = [
        f"{found[kind]}: {name!r} is a key attribute, which holds text, a number or bytes, but "
        f"is stored as {kind} here."
        for name, found in kinds.items()
        for kind in found
        if kind not in ("S", "N", "B")
    ]
    return unkeyable + [
        f"{table.name}: key attribute {name!r} holds different types: "
        + ", ".join(f"{kind} for {entity}" for kind, entity in found.items())
        + "."
        for name, found in kinds.items()
        if len(found) > 1
    ]
