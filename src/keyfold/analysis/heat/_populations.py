"""How many different keys there are, of which requests use one: by the declaration and the sample."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from math import prod
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from keyfold.analysis.profiles import TableProfile
from keyfold.analysis.samples import fallback_last, name_entity
from keyfold.keys._annotations import find_type
from keyfold.model import Table
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema
from keyfold.store._own_items import is_own_item
from keyfold.values import Item

# The part of a table or index that a key belongs to: its name, and the entity.
KeyRole = tuple[str, str]

# Items of no entity, such as the guards of unique values.
OTHERS = "others"


class KeyPopulations:
    """The number of partition keys of each entity, in the table ("") and in each index."""

    def __init__(self, profile: TableProfile) -> None:
        self.table = profile.table
        self._counts = dict(_count_keys(profile))

    def count(self, role: KeyRole) -> float:
        """Return how many partition keys of a role there are."""
        return self._counts.get(role, 1.0)

    def is_fixed(self, role: KeyRole) -> bool:
        """Return whether the declaration says how many keys there are, whatever is stored."""
        name, entity = role
        schema = self.table.entities.get(entity)
        return schema is not None and _closed_count(schema, name) is not None


def find_role(table: Table, name: str, key: Item | None) -> KeyRole:
    """Return the role of a key of the table ("") or an index; without a key, that of a scan.

    Entities of one partition share a role in the table. In an index, whose partition key is often a
    field that several entities have, the sort key tells them apart.
    """
    if key is None or is_own_item(table, key):
        return name, OTHERS
    found = [
        schema
        for schema in fallback_last(table)
        if any(_fits(part, key) for part in _partition_parts(schema, name))
    ]
    alike = (schema for schema in found if name and _fits_in(schema, name, key))
    best = next(alike, found[0] if found else None)
    return name, OTHERS if best is None else best.name


def _fits_in(schema: EntitySchema, name: str, key: Item) -> bool:
    """Return whether all parts of an index's key are like those of an entity."""
    return any(
        all(_fits(part, key) for part in parts) for parts in schema.index_alternatives.get(name, ())
    )


def _partition_parts(schema: EntitySchema, name: str) -> Iterator[KeyPart]:
    if not name:
        yield schema.partition
    elif name in schema.index_alternatives:
        yield from (parts[0] for parts in schema.index_alternatives[name])
    elif name in schema.index_keys:
        yield schema.index_keys[name][0]


def _fits(part: KeyPart, key: Item) -> bool:
    value = key.get(part.attribute)
    if value is None:
        return False
    text = value.get("S")
    if part.template is None:
        kind = None if part.held_by is None else find_type(part.held_by.annotation)
        return get_origin(kind) is not Literal or text in get_args(kind)
    return isinstance(text, str) and part.template.parse(text) is not None


def _closed_count(schema: EntitySchema, name: str) -> float | None:
    """Return how many keys an entity's templates allow; None if there is no limit."""
    counts: list[float] = []
    for part in _partition_parts(schema, name):
        found = [_count_values(schema, field) for field in part.fields]
        if any(each is None for each in found):
            return None
        counts.append(prod(each for each in found if each is not None))
    return sum(counts) if counts else None


def _count_values(schema: EntitySchema, field: str) -> float | None:
    """Return how many values a field may have: of an enum, a bool or literals; None if many."""
    info = schema.entity.__pydantic_fields__.get(field)
    annotation: Any = None if info is None else info.annotation
    if get_origin(annotation) in (Union, UnionType):
        # An item without a value is not in the index.
        kinds = [each for each in get_args(annotation) if each is not NoneType]
        annotation = kinds[0] if len(kinds) == 1 else None
    if annotation is bool:
        return 2
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return len(annotation)
    if get_origin(annotation) is Literal:
        return len(get_args(annotation))
    return None


def _count_keys(profile: TableProfile) -> Iterator[tuple[KeyRole, float]]:
    table = profile.table
    keys: dict[KeyRole, set[str]] = {}
    items: dict[KeyRole, int] = {}
    for item in profile.items:
        entity = name_entity(table, item) or OTHERS
        for name, attributes in partition_names(table).items():
            if all(each in item for each in attributes):
                role = name, entity
                keys.setdefault(role, set()).add(repr([item[each] for each in attributes]))
                items[role] = items.get(role, 0) + 1
    for role, found in keys.items():
        name, entity = role
        schema = table.entities.get(entity)
        closed = None if schema is None else _closed_count(schema, name)
        grown = _expected_items(profile, role) / items[role]
        yield role, closed if closed is not None else max(1.0, len(found) * grown)


def _expected_items(profile: TableProfile, role: KeyRole) -> float:
    """Return how many items of a role there are at all; 0 if the workload does not say it."""
    name, entity = role
    expected = profile.sizes.expected[name or None]
    if entity in expected:
        return expected[entity].items
    if name:
        # The sort keys of guards are all the same, and so are their keys in a reverse index.
        return 0.0
    return sum(size.items for each, size in expected.items() if each not in profile.table.entities)


def partition_names(table: Table) -> dict[str, tuple[str, ...]]:
    """Return the attributes of the partition keys of the table ("") and its global indexes."""
    request = table.to_dynamodb()
    described = [("", request["KeySchema"])]
    described += [
        (each["IndexName"], each["KeySchema"]) for each in request.get("GlobalSecondaryIndexes", ())
    ]
    return {
        name: tuple(each["AttributeName"] for each in schema if each["KeyType"] == "HASH")
        for name, schema in described
    }
