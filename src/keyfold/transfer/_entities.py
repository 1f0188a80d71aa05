"""Classification of items by entity, with validation."""

from __future__ import annotations

from dataclasses import dataclass, field

from keyfold.model import Table
from keyfold.model._schemas import ItemMismatch
from keyfold.store._decoding import is_expired
from keyfold.store._guards import is_guard
from keyfold.store._item_checks import read_writable
from keyfold.store._own_items import is_request_record
from keyfold.transfer._renewals import renew_item
from keyfold.transfer._tallies import Tallies
from keyfold.values import Item, restore_binaries

# The entity name of all items without a declaration, and of the items that guard unique fields.
UNDECLARED = "items"
GUARDS = "unique-guards"
# The entity name of items that match no entity, when the target is read back.
INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Reject:
    """An item that was rejected, or a line that is not an item, with the reason."""

    reason: str
    item: Item | None = field(default=None, repr=False)
    line: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Classifier:
    """Finds the entity of items by a declaration; without one, all items count as one entity.

    `ttl` names the TTL attribute. Items that have expired by `expired_at` are counted separately,
    since DynamoDB may delete them at any time. `checks_writes` if items are rejected whose keys or
    computed fields contradict their fields, or whose partition keys are reserved. `renews`
    if items are also written as their entities store them today.
    """

    table: Table | None
    ttl: str | None
    expired_at: float
    checks_writes: bool = False
    renews: bool = False

    def classify(self, item: Item) -> tuple[str, Item]:
        """Return the entity name of a normalised item, and the item to write; raises ItemMismatch."""
        if self.renews and self.table is not None and not self.is_guard(item):
            return renew_item(self.table, item)
        return self._name_entity(item, checks_writes=self.checks_writes), item

    def _name_entity(self, item: Item, *, checks_writes: bool) -> str:
        if self.table is None:
            return UNDECLARED
        if self.is_guard(item):
            return GUARDS
        restored = restore_binaries(item)
        if checks_writes:
            return read_writable(self.table, restored)[0].name
        schema = self.table.find_schema(restored)
        schema.decode(restored)
        return schema.name

    def is_guard(self, item: Item) -> bool:
        """Return whether an item guards a unique field, by the declaration."""
        return self.table is not None and self.table.has_guards and is_guard(self.table, item)

    def is_request_record(self, item: Item) -> bool:
        """Return whether an item is a record of a request, which is only of use in its own table."""
        return self.table is not None and is_request_record(self.table, item)

    def has_expired(self, item: Item) -> bool:
        """Return whether an item had expired when the job began."""
        return self.ttl is not None and is_expired(item, self.ttl, int(self.expired_at))

    def count(self, tallies: Tallies, entity: str, item: Item) -> None:
        """Add an item to the tallies."""
        tallies.add(entity, item, is_expired=self.has_expired(item))

    def count_held(self, tallies: Tallies, item: Item) -> None:
        """Add an item that was read back from the target; it may match no entity."""
        try:
            entity = self._name_entity(item, checks_writes=False)
        except ItemMismatch:
            entity = INVALID
        self.count(tallies, entity, item)
