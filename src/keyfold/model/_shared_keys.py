"""Entities that can have the same key, which only the table's type attribute tells apart."""

from __future__ import annotations

from collections.abc import Iterable

from keyfold.expressions import Comparison, Condition, FunctionCall, In, Not, Path
from keyfold.keys import KeyTemplate, find_collision
from keyfold.model._schemas import EntitySchema


def key_templates(schema: EntitySchema) -> list[KeyTemplate] | None:
    """Return the templates of an entity's key; None if its key is free-form."""
    found = [part.template for part in schema.keys if part.template is not None]
    return found if len(found) == len(schema.keys) else None


def can_share_key(one: EntitySchema, other: EntitySchema) -> bool:
    """Return whether items of both entities can have the same key."""
    templates, others = key_templates(one), key_templates(other)
    if templates is None or others is None:
        return True
    return find_collision(templates, others) is not None


def find_sharing(schema: EntitySchema, entities: Iterable[EntitySchema]) -> list[EntitySchema]:
    """Return the other entities that can have the keys of this one."""
    return [
        other for other in entities if other.name != schema.name and can_share_key(schema, other)
    ]


def is_of_kind(schema: EntitySchema) -> Condition | None:
    """Return the condition that an item is not of another entity, by its type attribute.

    Items without the attribute are of whatever entity has their key. Returns None if the table has
    no type attribute.
    """
    if schema.type_attribute is None:
        return None
    path, kinds = Path((schema.type_attribute[0],)), schema.kinds
    own: Condition = Comparison("=", path, {"S": kinds[0]})
    if len(kinds) > 1:
        own = In(path, tuple({"S": kind} for kind in kinds))
    return FunctionCall("attribute_not_exists", (path,)) | own


def is_free_of_others(schema: EntitySchema) -> Condition | None:
    """Return the condition that a key has no item of another entity; None if it cannot have one.

    The fallback has the items of all kinds that no other entity has.
    """
    if schema.type_attribute is None:
        return None
    others: tuple[EntitySchema, ...] = schema.table.find_sharing(schema)
    if not others:
        return None
    if schema.table.fallback is not schema:
        return is_of_kind(schema)
    kinds = tuple({"S": kind} for other in others for kind in other.kinds)
    return Not(In(Path((schema.type_attribute[0],)), kinds))
