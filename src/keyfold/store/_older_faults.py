"""Updates of stored items that do not fit their declaration: what was wrong before may stay.

A table may have items that are older than the declaration, or than the check. An update may leave
alone what is wrong with them. It may not add to it: what decides in which index an item is found, or
which unique values it has, concerns other items, too.
"""

from __future__ import annotations

from pydantic import ValidationError

from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._tables import Table
from keyfold.store._guards import expiry_in
from keyfold.store._item_checks import ItemContradicts, find_sources, read_writable
from keyfold.values import Item


def find_older_fault(
    table: Table, before: Item, item: Item, error: ItemMismatch
) -> frozenset[str] | None:
    """Return the attributes at fault, if an item was wrong before and all of them are unchanged.

    `error` is the fault of the item; None is for one that an update brings about.
    """
    try:
        read_writable(table, before)
    except ItemMismatch as former:
        attributes = _attributes_at_fault(table, before, former)
        if str(former) != str(error) or attributes is None or _changed(before, item) & attributes:
            return None
        return attributes
    except Exception:  # noqa: BLE001 - whatever the validators of the user raise
        return None
    return None


def concerns_others(table: Table, before: Item, item: Item) -> bool:
    """Return whether an update changes an item's entity, its unique values, or what keys contain."""
    schema = table.find_schema(item)
    if table.find_schema(before) is not schema:
        return True
    values = [(each.value_in(before), each.value_in(item)) for each in schema.unique.values()]
    if schema.unique:
        values.append((expiry_in(table, before), expiry_in(table, item)))
    if any(former != value for former, value in values):
        return True
    return bool(_changed(before, item) & find_sources(schema, _key_attributes(table, schema)))


def without_older_fault(table: Table, before: Item, item: Item, faulty: frozenset[str]) -> Item:
    """Return an item without what is wrong with it.

    The attributes at fault are left out, and so are computed fields, which may depend on them, and
    index keys that an update leaves as they were.
    """
    schema, changed = table.find_schema(item), _changed(before, item)
    keys = _key_attributes(table, schema)
    left_out = faulty.union(
        name
        for name in schema.derived_attributes.intersection(item)
        if name not in keys or not changed & find_sources(schema, [name])
    )
    return {
        name: value
        for name, value in item.items()
        if name not in left_out or name in table.key.names
    }


def _changed(before: Item, item: Item) -> set[str]:
    return {name for name in before.keys() | item.keys() if before.get(name) != item.get(name)}


def _key_attributes(table: Table, schema: EntitySchema) -> set[str]:
    names = {part.attribute for part in schema.keys}
    return names.union(*(index.key.names for index in table.indexes))


def _attributes_at_fault(table: Table, item: Item, error: ItemMismatch) -> frozenset[str] | None:
    """Return the attributes that an error is about; None if it may be any of them."""
    if isinstance(error, ItemContradicts):
        return error.attributes
    if not isinstance(error.__cause__, ValidationError):
        return None
    fields = table.find_schema(item).fields
    places = [each["loc"] for each in error.__cause__.errors(include_url=False)]
    if not all(place and place[0] in fields for place in places):
        return None
    return frozenset(fields[str(place[0])].stored for place in places)
