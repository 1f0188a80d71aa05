"""What an instance knows of its stored item: its key, its version, and the values that it has seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import BaseModel

from keyfold.model._any_values import decode_any
from keyfold.model._placeholders import Placeholder
from keyfold.model._schemas import EntitySchema
from keyfold.values import AttributeValue, Item


def schema_of(entity: Any) -> EntitySchema:
    """Return the schema of an entity's class."""
    return cast(Any, type(entity)).keyfold_schema()


def make_key_of(schema: EntitySchema, entity: Any) -> tuple[Item, Mapping[str, Any]]:
    """Return the primary key of an entity, and the fields that it is made from.

    Raises MissingKeyPart for an entity that was made without them, by `model_construct`.
    """
    held = entity.__dict__
    return schema.make_key({name: held[name] for name in schema.key_fields if name in held})


def read_key_fields(schema: EntitySchema, item: Mapping[str, AttributeValue]) -> dict[str, Any]:
    """Return the fields that the key of an item is made from."""
    fields: dict[str, Any] = {}
    for part in schema.keys:
        if part.template is not None:
            text = item.get(part.attribute, {}).get("S", "")
            fields |= part.template.parse(text) or {}
        elif part.held_by is not None and part.attribute in item:
            fields[part.held_by.name] = decode_any(item[part.attribute])
    return fields


def find_version(entity: Any, schema: EntitySchema) -> Any:
    """Return the version that an entity was read with; None if its item had none."""
    assert schema.version_field is not None  # or there is no version to ask for
    held = getattr(entity, schema.version_field.name)
    return held if isinstance(held, Placeholder) else held or None


def find_unstored(schema: EntitySchema, entity: BaseModel, names: Iterable[str]) -> frozenset[str]:
    """Return the fields with a default that the item may not have: it was not read with them.

    Where a missing attribute is read as None or an empty set, it is not read as the default.
    """
    return frozenset(names) - entity.model_fields_set - schema.codec.absent.keys()


def find_seen(schema: EntitySchema, entity: Any) -> dict[str, Any]:
    """Return what an entity has of the fields that index keys are made from."""
    held = entity.__dict__
    return {
        name: held[name]
        for part in schema.index_templates
        for name in part.fields
        if name not in schema.key_fields and name in held
    }


def known_version(schema: EntitySchema, entity: Any) -> dict[str, Any] | None:
    """Return the version that an entity was read with, by field name; None without a Version field."""
    version = schema.version_field
    return None if version is None else {version.name: find_version(entity, schema)}
