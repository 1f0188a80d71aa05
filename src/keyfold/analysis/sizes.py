"""How many items and bytes a table and its indexes have, by the workload and the sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.analysis.samples import SampleData, name_entity
from keyfold.analysis.workload import Workload
from keyfold.model import Index, Table
from keyfold.store._guards import read_guard
from keyfold.values import Item, item_size_bytes

# Before the name of the entity whose unique values they guard.
_GUARDS = "guards of "


@dataclass(frozen=True, slots=True)
class StoredSize:
    """The items and bytes of one entity in a table or an index.

    `bytes` are those of names and values: what DynamoDB adds for storage is not included.
    """

    items: float
    bytes: float


@dataclass(frozen=True, slots=True)
class TableSizes:
    """Sizes by entity, of the table (None) and of each index; what the sample has, and at all.

    Guards of unique values are apart from the items that they guard: see `owner_of`.
    """

    sampled: Mapping[str | None, Mapping[str, StoredSize]]
    expected: Mapping[str | None, Mapping[str, StoredSize]]
    assumptions: tuple[str, ...]

    def total(self, index: str | None = None) -> StoredSize:
        """Return the expected size of the table (None) or an index."""
        return _sum(self.expected[index].values())

    def growth(self, index: str | None = None) -> float:
        """Return how many times larger the table or index is than in the sample."""
        sampled = _sum(self.sampled[index].values()).bytes
        return self.total(index).bytes / sampled if sampled else 1.0


def estimate_sizes(
    table: Table, sample: SampleData, workload: Workload, items: Iterable[Item]
) -> TableSizes:
    """Return the sizes of a table, whose sample was grown to `items`."""
    sampled: dict[str | None, dict[str, StoredSize]] = {
        None: {},
        **{index.name: {} for index in table.indexes},
    }
    grown = list(items)
    for item, name in zip(grown, _name_all(table, grown), strict=True):
        _add(sampled[None], name, item_size_bytes(item))
        for index in table.indexes:
            entry = project(table, index, item)
            if entry is not None:
                _add(sampled[index.name], name, item_size_bytes(entry))
    factors: dict[str, float] = {}
    assumptions: list[str] = []
    for name, size in sampled[None].items():
        if name not in workload.volumes:
            continue
        count = workload.volumes[name].items
        if count is None and sample.counted is not None:
            count = sample.counted.get(name)
        if count is None:
            count = size.items
            noun = "item" if count == 1 else "items"
            assumptions.append(f"{name}: {count:g} {noun}, as in the sample.")
        factors[name] = count / size.items
    for name in sampled[None]:
        factors.setdefault(name, factors.get(owner_of(name), 1.0))
    expected = {
        index: {
            name: StoredSize(size.items * factors[name], size.bytes * factors[name])
            for name, size in sizes.items()
        }
        for index, sizes in sampled.items()
    }
    return TableSizes(sampled, expected, tuple(assumptions))


def owner_of(name: str) -> str:
    """Return the entity of a name in sizes: that of an entity, or of its guards."""
    return name.removeprefix(_GUARDS)


def _name_all(table: Table, items: list[Item]) -> Iterator[str]:
    """Yield the entity of each item; guards of unique values are named after that of their owner."""
    entities = [name_entity(table, item) for item in items]
    owners = {_key_of(table, item): name for item, name in zip(items, entities, strict=True)}
    for item, name in zip(items, entities, strict=True):
        if name is not None:
            yield name
        else:
            guard = read_guard(table, item)
            owner = "" if guard is None or guard.owner is None else _key_of(table, guard.owner)
            yield f"{_GUARDS}{owners.get(owner) or 'others'}"


def _key_of(table: Table, item: Item) -> str:
    return repr([item[name] for name in table.key.names])


def project(table: Table, index: Index, item: Item) -> Item | None:
    """Return the entry of an item in an index; None if it has none."""
    if any(name not in item for name in index.key.names):
        return None
    projection: dict[str, Any] = index.to_dynamodb()["Projection"]
    if projection["ProjectionType"] == "ALL":
        return item
    names = {*table.key.names, *index.key.names, *projection.get("NonKeyAttributes", ())}
    return {name: value for name, value in item.items() if name in names}


def _add(sizes: dict[str, StoredSize], name: str, size_bytes: int) -> None:
    before = sizes.get(name, StoredSize(0, 0))
    sizes[name] = StoredSize(before.items + 1, before.bytes + size_bytes)


def _sum(sizes: Iterable[StoredSize]) -> StoredSize:
    every = list(sizes)
    return StoredSize(sum(each.items for each in every), sum(each.bytes for each in every))
