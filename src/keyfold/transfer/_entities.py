"""Which entity an item is of, and whether it is in order."""

from __future__ import annotations

from dataclasses import dataclass, field

from keyfold.model import Table
from keyfold.model._schemas import ItemMismatch
from keyfold.store._decoding import is_expired
from keyfold.store._guards import is_guard
from keyfold.transfer._tallies import Tallies
from keyfold.values import Item, restore_binaries

# What items are called without a declaration, and those that guard unique fields with one.
UNDECLARED = "items"
GUARDS = "unique-guards"
# In a table that is looked at in the end, what no entity takes.
INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Reject:
    """An item, or a line that holds none, and why it was not taken."""

    reason: str
    item: Item | None = field(default=None, repr=False)
    line: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Classifier:
    """Tells items apart by a declaration, or calls them all the same without one.

    `ttl` names the attribute by which items expire; what has expired by `expired_at` is counted
    apart, since it may be deleted at any moment.
    """

    table: Table | None
    ttl: str | None
    expired_at: float

    def name_entity(self, item: Item) -> str:
        """Return the entity that a normalised item is of; raises Unfit unless it is a valid one."""
        if self.table is None:
            return UNDECLARED
        if self.table.has_guards and is_guard(self.table, item):
            return GUARDS
        restored = restore_binaries(item)
        schema = self.table.find_schema(restored)
        schema.decode(restored)
        return schema.name

    def has_expired(self, item: Item) -> bool:
        """Tell whether an item had expired when the job began."""
        return self.ttl is not None and is_expired(item, self.ttl, int(self.expired_at))

    def count(self, tallies: Tallies, entity: str, item: Item) -> None:
        """Add an item to the tallies."""
        tallies.add(entity, item, is_expired=self.has_expired(item))

    def count_held(self, tallies: Tallies, item: Item) -> None:
        """Add an item that a target holds, whatever it is."""
        try:
            entity = self.name_entity(item)
        except ItemMismatch:
            entity = INVALID
        self.count(tallies, entity, item)
