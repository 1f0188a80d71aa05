"""Tables as requests name them: which of the attributes in a request are keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keyfold.api import TableKeyNames
from keyfold.api.shapes import plain_name
from keyfold.expressions.key_conditions import EqualTo, KeyCondition
from keyfold.values import AttributeValue, Item

KeyLookup = Callable[[str], TableKeyNames | None]
"""Returns the names of a table's key attributes; None for an unknown table."""


class NamedTable(NamedTuple):
    """A table that a request names, and its key attributes, if the table is known."""

    table: str
    keys: TableKeyNames | None

    def partition_of(self, item: Item) -> tuple[AttributeValue, ...] | None:
        """Return the partition of an item or a key; None if it cannot be determined."""
        value = None if self.keys is None else item.get(self.keys.partition)
        return None if value is None else (value,)

    def partition_queried(
        self, condition: KeyCondition, index_name: str | None
    ) -> tuple[AttributeValue, ...] | None:
        """Return the partition that a key condition selects; None if it cannot be determined."""
        if self.keys is None:
            return None
        names = (self.keys.partition,) if index_name is None else self.keys.indexes.get(index_name)
        if not names:
            return None
        wanted = [condition.constraints.get(name) for name in names]
        values = [each.value for each in wanted if isinstance(each, EqualTo)]
        return tuple(values) if len(values) == len(names) else None


def find_table(name_or_arn: str, keys: KeyLookup) -> NamedTable:
    """Return a table by its name or ARN, as a request gives it."""
    name = plain_name(name_or_arn)
    return NamedTable(name, keys(name))
