"""What an edit expects to be stored still: conditions on the values that it is based on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.expressions import Comparison, Condition
from keyfold.model._paths import field_path, path_info
from keyfold.model._schemas import EntitySchema
from keyfold.values import AttributeValue, Item


def expect_value(schema: EntitySchema, name: str, value: Any, *, may_lack: bool) -> Condition:
    """Return the condition that a field has a value; the item `may_lack` it if it is a default."""
    path = field_path(schema, name)
    if _is_absent(value):
        return path.not_exists()
    return path.eq(value) | path.not_exists() if may_lack else path.eq(value)


def expect_as_stored(schema: EntitySchema, name: str, item: Item) -> Condition:
    """Return the condition that a field is stored as in an item."""
    path, stored = field_path(schema, name), _find_stored(schema, name, item)
    return path.not_exists() if stored is None else Comparison("=", path_info(path).path, stored)


def has_another_form(schema: EntitySchema, expected: Mapping[str, Any], item: Item) -> bool:
    """Return whether an item stores one of these values in another form, or not at all."""
    for name, value in expected.items():
        encode = path_info(field_path(schema, name)).codec.encode
        if _find_stored(schema, name, item) != (None if _is_absent(value) else encode(value)):
            return True
    return False


def _find_stored(schema: EntitySchema, name: str, item: Item) -> AttributeValue | None:
    field = schema.fields.get(name)
    return item.get(name) if field is None else field.find(item)


def _is_absent(value: Any) -> bool:
    """Return whether a value is not stored: None, and an empty set."""
    return value is None or (isinstance(value, set | frozenset) and not value)
