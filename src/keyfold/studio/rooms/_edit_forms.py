"""The form of an item: every field of its entity, with its shape, value and rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from keyfold.errors import KeyfoldError
from keyfold.keys import Ulid
from keyfold.keys._annotations import find_type
from keyfold.model._codecs import StoredField
from keyfold.model._schemas import EntitySchema
from keyfold.studio._shown_types import show_field_type
from keyfold.studio.rooms._edit_shapes import show_shape
from keyfold.values import AttributeValue, Item, normalise_value


def show_form(schema: EntitySchema, item: Item | None) -> list[dict[str, Any]]:
    """Return the fields of an entity as a form, with the values of a normalised item.

    Each has `name`, `attribute` (null if it is stored only in the key), `type`, `shape`, `required`,
    `key` (whether the primary key is made from it), `unique`, `secret`, `managed` (what the store sets:
    `version`, `created`, `updated`; else null), `expires` (whether it is the expiry), `default`,
    `description`, `value`. A new item also has `fresh`: a new id, or what the field's factory makes.
    """
    return [_show_field(schema, each, item) for each in schema.fields.values()]


def _show_field(schema: EntitySchema, field: StoredField, item: Item | None) -> dict[str, Any]:
    info: FieldInfo = schema.entity.__pydantic_fields__[field.name]
    default = None if info.default is PydanticUndefined else info.default
    shown: dict[str, Any] = {
        "name": field.name,
        "attribute": None if field.is_part else field.stored,
        "type": show_field_type(field),
        "shape": _show_key_shape(field) if field.is_part else show_shape(field),
        "required": field.is_needed,
        "key": field.name in schema.key_fields,
        "unique": field.name in schema.unique,
        "secret": field.codec.is_secret,
        "managed": find_manager(schema, field),
        "expires": schema.ttl_field is field,
        "default": _encode(field, default),
        "description": info.description or "",
        "value": None if item is None else find_value(schema, field.name, item),
    }
    if item is None:
        fresh = _make_fresh(field, info)
        # A field that may be without a value begins with its default, so that it can be unset.
        shown["fresh"] = _encode(field, default if fresh is None and field.accepts_none else fresh)
    return shown


def _show_key_shape(field: StoredField) -> dict[str, Any]:
    """Return the shape of a field that is stored only in the key: as the text that it is there."""
    shape = show_shape(field)
    return shape if shape["stored"] == "S" else {"kind": "text", "stored": "S"}


def find_manager(schema: EntitySchema, field: StoredField) -> str | None:
    """Return which value of the store's a field holds; None for a field that people set."""
    completion = schema.completion
    if schema.version_field is field:
        return "version"
    if completion is not None:
        for name, each in (("created", completion.created), ("updated", completion.updated)):
            if each is field:
                return name
    return None


def find_value(schema: EntitySchema, name: str, item: Item) -> AttributeValue | None:
    """Return the value of a field in a normalised item; the text in its key, if it is only there."""
    field = schema.fields[name]
    stored = None if field.is_part else field.find(item)
    if stored is not None:
        return stored
    text = read_key_texts(schema, item).get(name)
    return None if text is None else {"S": text}


def value_in(schema: EntitySchema | None, name: str, item: Item | None) -> AttributeValue | None:
    """Return the value of a field in an item of an entity that may not have it."""
    if schema is None or item is None or name not in schema.fields:
        return None
    return find_value(schema, name, item)


def read_key_texts(schema: EntitySchema, item: Mapping[str, AttributeValue]) -> dict[str, str]:
    """Return the texts of the fields that the templates of an item's primary key contain."""
    found: dict[str, str] = {}
    for part in schema.keys:
        text = item.get(part.attribute, {}).get("S")
        values = None if part.template is None or text is None else part.template.parse(text)
        if values is not None and part.template is not None:
            found |= {
                each.name: each.format.render(values[each.name]) for each in part.template.parts
            }
    return found


def _make_fresh(field: StoredField, info: FieldInfo) -> Any:
    """Return a new value for a new item: an id, or what the factory of the field makes."""
    if info.default_factory is not None and not info.default_factory_takes_validated_data:
        factory: Any = info.default_factory
        return factory()
    kind: Any = find_type(field.annotation)
    if field.is_required and isinstance(kind, type) and issubclass(kind, Ulid) and kind.head:
        return kind.new()
    return None


def _encode(field: StoredField, value: Any) -> AttributeValue | None:
    """Return a default value as it would be stored; None if it would not be."""
    if value is None or (field.is_set and not value):
        return None
    try:
        stored = normalise_value(field.codec.encode(value))[0]
    except (KeyfoldError, AttributeError, TypeError, ValueError):
        return None
    ((kind, data),) = stored.items()
    return {"S": str(data)} if field.is_part and kind != "S" else stored
