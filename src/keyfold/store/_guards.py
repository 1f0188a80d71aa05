"""Guard items, which keep unique fields unique: one per value, in the entity's table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from keyfold.model._keys import TableLike
from keyfold.model._schemas import EntitySchema
from keyfold.policy import UNIQUE_START
from keyfold.values import AttributeValue, Item, normalise_number

_SORT = "keyfold#unique"
_MAX_LENGTH = 200


def guard_key(schema: EntitySchema, field: str, value: AttributeValue) -> Item:
    """Return the key of the guard item for one stored value of a unique field."""
    ((kind, data),) = value.items()
    text: str = data.hex() if kind == "B" else normalise_number(data) if kind == "N" else data
    if len(text) > _MAX_LENGTH:
        text = hashlib.sha256(text.encode()).hexdigest()
    key = schema.table.key
    item: Item = {key.partition[0]: {"S": f"{UNIQUE_START}{schema.name}#{field}#{kind}#{text}"}}
    if key.sort:
        item[key.sort[0]] = {"S": _SORT}
    return item


def guard_item(schema: EntitySchema, field: str, value: AttributeValue) -> Item:
    """Return the guard item for one stored value of a unique field."""
    return {**guard_key(schema, field, value), "guards": {"S": f"{schema.name}.{field}"}}


def is_guard(table: TableLike, item: Mapping[str, AttributeValue]) -> bool:
    """Return whether an item is a guard item."""
    text = item.get(table.key.partition[0], {}).get("S")
    return text is not None and text.startswith(UNIQUE_START)
