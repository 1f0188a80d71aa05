"""Conditions that the stored values which an edit is based on are unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.errors import KeyfoldError, ValueInvalid
from keyfold.expressions import Comparison, Condition, FunctionCall, Path
from keyfold.model._any_values import Encode, encode_any
from keyfold.model._operands import is_stored_as, to_literal
from keyfold.model._scalars import show
from keyfold.model._schemas import EntitySchema
from keyfold.model._value_codecs import is_unstored
from keyfold.values import AttributeValue, Item


def expect_value(schema: EntitySchema, name: str, value: Any, *, may_lack: bool) -> Condition:
    """Return the condition that a field has a value; the item `may_lack` it if it is a default."""
    path, encode = _find_place(schema, name)
    absent = FunctionCall("attribute_not_exists", (path,))
    if is_unstored(value):
        return absent
    try:
        equal = Comparison("=", path, to_literal(value, encode))
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, KeyfoldError):
            raise
        # The value was never validated, as after model_construct.
        field = schema.fields.get(name)
        shown = show(value) if field is None else field.codec.show(value)
        fact = f"{shown} is not of the field's type"
        raise ValueInvalid(f"{schema.name}.{name}", fact, "") from error
    return equal | absent if may_lack else equal


def expect_as_stored(schema: EntitySchema, name: str, item: Item) -> Condition:
    """Return the condition that a field is stored as in an item."""
    return is_stored_as(_find_place(schema, name)[0], _find_stored(schema, name, item))


def has_another_form(schema: EntitySchema, expected: Mapping[str, Any], item: Item) -> bool:
    """Return whether an item stores one of these values in another form, or not at all."""
    for name, value in expected.items():
        encode = _find_place(schema, name)[1]
        if _find_stored(schema, name, item) != (None if is_unstored(value) else encode(value)):
            return True
    return False


def _find_place(schema: EntitySchema, name: str) -> tuple[Path, Encode]:
    """Return the path of a field, and how its values are encoded."""
    field = schema.fields.get(name)
    if field is None:
        return Path((name,), owner=schema.name), encode_any
    return Path((field.stored,), owner=schema.name), field.codec.encode


def _find_stored(schema: EntitySchema, name: str, item: Item) -> AttributeValue | None:
    field = schema.fields.get(name)
    return item.get(name) if field is None else field.find(item)
