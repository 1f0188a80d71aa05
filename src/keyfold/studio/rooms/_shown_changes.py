"""Changes of items as the browser shows them: the item, and its fields before and after."""

from __future__ import annotations

from typing import Any

from keyfold.model import Table
from keyfold.policy import PrincipalGuard, find_readable
from keyfold.store._records import StreamRecord
from keyfold.studio._shown_items import show_item
from keyfold.values import Item

_KINDS = {"inserted": "created", "changed": "changed", "removed": "removed"}


def show_change(
    table: Table, record: StreamRecord, *, now: float, guard: PrincipalGuard | None = None
) -> dict[str, Any] | None:
    """Return a change for the browser; None if a principal sees nothing of it.

    With a guard, it has what its principal could get of the item. `fields` are those that differ: each
    has its name and the values `old` and `new`, null where it was not set. `images` is false if the
    stream records keys only.
    """
    old, new = record.old, record.new
    if guard is not None:
        names = {*record.key, *(old or ()), *(new or ())}
        readable = find_readable(guard, record.key, names)
        if readable is None:
            return None
        old, new = _select(old, readable), _select(new, readable)
        if record.kind == "changed" and old is not None and old == new:
            # Only attributes that it may not see have changed.
            return None
    image = new or old or record.key
    item = show_item(table, {**image, **record.key}, now=now)
    return {
        "id": record.id,
        "at": record.at.isoformat(),
        "kind": "expired" if record.by_expiry else _KINDS[record.kind],
        "entity": item["entity"],
        "own": item["own"],
        "key": item["key"],
        "keys": item["keys"],
        "images": old is not None or new is not None,
        "fields": _diff(table, record.key, old, new, now),
        "sequence": record.sequence,
    }


def _select(image: Item | None, names: frozenset[str]) -> Item | None:
    return None if image is None else {name: image[name] for name in image if name in names}


def _diff(
    table: Table, key: Item, old: Item | None, new: Item | None, now: float
) -> list[dict[str, Any]]:
    """Return the fields that differ, in the order of the entity, then other attributes."""
    sides = [_list_fields(table, key, image, now) for image in (new, old)]
    listed: list[dict[str, Any]] = []
    for name in dict.fromkeys((*sides[0], *sides[1])):
        after, before = sides[0].get(name), sides[1].get(name)
        attribute = (after or before or {})["attribute"]
        if (old or {}).get(attribute) == (new or {}).get(attribute):
            continue
        listed.append(
            {
                "name": name,
                "attribute": attribute,
                "old": before and before["value"],
                "new": after and after["value"],
            }
        )
    return listed


def _list_fields(
    table: Table, key: Item, image: Item | None, now: float
) -> dict[str, dict[str, Any]]:
    """Return the fields of an image by name, except for parts of its key."""
    if image is None:
        return {}
    item = show_item(table, {**image, **key}, now=now)
    return {
        each["name"]: each
        for each in (*item["fields"], *item["others"])
        if each["attribute"] is not None and each["value"] is not None
    }
