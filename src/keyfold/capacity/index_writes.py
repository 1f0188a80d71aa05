"""Index entries that a change of an item touches, and the units that they cost.

The rules are those of "Write capacity units" for global secondary indexes in the developer guide;
local ones follow them too.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import NamedTuple

from keyfold.capacity.units import write_units
from keyfold.values import Item, item_size_bytes


class EntryChange(Enum):
    """What happens to the entry of an item in an index."""

    # The index has the same entry before and after, or none.
    UNCHANGED = "unchanged"
    INSERTED = "inserted"
    DELETED = "deleted"
    # A projected attribute changes, but not the entry's key.
    UPDATED = "updated"
    # The key changes: the old entry is deleted, and a new one is inserted.
    MOVED = "moved"


class IndexWrite(NamedTuple):
    """What a change of an item does to its entry in an index, and the units that this costs."""

    change: EntryChange
    units: float


_UNCHANGED = IndexWrite(EntryChange.UNCHANGED, 0.0)


def find_index_write(
    old: Item | None,
    new: Item | None,
    key_names: Collection[str],
    projected: Collection[str] | None = None,
) -> IndexWrite:
    """Return what replacing the item `old` with `new` does to one index; None stands for no item.

    `key_names` are the attributes of the index's key: an item that lacks one is not in the index.
    `projected` are all attributes that the index holds, its own and the table's key included; None
    stands for all. Items are normalised, so that equal values are equal.

    >>> item = {"pk": {"S": "a"}, "status": {"S": "open"}, "note": {"S": "x"}}
    >>> closed = item | {"status": {"S": "closed"}}
    >>> find_index_write(item, closed, ["status"])
    IndexWrite(change=<EntryChange.MOVED: 'moved'>, units=2.0)
    >>> find_index_write(item, item | {"note": {"S": "y"}}, ["status"], {"pk", "status"})
    IndexWrite(change=<EntryChange.UNCHANGED: 'unchanged'>, units=0.0)
    """
    before, after = _entry(old, key_names, projected), _entry(new, key_names, projected)
    if before == after:
        return _UNCHANGED
    old_bytes = 0 if before is None else item_size_bytes(before)
    new_bytes = 0 if after is None else item_size_bytes(after)
    if before is None:
        return IndexWrite(EntryChange.INSERTED, write_units(new_bytes))
    if after is None:
        return IndexWrite(EntryChange.DELETED, write_units(old_bytes))
    for name in key_names:
        if before[name] != after[name]:
            units = write_units(old_bytes) + write_units(new_bytes)
            return IndexWrite(EntryChange.MOVED, units)
    return IndexWrite(EntryChange.UPDATED, write_units(new_bytes, old_bytes))


def _entry(
    item: Item | None, key_names: Collection[str], projected: Collection[str] | None
) -> Item | None:
    """Return the attributes that an index holds of `item`; None if it is not in the index."""
    if item is None:
        return None
    # A loop, not `all`: this runs for every index of every metered write.
    for name in key_names:
        if name not in item:
            return None
    if projected is None:
        return item
    return {name: value for name, value in item.items() if name in projected}
