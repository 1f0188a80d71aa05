"""Whether a write keeps the guards of unique values in step with the items that have the values.

What must hold after a transaction: a value that it gives to an item has a guard, which the item owns;
the guard of a value that it takes from an item is free; and a guard that it writes or deletes tells
the truth about its owner. Guards expire with their owner.
Values that a write leaves alone, with their expiry, are not compared: they may be older than the
declaration that makes their field unique.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel

from keyfold.api import ProposedWrite
from keyfold.model._codecs import StoredField
from keyfold.model._formatting import show_item
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._tables import Table
from keyfold.policy import UNIQUE_START
from keyfold.store._guard_actions import has_expired
from keyfold.store._guards import NAME, OWNER, StoredGuard, expiry_in, guard_key, read_guard
from keyfold.store._item_schemas import find_item_schema
from keyfold.store._unique_marker import MARKER_ATTRIBUTES, guard_names, marker_key
from keyfold.values import AttributeValue, Item, normalise_value, restore_binaries


class GuardFault(NamedTuple):
    """What is wrong with a write, and what to do."""

    fact: str
    advice: str = ""


def find_unguarded(
    schema: EntitySchema, item: Item, entity: BaseModel, write: ProposedWrite, now: datetime
) -> GuardFault | None:
    """Return the fault of a write that gives an item a unique value without its guard.

    `entity` is what the item stores. An item that has expired at the time `now` has no values.
    """
    table = schema.table
    if has_expired(table, item, now):
        return None
    key = {name: item[name] for name in table.key.names}
    before: Item | None = None
    for name, field in schema.unique.items():
        value = field.value_in(item)
        if value is None:
            continue
        if before is None:
            before = restore_binaries(write.before or {})
        expiry = expiry_in(table, item)
        if field.value_in(before) == value and expiry_in(table, before) == expiry:
            continue
        if _is_written_otherwise(schema.fields[name], value, entity):
            # Two spellings would have two guards.
            fact = f"{name} is unique, and not stored as {schema.name} writes its value"
            return GuardFault(fact)
        guard = write.find(guard_key(table, field.guard, value))
        found = None if guard is None else read_guard(table, guard)
        if found is not None and (found.name, found.owner) == (field.guard, key):
            if found.expiry == expiry:
                continue
            fact = f"{name} is unique, and the item that guards its value expires at another time"
            return GuardFault(fact, "Give both the same expiry, in one transaction.")
        if found is not None and found.owner is not None:
            fact = f"another item has the same {name}, which is unique"
            return GuardFault(fact)
        return GuardFault(
            f"{name} is unique, and the item that guards its value is not written with it",
            "Write both in one transaction, as Keyfold's stores do.",
        )
    return None


def _is_written_otherwise(field: StoredField, value: AttributeValue, entity: BaseModel) -> bool:
    """Return whether a value is stored in another way than its entity would store it."""
    made = field.codec.encode(getattr(entity, field.name))
    return normalise_value(made)[0] != normalise_value(value)[0]


def find_orphaned_guard(table: Table, write: ProposedWrite, now: datetime) -> GuardFault | None:
    """Return the fault of a write that takes a unique value from an item, and leaves its guard.

    No other item could have the value then.
    """
    before, after = restore_binaries(write.before or {}), restore_binaries(write.after or {})
    if not before or has_expired(table, before, now):
        return None
    key = {name: before[name] for name in table.key.names}
    if has_expired(table, after, now):
        after = {}
    # An item that does not fit its declaration any more still has its values.
    with suppress(ItemMismatch):
        for name, field in find_item_schema(table, before).unique.items():
            value = field.value_in(before)
            if value is None or field.value_in(after) == value:
                continue
            guard = write.find(guard_key(table, field.guard, value))
            found = None if guard is None else read_guard(table, guard)
            if found is None or (found.name, found.owner) != (field.guard, key):
                continue
            if not has_expired(table, guard or {}, now):
                fact = f"{name} is unique, and the item that guards its former value would remain"
                return GuardFault(
                    fact, "Delete it in the same transaction, as Keyfold's stores do."
                )
    return None


def find_guard_fault(table: Table, write: ProposedWrite, now: datetime) -> GuardFault | None:
    """Return the fault of a write of a guard, or of another item in the part reserved for them.

    At the time `now`, the guards of expired items may be taken and deleted.
    """
    if write.after is not None:
        fault = _find_form_fault(table, write)
        if fault is not None:
            return fault
    before = None if write.before is None else read_guard(table, write.before)
    if before is None or before.owner is None:
        return None
    after = None if write.after is None else read_guard(table, write.after)
    if after is not None and after.owner == before.owner:
        return None
    owner = _find_owner(table, before, write)
    if owner is not None and not has_expired(table, owner, now):
        shown = show_item(before.owner)
        return GuardFault(f"it guards a unique value that item {shown} still has")
    return None


def _find_form_fault(table: Table, write: ProposedWrite) -> GuardFault | None:
    """Return what is wrong with the reserved item that a write leaves behind."""
    item = write.after
    assert item is not None  # asked for by the caller
    key = {name: item[name] for name in table.key.names}
    rest = item.keys() - key.keys()
    if key == marker_key(table):
        if rest <= MARKER_ATTRIBUTES and all("SS" in item[name] for name in rest):
            return None
        return GuardFault("its key is reserved for the list of unique fields")
    guard = read_guard(table, item)
    names = guard_names(table)
    if (
        guard is None
        or guard.owner is None
        or rest - {table.ttl} != {NAME, OWNER}
        or not _is_named_as_its_key(table, guard, names)
    ):
        return GuardFault("its key is reserved for the guards of unique values")
    if guard.name not in names:
        # Another program may declare it.
        return None
    owner = _find_owner(table, guard, write)
    if owner is None:
        return GuardFault(f"item {show_item(guard.owner)} does not have the value that it guards")
    if guard.expiry != expiry_in(table, owner):
        return GuardFault(f"it does not expire with item {show_item(guard.owner)}, which it is for")
    return None


def _is_named_as_its_key(table: Table, guard: StoredGuard, declared: Collection[str]) -> bool:
    """Return whether a guard's key starts with its name, and not with another that is declared."""
    text = guard.key[table.key.partition[0]]["S"]
    fitting = {
        name for name in (guard.name, *declared) if text.startswith(f"{UNIQUE_START}{name}#")
    }
    return guard.name in fitting and (guard.name in declared or len(fitting) == 1)


def _find_owner(table: Table, guard: StoredGuard, write: ProposedWrite) -> Item | None:
    """Return a guard's owner if that has the guarded value after the transaction."""
    assert guard.owner is not None  # of the format that has owners
    found = write.find(guard.owner)
    if found is None:
        return None
    owner = restore_binaries(found)
    return owner if guard.key in _guard_keys(table, owner, guard.name) else None


def _guard_keys(table: Table, item: Item, name: str) -> Iterator[Item]:
    """Yield the keys of the guards of one name that an item should have."""
    # An item that does not fit its declaration any more still has its values.
    with suppress(ItemMismatch):
        schema = find_item_schema(table, item)
        for field in schema.unique.values():
            value = field.value_in(item)
            if field.guard == name and value is not None:
                yield guard_key(table, name, value)
