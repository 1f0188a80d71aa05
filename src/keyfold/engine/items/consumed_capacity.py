"""The capacity that a request consumes, by table and index, and the ConsumedCapacity of the API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfold.capacity import (
    KeyLayout,
    KeyUse,
    find_index_uses,
    find_index_write,
    write_units,
)
from keyfold.engine.items.keys import entry_or_none
from keyfold.engine.tables.table import EngineIndex, EngineTable
from keyfold.values import Item

# The values that ReturnConsumedCapacity may have.
LEVELS = (None, "INDEXES", "NONE", "TOTAL")


@dataclass(slots=True)
class TableUse:
    """The units that one request consumes of one table and of each of its indexes."""

    table: EngineTable
    units: float = 0.0
    by_index: dict[str, float] = field(default_factory=dict[str, float])
    vector_bytes: dict[str, int] = field(default_factory=dict[str, int])

    def by_name(self) -> dict[str, float]:
        """Return the units by index name; the table itself has the empty name."""
        return {"": self.units, **self.by_index}

    def add_index(self, name: str, units: float) -> None:
        """Add units to those of an index."""
        if units:
            self.by_index[name] = self.by_index.get(name, 0.0) + units

    def add_change(
        self, old: Item | None, old_size: int, new: Item | None, new_size: int, factor: int
    ) -> None:
        """Count the change of one item, in the table and in each index that it touches.

        `factor` is that of a transaction, which writes twice to the table, but once to each index.
        """
        self.units += factor * write_units(new_size, old_size)
        for index in self.table.indexes.values():
            self.add_index(index.name, _index_write_units(index, old, new))
        for vector in self.table.vectors.values():
            written = vector.write_bytes(old, new)
            if written:
                before = self.vector_bytes.get(vector.name, 0)
                self.vector_bytes[vector.name] = before + written

    def find_index_uses(
        self, layouts: Mapping[str, KeyLayout], old: Item | None, new: Item | None
    ) -> list[KeyUse]:
        """Return which keys of the global indexes the change of one item writes."""
        uses: list[KeyUse] = []
        for name in self.by_index:
            index = self.table.indexes[name]
            if index.is_global:
                before, after = _in_index(index, old, new)
                uses += find_index_uses(name, layouts[name], index.projected, before, after)
        return uses

    def describe(self, level: str, kind: str | None = None) -> dict[str, Any]:
        """Return the ConsumedCapacity of the API at `level`, TOTAL or INDEXES.

        `kind`, for transactions, is Read or Write: they report the units a second time under
        that name.
        """

        def units_of(units: float) -> dict[str, float]:
            described = {"CapacityUnits": units}
            if kind is not None:
                described[f"{kind}CapacityUnits"] = units
            return described

        total = self.units + sum(self.by_index.values())
        described: dict[str, Any] = {"TableName": self.table.name, **units_of(total)}
        if level == "INDEXES":
            described["Table"] = units_of(self.units)
            for heading, is_global in (
                ("LocalSecondaryIndexes", False),
                ("GlobalSecondaryIndexes", True),
            ):
                used = {
                    name: units_of(units)
                    for name, units in self.by_index.items()
                    if self.table.indexes[name].is_global is is_global
                }
                if used:
                    described[heading] = used
            if self.vector_bytes:
                described["VectorIndexes"] = {
                    name: {"VectorWriteRequestBytes": float(written)}
                    for name, written in self.vector_bytes.items()
                }
        return described


def _index_write_units(index: EngineIndex, old: Item | None, new: Item | None) -> float:
    before, after = _in_index(index, old, new)
    return find_index_write(before, after, index.key.names, index.projected).units


def _in_index(
    index: EngineIndex, old: Item | None, new: Item | None
) -> tuple[Item | None, Item | None]:
    # An item older than the index may be invalid for its key; it is not in the index then. An
    # update that leaves the key as it is may replace it with one that is not in the index either.
    if old is not None and entry_or_none(index.encode, old) is None:
        old = None
        if new is not None and entry_or_none(index.encode, new) is None:
            new = None
    return old, new


class CapacityMeter:
    """Counts the capacity that one request consumes, if the request asks for it."""

    def __init__(self, level: str | None) -> None:
        self.level = level if level in ("TOTAL", "INDEXES") else None
        self._uses: dict[str, TableUse] = {}

    @property
    def is_on(self) -> bool:
        """Whether the request asks for consumed capacity."""
        return self.level is not None

    def use_of(self, table: EngineTable) -> TableUse:
        """Return the counts of one table, creating them on first use."""
        return self._uses.setdefault(table.name, TableUse(table))

    def report(self, response: dict[str, Any]) -> None:
        """Add ConsumedCapacity to the response of a request to one table."""
        if self.level is not None:
            (use,) = self._uses.values()
            response["ConsumedCapacity"] = use.describe(self.level)

    def report_all(self, response: dict[str, Any], kind: str | None = None) -> None:
        """Add the ConsumedCapacity of all tables to the response."""
        if self.level is not None:
            level = self.level
            response["ConsumedCapacity"] = [
                use.describe(level, kind) for use in _in_order(self._uses.values())
            ]


def _in_order(uses: Iterable[TableUse]) -> list[TableUse]:
    return sorted(uses, key=lambda use: use.table.name)
