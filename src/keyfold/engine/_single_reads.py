"""Reading single items of watched tables by their keys, alone or as members of a request."""

from __future__ import annotations

from keyfold.engine._capacity import read_units
from keyfold.engine._tables import EngineTable
from keyfold.errors import ThrottlingException
from keyfold.values import Item


def admit_read(table: EngineTable, key: Item) -> None:
    """Raise ThrottlingException while a watched table may not be read."""
    if table.watch is not None:
        table.watch.admit("Read", "", key)


def count_read(
    table: EngineTable, key: Item, size_bytes: int, *, is_consistent: bool, factor: int = 1
) -> None:
    """Count the read of one item of a watched table; transactions cost twice."""
    if table.watch is not None:
        units = factor * read_units(size_bytes, is_consistent=is_consistent)
        table.watch.use("Read", {"": units})
        table.watch.count("", [key])


class Refusal:
    """Members of a batch that were throttled: left for later, unless it is all of them."""

    def __init__(self) -> None:
        self._count = 0
        self._last: ThrottlingException | None = None

    def of(self, table: EngineTable, key: Item) -> bool:
        """Tell whether the read of an item is refused for now."""
        try:
            admit_read(table, key)
        except ThrottlingException as error:
            self.note(error)
            return True
        return False

    def note(self, error: ThrottlingException) -> None:
        """Take note of a member that was refused."""
        self._count += 1
        self._last = error

    def raise_for(self, members: int) -> None:
        """Raise what the members were refused with, where all of them were."""
        if self._last is not None and self._count == members:
            raise self._last
