"""Items as the browser shows them: their entity, decoded keys, fields, size and expiry.

One shape for every room, in JSON:

- `entity`: the name of the item's entity; null if it has none.
- `own`: true for Keyfold's own items, such as the guards of unique values.
- `key`: the primary key, in DynamoDB's JSON. `keys`: its attributes, decoded (see `show_key`).
- `fields`: those of the entity, in order: `name`, `attribute` (null for a part of the key), `type`, `value`
  (DynamoDB's JSON; null if it is not set), `secret`.
- `others`: attributes that the entity does not declare, in the same form.
- `bytes`, `expires` (seconds since 1970, or null), `expired`, and `problem`, which says why the item does
  not fit its entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from keyfold.errors import KeyfoldError
from keyfold.model import Table
from keyfold.model._hidden_attributes import hide_secrets
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.store._own_items import is_own_item
from keyfold.studio._shown_keys import show_key, show_key_text
from keyfold.studio._shown_types import show_field_type
from keyfold.studio._shown_values import SHORT_BYTES, show_stored
from keyfold.values import AttributeValue, Item, item_size_bytes


def find_entity(table: Table, item: Mapping[str, AttributeValue]) -> EntitySchema | None:
    """Return the schema of an item; None for Keyfold's own items, and others of no entity."""
    if is_own_item(table, item):
        return None
    for schema in table.entities.values():
        if schema is not table.fallback and schema.fits(item):
            return schema
    return table.fallback


def show_item(table: Table, item: Item, *, now: float, most: int = SHORT_BYTES) -> dict[str, Any]:
    """Return an item for the browser; values with more than `most` bytes are cut."""
    schema = find_entity(table, item)
    expires = find_expiry(table, item)
    parts = {} if schema is None else {part.attribute: part for part in schema.keys}
    names = table.key.names
    open_item = item if schema is None else hide_secrets([schema], item)
    shown: dict[str, Any] = {
        "entity": None if schema is None else schema.name,
        "own": is_own_item(table, item),
        "key": {name: show_stored(item[name]) for name in names},
        "keys": [show_key(parts.get(name), name, item[name]) for name in names],
        "fields": [] if schema is None else _show_fields(schema, open_item, most),
        "others": _show_others(table, schema, open_item, most),
        "bytes": item_size_bytes(item),
        "expires": expires,
        "expired": expires is not None and expires <= now,
        "problem": None if schema is None else find_problem(schema, item),
    }
    for key in shown["keys"]:
        key["value"] = shown["key"][key["attribute"]]
    return shown


def find_expiry(table: Table, item: Mapping[str, AttributeValue]) -> float | None:
    """Return when an item expires, in seconds since 1970; None if it does not."""
    value = {} if table.ttl is None else item.get(table.ttl, {})
    try:
        return float(str(value["N"]))
    except (KeyError, ValueError):
        return None


def find_problem(schema: EntitySchema, item: Item) -> str | None:
    """Return why an item does not fit its entity; None if it does."""
    try:
        schema.decode(item)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults)
    except (ItemMismatch, KeyfoldError) as error:
        return str(error)
    return None


def _show_fields(schema: EntitySchema, item: Item, most: int) -> list[dict[str, Any]]:
    in_keys = _read_parts(schema, item)
    shown: list[dict[str, Any]] = []
    for field in schema.fields.values():
        value = None if field.is_part else field.find(item)
        text = in_keys.get(field.name)
        shown.append(
            {
                "name": field.name,
                "attribute": None if field.is_part else field.stored,
                "type": show_field_type(field),
                "value": show_stored(value, most=most)
                if value is not None
                else None
                if text is None
                else {"S": text},
                "secret": field.codec.is_secret,
            }
        )
    return shown


def _read_parts(schema: EntitySchema, item: Item) -> dict[str, str]:
    """Return the texts of the fields that the primary key contains."""
    found: dict[str, str] = {}
    for part in schema.keys:
        value = item.get(part.attribute)
        if value is None:
            continue
        for piece in show_key(part, part.attribute, value)["pieces"]:
            if "part" in piece:
                found[piece["part"]] = piece["text"]
    return found


def _show_others(
    table: Table, schema: EntitySchema | None, item: Item, most: int
) -> list[dict[str, Any]]:
    declared = frozenset(table.key.names) if schema is None else schema.declared_names
    return [
        {"name": name, "attribute": name, "type": "", "value": show_stored(value, most=most)}
        for name, value in sorted(item.items())
        if name not in declared
    ]


def name_item(table: Table, item: Item) -> str:
    """Return the key of an item in one line, such as `U#ada · O#01JZ…`."""
    return " · ".join(show_key_text(item[name]) for name in table.key.names)
