"""Guard items, which keep unique fields unique: one for each value, in the entity's table.

A guard's key is made of the guard's name and the value; the guard holds the key of the item that
has the value, its owner. `docs/internals/unique-values.md` describes the format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from keyfold.model._keys import TableLike
from keyfold.policy import UNIQUE_START
from keyfold.store._own_items import own_key
from keyfold.values import AttributeValue, Item, normalise_number

# Attributes of a guard: its name, and the key of its owner as a map.
NAME, OWNER = "keyfold_unique", "keyfold_owner"
# The attribute of guards in the format before owners were recorded: the class and the field.
FORMER_NAME = "guards"
_MAX_LENGTH = 200


@dataclass(frozen=True, slots=True)
class StoredGuard:
    """A guard item that was read: its key, its name, the key of its owner, and its TTL attribute.

    Guards in the former format have no owner; their name is that of the class and the field.
    """

    key: Item
    name: str
    owner: Item | None
    expiry: AttributeValue | None = None


def guard_key(table: TableLike, name: str, value: AttributeValue) -> Item:
    """Return the key of the guard item for one value."""
    ((kind, data),) = value.items()
    text: str = data.hex() if kind == "B" else normalise_number(data) if kind == "N" else data
    if len(text) > _MAX_LENGTH:
        # Marked, so that the hash of a long value is not taken for a short value.
        kind, text = f"{kind}-sha256", hashlib.sha256(text.encode()).hexdigest()
    return own_key(table.key, UNIQUE_START, f"{name}#{kind}#{text}")


def guard_item(
    table: TableLike,
    name: str,
    value: AttributeValue,
    owner: Item,
    expiry: AttributeValue | None = None,
) -> Item:
    """Return the guard item for one value of the item with the key `owner`.

    It expires with the item, whose TTL attribute is `expiry`.
    """
    return fill_guard(table, guard_key(table, name, value), name, owner, expiry)


def fill_guard(
    table: TableLike, key: Item, name: str, owner: Item, expiry: AttributeValue | None
) -> Item:
    """Return the guard item with this key."""
    item = {**key, NAME: {"S": name}, OWNER: {"M": dict(owner)}}
    if expiry is not None and table.ttl is not None:
        item[table.ttl] = expiry
    return item


def expiry_in(table: TableLike, item: Mapping[str, AttributeValue]) -> AttributeValue | None:
    """Return the TTL attribute of an item; None if it never expires."""
    return None if table.ttl is None else item.get(table.ttl)


def is_guard(table: TableLike, item: Mapping[str, AttributeValue]) -> bool:
    """Return whether an item is a guard item, or another item that Keyfold keeps for unique values."""
    text = item.get(table.key.partition[0], {}).get("S")
    return text is not None and text.startswith(UNIQUE_START)


def read_guard(table: TableLike, item: Mapping[str, AttributeValue]) -> StoredGuard | None:
    """Return what a guard item says; None for an item that is no guard."""
    if not is_guard(table, item):
        return None
    key = {name: item[name] for name in table.key.names}
    owner: Item = item.get(OWNER, {}).get("M") or {}
    name = item.get(NAME, {}).get("S")
    if name is not None and all("S" in owner.get(each, {}) for each in table.key.names):
        return StoredGuard(key, name, dict(owner), expiry_in(table, item))
    former = item.get(FORMER_NAME, {}).get("S")
    return None if former is None else StoredGuard(key, former, None)
