"""A reference table in plain Python: a dict of items, and loops where the engine has indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.property.plain_conditions import Condition, SortCondition, holds, meets
from tests.property.plain_updates import SETTING, Update, only_removes, updated
from tests.property.plain_values import (
    Item,
    in_stored_form,
    item_size,
    number_of,
    sort_form,
)

FIVE_YEARS = 5 * 365 * 86_400

Key = tuple[Any, ...]


class Refused(Exception):
    """The table refuses the request as invalid."""


class ConditionNotMet(Exception):
    """A condition does not hold."""


class FailsTwice(Exception):
    """Invalid, and its condition does not hold: other tests check which is reported first."""


@dataclass(frozen=True)
class Attribute:
    """One attribute of a key, with its type."""

    name: str
    kind: str


@dataclass(frozen=True)
class IndexPlan:
    """A secondary index as the test declares it. `included` is None if it projects everything."""

    name: str
    is_global: bool
    partition: tuple[Attribute, ...]
    sort: tuple[Attribute, ...] = ()
    included: frozenset[str] | None = None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.partition + self.sort

    def mistypes(self, item: Item) -> bool:
        """Return whether a key attribute of the item has the wrong type."""
        return any(
            each.name in item and each.kind not in item[each.name] for each in self.attributes
        )

    def refuses(self, item: Item) -> bool:
        """Return whether a key attribute of the item has a value that cannot be a key."""
        return self.mistypes(item) or any(
            each.name in item and not item[each.name][each.kind] for each in self.attributes
        )

    def contains(self, item: Item) -> bool:
        """Return whether an item is in the index: it has every key attribute, of the right type."""
        return not self.refuses(item) and all(each.name in item for each in self.attributes)


@dataclass
class PlainTable:
    """What a table must do, in the simplest code."""

    partition: Attribute
    sort: Attribute | None
    indexes: dict[str, IndexPlan] = field(default_factory=dict[str, IndexPlan])
    items: dict[Key, Item] = field(default_factory=dict[Key, Item])
    ttl_attribute: str | None = None

    @property
    def key_names(self) -> tuple[str, ...]:
        return (self.partition.name, *([self.sort.name] if self.sort else []))

    def key_of(self, item: Item) -> Key:
        return tuple(sort_form(item[name]) for name in self.key_names)

    def get(self, key: Item) -> Item | None:
        return self.items.get(self.key_of(in_stored_form({"M": key})["M"]))

    # Writing. Each returns the item before and after.

    def put(self, item: Item, condition: Condition | None = None) -> tuple[Item | None, Item]:
        new: Item = in_stored_form({"M": item})["M"]
        # An item is validated before its condition is evaluated.
        if any(index.refuses(new) for index in self.indexes.values()):
            raise Refused
        old = self.items.get(self.key_of(new))
        self._require(condition, old)
        self.items[self.key_of(new)] = new
        return old, new

    def update(
        self, key: Item, update: Update, condition: Condition | None = None
    ) -> tuple[Item | None, Item | None]:
        place: Item = in_stored_form({"M": key})["M"]
        old = self.items.get(self.key_of(place))
        given = {action.name: action.value for action in update if isinstance(action, SETTING)}
        is_mistyped = any(index.mistypes(given) for index in self.indexes.values())
        try:
            self._require(condition, old)
        except ConditionNotMet:
            raise (FailsTwice if is_mistyped else ConditionNotMet) from None
        if is_mistyped:
            raise Refused
        if old is None and only_removes(update):
            return None, None
        try:
            new = updated(old or place, update)
        except ValueError:
            raise Refused from None
        for index in self.indexes.values():
            was_there = old is not None and all(
                old.get(each.name) == new.get(each.name) for each in index.attributes
            )
            # A value that was stored before the index existed may stay.
            if index.refuses(new) and not was_there:
                raise Refused
        self.items[self.key_of(place)] = new
        return old, new

    def delete(self, key: Item, condition: Condition | None = None) -> Item | None:
        old = self.get(key)
        self._require(condition, old)
        if old is not None:
            del self.items[self.key_of(old)]
        return old

    def check(self, key: Item, condition: Condition) -> None:
        self._require(condition, self.get(key))

    def _require(self, condition: Condition | None, item: Item | None) -> None:
        if condition is not None and not holds(condition, item or {}):
            raise ConditionNotMet

    def transact(self, actions: Iterable[Callable[[PlainTable], object]]) -> bool:
        """Do all actions or none; return whether they were done."""
        before = dict(self.items)
        failed = False
        for action in actions:
            try:
                action(self)
            except (Refused, ConditionNotMet, FailsTwice):
                failed = True
        if failed:
            self.items = before
        return not failed

    # Reading.

    def query(
        self,
        index: IndexPlan | None,
        partition: Item,
        conditions: tuple[SortCondition, ...],
    ) -> list[Item]:
        """Return the whole items that a query finds, in order; ties are in any order."""
        keys = self.partition_of(index)
        found = [
            item
            for item in self._in(index)
            if all(sort_form(item[key.name]) == sort_form(partition[key.name]) for key in keys)
            and all(meets(condition, item) for condition in conditions)
        ]
        return sorted(found, key=lambda item: self.sort_key(index, item))

    def sort_key(self, index: IndexPlan | None, item: Item) -> Key:
        return tuple(sort_form(item[each.name]) for each in self.sort_of(index))

    def partition_key(self, index: IndexPlan | None, item: Item) -> Key:
        return tuple(sort_form(item[each.name]) for each in self.partition_of(index))

    def scan(self, index: IndexPlan | None) -> list[Item]:
        return self._in(index)

    def projected(self, index: IndexPlan | None, item: Item) -> Item:
        """Return the attributes of an item that an index holds."""
        if index is None or index.included is None:
            return item
        kept = {*self.key_names, *(each.name for each in index.attributes), *index.included}
        return {name: value for name, value in item.items() if name in kept}

    def size(self) -> int:
        return sum(map(item_size, self.items.values()))

    def _in(self, index: IndexPlan | None) -> list[Item]:
        items = list(self.items.values())
        return items if index is None else [item for item in items if index.contains(item)]

    def partition_of(self, index: IndexPlan | None) -> tuple[Attribute, ...]:
        return (self.partition,) if index is None else index.partition

    def sort_of(self, index: IndexPlan | None) -> tuple[Attribute, ...]:
        if index is not None:
            return index.sort
        return (self.sort,) if self.sort else ()

    # Time.

    def expire(self, now: int, grace: int) -> int:
        """Remove items that expired more than `grace` seconds and less than five years ago."""
        if self.ttl_attribute is None:
            return 0
        gone = [
            key
            for key, item in self.items.items()
            if "N" in item.get(self.ttl_attribute, {})
            and now - FIVE_YEARS <= int(number_of(item[self.ttl_attribute]["N"])) < now - grace
        ]
        for key in gone:
            del self.items[key]
        return len(gone)
