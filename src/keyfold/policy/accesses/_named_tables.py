"""Tables as requests name them: which of the attributes in a request are keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keyfold.api import TableKeyNames
from keyfold.api.shapes import plain_name
from keyfold.expressions.key_conditions import BeginsWith, EqualTo, KeyCondition, Within
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

    def sort_key_of(self, item: Item) -> AttributeValue | None:
        """Return the sort key of an item or a key; None if it cannot be determined."""
        if self.keys is None or self.keys.sort is None:
            return None
        return item.get(self.keys.sort)

    def sort_keys_queried(
        self, condition: KeyCondition, index_name: str | None
    ) -> tuple[AttributeValue | None, str]:
        """Return the sort key that a query of the table selects, or the prefix of several."""
        if self.keys is None or self.keys.sort is None or index_name is not None:
            return None, ""
        match condition.constraints.get(self.keys.sort):
            case EqualTo(value):
                return value, ""
            case BeginsWith(prefix):
                return None, prefix.get("S", "")
            case Within(low, high):
                # Every text between two others starts with what both of them start with.
                return None, _find_shared_start(low.get("S", ""), high.get("S", ""))
            case _:
                return None, ""

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


def _find_shared_start(one: str, other: str) -> str:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return one[:count]


def find_table(name_or_arn: str, keys: KeyLookup) -> NamedTable:
    """Return a table by its name or ARN, as a request gives it."""
    name = plain_name(name_or_arn)
    return NamedTable(name, keys(name))
