"""Derived attributes that contradict the fields of their item: index keys and computed fields."""

from __future__ import annotations

from pydantic import BaseModel

from keyfold.errors import KeyfoldError
from keyfold.model._formatting import show_item
from keyfold.model._reserved import find_reserved, reserved_fact
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._upgrades import is_upgraded
from keyfold.store._item_patches import is_same_value
from keyfold.values import Item, normalise_item


def check_derived(schema: EntitySchema, item: Item, value: BaseModel) -> None:
    """Raise ItemMismatch if an item has a derived attribute that its fields contradict.

    `value` is the entity in the item. An item may lack derived attributes, which a backfill adds:
    it may be older than the declaration. So may what an upgrade still has to change.
    """
    derived = schema.derived_attributes.intersection(item)
    if not derived or is_upgraded(value):
        return
    try:
        made = schema.encode(value)
    except KeyfoldError as error:
        raise ItemMismatch(str(error)) from error
    differing = sorted(name for name in derived if item[name] != made.get(name))
    if not differing:
        return
    # The same value may be written in another way.
    stored, made = normalise_item(item)[0], normalise_item(made)[0]
    for name in differing:
        if name not in made:
            raise ItemMismatch(f"it has {show_item({name: stored[name]})}, but its fields say none")
        if not is_same_value(stored[name], made[name]):
            has, wanted = ({name: each[name]} for each in (stored, made))
            raise ItemMismatch(f"it has {show_item(has)}, but its fields say {show_item(wanted)}")


def check_may_write(schema: EntitySchema, stored: Item) -> None:
    """Raise ItemMismatch if an item is the fallback's and has a reserved partition key."""
    prefix = find_reserved(schema, stored)
    if prefix is not None:
        raise ItemMismatch(reserved_fact(schema.partition.attribute, prefix))
