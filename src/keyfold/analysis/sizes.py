"""How many items and bytes a table and its indexes have, by the workload and the sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.analysis.samples import SampleData, name_entity
from keyfold.analysis.workload import Workload
from keyfold.model import Index, Table
from keyfold.values import Item, item_size_bytes


@dataclass(frozen=True, slots=True)
class StoredSize:
    """The items and bytes of one entity in a table or an index.

    `bytes` are those of names and values: what DynamoDB adds for storage is not included.
    """

    items: float
    bytes: float


@dataclass(frozen=True, slots=True)
class TableSizes:
    """Sizes by entity, of the table (None) and of each index; what the sample has, and at all."""

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
    for item in items:
        name = name_entity(table, item) or "guards"
        _add(sampled[None], name, item_size_bytes(item))
        for index in table.indexes:
            entry = project(table, index, item)
            if entry is not None:
                _add(sampled[index.name], name, item_size_bytes(entry))
    factors: dict[str, float] = {}
    assumptions: list[str] = []
    for name, size in sampled[None].items():
        count = None if name not in workload.volumes else workload.volumes[name].items
        if count is None and sample.counted is not None:
            count = sample.counted.get(name)
        if count is None:
            count = size.items
            if name in workload.volumes:
                assumptions.append(f"{name}: {size.items:g} items, as in the sample.")
        factors[name] = count / size.items
    expected = {
        index: {
            name: StoredSize(size.items * factors[name], size.bytes * factors[name])
            for name, size in sizes.items()
        }
        for index, sizes in sampled.items()
    }
    return TableSizes(sampled, expected, tuple(assumptions))


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
