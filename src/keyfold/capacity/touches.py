"""Touches: where in a table and its indexes a request consumes units."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from keyfold.capacity.index_writes import EntryChange, find_index_write
from keyfold.capacity.key_ranges import place_key
from keyfold.values import Item


class Touch(NamedTuple):
    """The units that a request consumes at one place of an index, or of the table ("").

    A scan has no place: it reads all partitions.
    """

    name: str
    place: bytes | None
    units: float


class KeyLayout(NamedTuple):
    """The attributes of a key by which a table or global index is partitioned.

    `sort` is empty if the items of a partition key are never distributed: those of a table with
    local indexes, or without a sort key.
    """

    partition: tuple[str, ...]
    sort: tuple[str, ...] = ()

    def place(self, item: Item) -> bytes:
        """Return the place of an item, or of a key, which may lack the sort key."""
        return place_key(item, self.partition, self.sort)


def find_index_touches(
    name: str,
    layout: KeyLayout,
    key_names: Collection[str],
    projected: Collection[str] | None,
    old: Item | None,
    new: Item | None,
) -> list[Touch]:
    """Return where the change of an item writes to a global index; see `find_index_write`.

    An entry that moves is deleted at one place and inserted at another.

    >>> item = {"pk": {"S": "a"}, "status": {"S": "open"}}
    >>> closed = item | {"status": {"S": "closed"}}
    >>> touches = find_index_touches("i", KeyLayout(("status",)), ["status"], None, item, closed)
    >>> [touch.units for touch in touches]
    [1.0, 1.0]
    """
    written = find_index_write(old, new, key_names, projected)
    if written.change is EntryChange.UNCHANGED:
        return []
    if written.change is EntryChange.MOVED and old is not None and new is not None:
        deleted = find_index_write(old, None, key_names, projected).units
        return [
            Touch(name, layout.place(old), deleted),
            Touch(name, layout.place(new), written.units - deleted),
        ]
    held = old if written.change is EntryChange.DELETED else new
    assert held is not None  # or there would be no entry
    return [Touch(name, layout.place(held), written.units)]
