"""Throttling and counting of reads of single items of monitored tables."""

from __future__ import annotations

from keyfold.capacity import read_units
from keyfold.engine.insights.throttling_errors import THROTTLED
from keyfold.engine.tables.table import EngineTable
from keyfold.errors import ServiceError
from keyfold.values import Item


def admit_read(table: EngineTable, key: Item) -> None:
    """Raise a throttling error if a monitored table has no read units left."""
    if table.monitor is not None:
        table.monitor.admit("Read", "", key)


def count_read(
    table: EngineTable, key: Item, size_bytes: int, *, is_consistent: bool, factor: int = 1
) -> None:
    """Count the read of one item of a monitored table, `factor` times."""
    if table.monitor is not None:
        units = factor * read_units(size_bytes, is_consistent=is_consistent)
        table.monitor.use_read("", key, units)
        table.monitor.count("", [key])


class ThrottledMembers:
    """The throttled members of a batch, which are returned as unprocessed.

    If all members are throttled, the request fails.
    """

    def __init__(self) -> None:
        self._count = 0
        self._last: ServiceError | None = None

    def is_throttled(self, table: EngineTable, key: Item) -> bool:
        """Return whether the read of an item is throttled; count it if so."""
        try:
            admit_read(table, key)
        except THROTTLED as error:
            self.add(error)
            return True
        return False

    def add(self, error: ServiceError) -> None:
        """Count a throttled member."""
        self._count += 1
        self._last = error

    def raise_if_all(self, members: int) -> None:
        """Raise the last throttling error if all `members` of the batch were throttled."""
        if self._last is not None and self._count == members:
            raise self._last
