"""Where in a table and its indexes a request consumes units: by key, and by place."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from keyfold.capacity.index_writes import EntryChange, find_index_write
from keyfold.capacity.key_ranges import place_key
from keyfold.values import Item


class KeyUse(NamedTuple):
    """The units that a request consumes of one key of an index, or of the table ("").

    `key` has at least the partition key. A scan has none: it reads all partitions.
    """

    name: str
    key: Item | None
    units: float


class Touch(NamedTuple):
    """A use of a key by its place among the partitions; a scan has no place."""

    name: str
    place: bytes | None
    units: float


class KeyLayout(NamedTuple):
    """The attributes of a key by which a table or global index is partitioned.

    With `keeps_together`, the items of a partition key are never distributed: those of a table
    with local indexes.
    """

    partition: tuple[str, ...]
    sort: tuple[str, ...] = ()
    keeps_together: bool = False

    def place(self, item: Item) -> bytes:
        """Return the place of an item, or of a key, which may lack the sort key."""
        return place_key(item, self.partition, () if self.keeps_together else self.sort)

    def touch(self, use: KeyUse) -> Touch:
        """Return a use with the place of its key."""
        return Touch(use.name, None if use.key is None else self.place(use.key), use.units)

    def key_in(self, item: Item) -> Item | None:
        """Return the key attributes of an item; None if it lacks one of the partition key."""
        if any(name not in item for name in self.partition):
            return None
        return {name: item[name] for name in (*self.partition, *self.sort) if name in item}


def find_index_uses(
    name: str,
    layout: KeyLayout,
    projected: Collection[str] | None,
    old: Item | None,
    new: Item | None,
) -> list[KeyUse]:
    """Return which keys of a global index the change of an item writes; see `find_index_write`.

    An entry that moves is deleted under one key and inserted under another.

    >>> item = {"pk": {"S": "a"}, "status": {"S": "open"}}
    >>> closed = item | {"status": {"S": "closed"}}
    >>> for use in find_index_uses("i", KeyLayout(("status",)), None, item, closed):
    ...     print(use.key, use.units)
    {'status': {'S': 'open'}} 1.0
    {'status': {'S': 'closed'}} 1.0
    """
    key_names = (*layout.partition, *layout.sort)
    written = find_index_write(old, new, key_names, projected)
    if written.change is EntryChange.UNCHANGED:
        return []
    if written.change is EntryChange.MOVED and old is not None and new is not None:
        deleted = find_index_write(old, None, key_names, projected).units
        return [
            KeyUse(name, layout.key_in(old), deleted),
            KeyUse(name, layout.key_in(new), written.units - deleted),
        ]
    held = old if written.change is EntryChange.DELETED else new
    assert held is not None  # or there would be no entry
    return [KeyUse(name, layout.key_in(held), written.units)]
