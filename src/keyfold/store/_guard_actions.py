"""The actions of a transaction that keep guard items in step with the item that they guard.

A guard is taken if it is free or belongs to the same item already, and released by its owner
alone. Both are conditions of the transaction, so no interleaving of writers can break them.

A guard expires with its owner: it has the same TTL attribute. An expired item has no values, and an
expired guard is free.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from keyfold.expressions import (
    And,
    Comparison,
    Condition,
    FunctionCall,
    Not,
    Or,
    Path,
    RequestPrinter,
    join_all,
)
from keyfold.model._expiry import expired, whole_seconds
from keyfold.model._keys import TableLike, identify
from keyfold.model._operands import is_stored_as
from keyfold.model._schemas import EntitySchema
from keyfold.store._decoding import is_expired
from keyfold.store._guards import OWNER, expiry_in, guard_item, guard_key
from keyfold.values import AttributeValue, Item


class HeldValue(NamedTuple):
    """A unique value that an item has, and the item's TTL attribute; None if it has none."""

    value: AttributeValue
    expiry: AttributeValue | None = None


# The values of unique fields by field name; None for a field without a value.
UniqueValues = Mapping[str, HeldValue | None]
# What an item has for its unique fields and its expiry, by stored name; None for an item that does
# not exist.
UniqueState = Mapping[str, AttributeValue | None] | None

_OWNER = Path((OWNER,))


@dataclass(frozen=True, slots=True)
class GuardAction:
    """Something done to one guard item: it is taken or released by an item, or left to another.

    A guard is left if the item has the value but another item owns the guard, which happens only
    while duplicates from before the field was unique are not resolved.
    """

    kind: Literal["take", "release", "leave"]
    table: TableLike
    name: str
    field: str
    value: AttributeValue
    owner: Item
    # The owner's TTL attribute, which a guard has, too.
    expiry: AttributeValue | None = None
    # Others that give the guard up in the same transaction.
    former_owners: tuple[Item, ...] = ()

    @property
    def key(self) -> Item:
        """The key of the guard item."""
        return guard_key(self.table, self.name, self.value)

    @property
    def identity(self) -> Hashable:
        """The guard's key in a form that can be compared."""
        return identify(self.table.name, self.key)

    def to_member(self, table_name: str, now: datetime) -> dict[str, Any]:
        """Return the member of TransactWriteItems that does it at the time `now`."""
        body: dict[str, Any] = {"TableName": table_name}
        exists = FunctionCall("attribute_exists", (Path((self.table.key.partition[0],)),))
        is_owned = [owner_condition(each) for each in (self.owner, *self.former_owners)]
        condition: Condition = Or((Not(exists), *is_owned))
        if self.kind == "take":
            body["Item"] = guard_item(self.table, self.name, self.value, self.owner, self.expiry)
            condition = or_expired(self.table, condition)
        else:
            body["Key"] = self.key
        if self.kind == "leave":
            condition = And((exists, Not(is_owned[0])))
        add_condition(body, condition, now)
        return {_MEMBERS[self.kind]: body}


_MEMBERS = {"take": "Put", "release": "Delete", "leave": "ConditionCheck"}


def find_guard_actions(
    schema: EntitySchema, owner: Item, old: UniqueValues, new: UniqueValues
) -> Iterator[GuardAction]:
    """Yield what a write does to guards that changes an item's unique values from `old` to `new`."""
    for name, field in schema.unique.items():
        before, after = old[name], new[name]
        if before == after:
            continue
        if before is not None and (after is None or after.value != before.value):
            yield GuardAction("release", schema.table, field.guard, name, before.value, owner)
        if after is not None:
            yield GuardAction(
                "take", schema.table, field.guard, name, after.value, owner, after.expiry
            )


def leave_foreign(
    actions: Iterable[GuardAction], foreign: Collection[Hashable]
) -> list[GuardAction]:
    """Return the actions without releases of guards that belong to others: those are left."""
    return [
        replace(each, kind="leave") if each.kind == "release" and each.identity in foreign else each
        for each in actions
    ]


def unique_values_in(
    schema: EntitySchema, item: Mapping[str, AttributeValue], now: datetime
) -> UniqueValues:
    """Return the values that an item has of its unique fields: none if it has expired."""
    if has_expired(schema.table, item, now):
        return dict.fromkeys(schema.unique)
    expiry = expiry_in(schema.table, item)
    found = {name: field.value_in(item) for name, field in schema.unique.items()}
    return {
        name: None if value is None else HeldValue(value, expiry) for name, value in found.items()
    }


def has_expired(table: TableLike, item: Mapping[str, AttributeValue], now: datetime) -> bool:
    """Return whether an item, or a guard, has expired."""
    return table.ttl is not None and is_expired(item, table.ttl, whole_seconds(now))


def or_expired(table: TableLike, condition: Condition) -> Condition:
    """Return a condition that holds for expired items, too."""
    found = expired(table)
    return condition if found is None else condition | found


def unique_state(schema: EntitySchema, item: Mapping[str, AttributeValue] | None) -> UniqueState:
    """Return what an item has for its unique fields and its expiry; None for no item."""
    if item is None:
        return None
    state = {
        field.stored: field.find(item) for field in map(schema.fields.__getitem__, schema.unique)
    }
    if schema.table.ttl is not None:
        state[schema.table.ttl] = item.get(schema.table.ttl)
    return state


def unchanged_condition(schema: EntitySchema, state: UniqueState) -> Condition:
    """Return the condition that an item's unique fields are still in the state that was read.

    It names attributes by their current names; requests cover former ones.
    """
    if state is None:
        return FunctionCall("attribute_not_exists", (Path((schema.partition.attribute,)),))
    condition = join_all(*(is_stored_as(Path((name,)), value) for name, value in state.items()))
    assert condition is not None  # there are unique fields
    return condition


def add_condition(body: dict[str, Any], condition: Condition, now: datetime | None = None) -> None:
    """Add a condition to a member of TransactWriteItems, which runs at the time `now`."""
    printer = RequestPrinter(now)
    body["ConditionExpression"] = printer.write_condition(condition)
    printer.add_to(body)


def owner_condition(key: Item) -> Condition:
    """Return the condition that a guard belongs to the item with this key."""
    return Comparison("=", _OWNER, {"M": dict(key)})
