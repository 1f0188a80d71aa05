"""Item collections: the example items of a table or an index, by partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from keyfold.analysis.samples import name_entity
from keyfold.analysis.sizes import project
from keyfold.export.documents._blocks import Code, Grid, Prose
from keyfold.export.documents._shown_values import show_value
from keyfold.model import Index, Key, Table
from keyfold.values import AttributeValue, Item

_MOST_ITEMS = 8
_MOST_COLLECTIONS = 16
_MOST_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item of a collection: its entity, and its attributes besides the partition key."""

    entity: str
    sort: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ItemCollection:
    """The items of one partition, sorted. `left_out` counts those that are not shown."""

    partition: tuple[str, ...]
    items: tuple[ShownItem, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class CollectionView:
    """The item collections of a table, or of one of its indexes (`index`)."""

    table: str
    index: str | None
    key: Key
    collections: tuple[ItemCollection, ...]
    # How many collections are not shown.
    left_out: int

    @property
    def title(self) -> str:
        """What the view shows."""
        where = f"table {self.table}" if self.index is None else f"index {self.index}"
        return f"Item collections of {where}, with example items"

    def to_grid(self) -> Grid:
        """Return the items as a table, one row for each."""
        columns = (*self.key.names, "entity", "attributes")
        rows: list[tuple[Prose, ...]] = []
        for collection in self.collections:
            for item in collection.items:
                keys = [(Code(each),) for each in (*collection.partition, *item.sort)]
                shown: list[str | Code] = []
                for name, value in item.attributes:
                    shown += [", " if shown else "", f"{name} ", Code(value)]
                rows.append((*keys, (item.entity,), tuple(filter(None, shown))))
        return Grid(columns, tuple(rows)).without_empty_columns()


def view_collections(table: Table, items: Sequence[Item], index: Index | None) -> CollectionView:
    """Return the collections of example items in a table, or in an index of it."""
    key = table.key if index is None else index.key
    entries = [
        (name_entity(table, item) or "", entry)
        for item in items
        if (entry := item if index is None else project(table, index, item)) is not None
    ]
    partitions: dict[str, list[tuple[str, Item]]] = {}
    for name, entry in entries:
        text = repr([show_value(entry[each]) for each in key.partition])
        partitions.setdefault(text, []).append((name, entry))
    shown = [_make_collection(table, key, each) for each in partitions.values()]
    return CollectionView(
        table.name,
        None if index is None else index.name,
        key,
        tuple(shown[:_MOST_COLLECTIONS]),
        max(0, len(shown) - _MOST_COLLECTIONS),
    )


def _make_collection(table: Table, key: Key, entries: list[tuple[str, Item]]) -> ItemCollection:
    ordered = sorted(entries, key=lambda each: [_order(each[1][name]) for name in key.sort])
    first = ordered[0][1]
    return ItemCollection(
        tuple(show_value(first[name]) for name in key.partition),
        tuple(_show_item(table, key, *each) for each in ordered[:_MOST_ITEMS]),
        max(0, len(ordered) - _MOST_ITEMS),
    )


def _order(value: AttributeValue) -> tuple[Decimal, bytes]:
    """Return what key values of one type are ordered by."""
    ((kind, data),) = value.items()
    if kind == "N":
        return Decimal(str(data)), b""
    return Decimal(0), data if isinstance(data, bytes) else str(data).encode()


def _show_item(table: Table, key: Key, entity: str, item: Item) -> ShownItem:
    # In an index, the table's key comes first: it says which item this is.
    names = [name for name in (*table.key.names, *item) if name not in key.names and name in item]
    return ShownItem(
        entity,
        tuple(show_value(item[name]) for name in key.sort),
        tuple(
            (name, show_value(item[name], most=_MOST_CHARACTERS)) for name in dict.fromkeys(names)
        ),
    )
