"""Relations between entities: one that has the key fields of another belongs to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from keyfold.keys._annotations import find_type
from keyfold.model import Table
from keyfold.model._schemas import EntitySchema


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """A relation: an entity `many` has the key fields of `one`, and so refers to it.

    `fields` are those of them that no other entity's key has. `is_optional` says that it may refer to none, `is_single` that at most one of it refers to the
    same.
    """

    one: str
    many: str
    fields: tuple[str, ...]
    is_optional: bool
    is_single: bool


def find_relations(table: Table) -> tuple[EntityRelation, ...]:
    """Return the relations of a table's entities, without those that follow from others.

    Fields of the same name and type are taken to mean the same.
    """
    schemas = {
        schema.name: schema for schema in table.entities.values() if schema is not table.fallback
    }
    found = list(_find_all(schemas))
    return tuple(each for each in found if not _follows(each, found, schemas))


def _find_all(schemas: Mapping[str, EntitySchema]) -> Iterator[EntityRelation]:
    seen: set[tuple[str, str]] = set()
    for one in schemas.values():
        for many in schemas.values():
            if one is many or not one.key_fields or (many.name, one.name) in seen:
                continue
            if all(_is_same(one, many, name) for name in one.key_fields):
                seen.add((one.name, many.name))
                yield EntityRelation(
                    one.name,
                    many.name,
                    _name_own(one, schemas),
                    any(many.fields[name].accepts_none for name in one.key_fields),
                    many.key_fields <= one.key_fields,
                )


def _name_own(schema: EntitySchema, schemas: Mapping[str, EntitySchema]) -> tuple[str, ...]:
    """Return the key fields that are an entity's own, not those of an entity that it belongs to.

    They are what refers to it: an order's `order`, without its `user`.
    """
    others = [each.key_fields for each in schemas.values() if each.key_fields < schema.key_fields]
    own = schema.key_fields.difference(*others) or schema.key_fields
    return tuple(name for name in schema.fields if name in own)


def _is_same(one: EntitySchema, many: EntitySchema, name: str) -> bool:
    if name not in many.fields:
        return False
    return find_type(one.fields[name].annotation) == find_type(many.fields[name].annotation)


def _follows(
    relation: EntityRelation,
    every: list[EntityRelation],
    schemas: Mapping[str, EntitySchema],
) -> bool:
    """Return whether an entity between the two already relates them: User, Order, OrderLine."""
    key = schemas[relation.one].key_fields
    between = {each.one for each in every if each.many == relation.many}
    return any(key < schemas[name].key_fields for name in between)
