"""Capacity units, as DynamoDB counts and reports them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from keyfold.engine.items.keys import entry_or_none
from keyfold.engine.tables.table import EngineIndex, EngineTable
from keyfold.values import Item, item_size_bytes

READ_UNIT_BYTES = 4_096
WRITE_UNIT_BYTES = 1_024
# The values that ReturnConsumedCapacity may have.
LEVELS = (None, "INDEXES", "NONE", "TOTAL")


def read_units(size_bytes: int, *, is_consistent: bool) -> float:
    """Return the units that reading `size_bytes` consumes; eventually consistent reads cost half.

    >>> read_units(4_097, is_consistent=True), read_units(0, is_consistent=False)
    (2.0, 0.5)
    """
    units = max(1, -(-size_bytes // READ_UNIT_BYTES))
    return float(units) if is_consistent else units / 2


def write_units(size_bytes: int) -> float:
    """Return the units that writing `size_bytes` consumes."""
    return float(max(1, -(-size_bytes // WRITE_UNIT_BYTES)))


def index_write_units(index: EngineIndex, old: Item | None, new: Item | None) -> float:
    """Return the units that a change of an item consumes in one index.

    None if the index holds the same before and after; one write for an entry that is
    inserted, deleted or changed in place; two writes if its key changes, since the old entry
    is deleted and a new one inserted.
    """
    # An item older than the index may be invalid for its key; it is not in the index then.
    old_entry = None if old is None else entry_or_none(index.encode, old)
    new_entry = None if new is None else entry_or_none(index.encode, new)
    if old_entry is None and new_entry is None:
        return 0.0
    before = index.project(old) if old is not None and old_entry is not None else None
    after = index.project(new) if new is not None and new_entry is not None else None
    if before == after:
        return 0.0
    sizes = [item_size_bytes(each) for each in (before, after) if each is not None]
    if len(sizes) == 1 or old_entry == new_entry:
        return write_units(max(sizes))
    return sum(map(write_units, sizes))


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
        self, old: Item | None, new: Item | None, largest_bytes: int, factor: int
    ) -> None:
        """Count the change of one item, in the table and in each index that it touches."""
        self.units += factor * write_units(largest_bytes)
        for index in self.table.indexes.values():
            self.add_index(index.name, factor * index_write_units(index, old, new))
        for vector in self.table.vectors.values():
            written = vector.write_bytes(old, new)
            if written:
                before = self.vector_bytes.get(vector.name, 0)
                self.vector_bytes[vector.name] = before + written

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


OFF = CapacityMeter(None)
"""For requests that do not ask for consumed capacity."""
