"""Upgrades: `Entity.upgrade` brings items that were stored by older programs into today's form.

An upgrade sees plain values by attribute name, under their current names. It runs for every item of
the entity that is read, so it must return an item that is up to date unchanged. What it changed is
kept with the entity, like undeclared attributes, because the stored item is still in its old form:
`change` writes all of it, on the condition that the stored attributes are still what was upgraded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from keyfold.expressions import (
    Action,
    Condition,
    Path,
    Remove,
    SetTo,
)
from keyfold.model._any_values import decode_any, encode_any
from keyfold.model._operands import is_stored_as
from keyfold.values import AttributeValue, Item

if TYPE_CHECKING:
    from keyfold.model._schemas import EntitySchema
    from keyfold.model._updates import Update

Upgrade = Callable[[dict[str, Any]], Mapping[str, Any]]

UPGRADED = "_keyfold_upgraded"


def upgrade_item(
    upgrade: Upgrade, item: Mapping[str, AttributeValue], key: tuple[str, ...]
) -> Mapping[str, AttributeValue]:
    """Return an upgraded item, whose key stays as it is; the item itself if nothing changed.

    Raises what `upgrade` raises, and TypeError or ValueInvalid for a result that cannot be stored.
    """
    upgraded: Any = upgrade({name: decode_any(value) for name, value in item.items()})
    if not isinstance(upgraded, Mapping):
        raise TypeError(f"it returned {upgraded!r:.80}, not the attributes of an item")
    made: Item = {name: encode_any(value) for name, value in upgraded.items()}  # pyright: ignore[reportUnknownVariableType] - checked by encode_any
    made |= {name: item[name] for name in key if name in item}
    return item if made == item else made


def find_new_key(
    upgrade: Upgrade, item: Mapping[str, AttributeValue], key: tuple[str, ...]
) -> Item:
    """Return the attributes of the key that an upgrade changes, with their new values."""
    upgraded = upgrade({name: decode_any(value) for name, value in item.items()})
    made = {name: encode_any(upgraded[name]) for name in key if name in upgraded}
    return {name: value for name, value in made.items() if value != item.get(name)}


def keep_upgraded(
    value: Any, item: Mapping[str, AttributeValue], upgraded: Mapping[str, AttributeValue]
) -> None:
    """Store what an upgrade changed with the value that was read: None for what it added."""
    value.__dict__[UPGRADED] = {
        name: item.get(name)
        for name in sorted(item.keys() | upgraded.keys())
        if item.get(name) != upgraded.get(name)
    }


def upgraded_attributes(entity: Any) -> frozenset[str]:
    """Return the attributes that an upgrade has changed in an entity that was read."""
    return frozenset(entity.__dict__.get(UPGRADED, ()))


def find_upgraded(schema: EntitySchema, entity: Any) -> list[str]:
    """Return the fields that an upgrade has changed, by name; none if there was no upgrade."""
    by_stored = schema.codec.by_stored
    return [by_stored[each].name for each in entity.__dict__.get(UPGRADED, ()) if each in by_stored]


def with_upgrade(update: Update[Any], entity: Any, new: Item) -> Update[Any]:
    """Return the update of a change that also writes what an upgrade made of the stored item."""
    stored: dict[str, AttributeValue | None] = entity.__dict__.get(UPGRADED, {})
    if not stored:
        return update
    written = {action.path.steps[0] for action in update.actions}
    written.update(part.attribute for part in update.changed_index_parts())
    actions: list[Action] = [
        SetTo(Path((name,)), new[name]) if name in new else Remove(Path((name,)))
        for name in stored
        if name not in written
    ]
    fields = update.schema.fields
    known = {
        name: value
        for name, value in (update.known or {}).items()
        if name not in fields or fields[name].stored not in stored
    }
    return replace(
        update,
        actions=(*update.actions, *actions),
        known=known,
        upgraded_from=stored,
    )


def expect_not_upgraded(stored: Mapping[str, AttributeValue | None]) -> list[Condition]:
    """Return the conditions that attributes are still stored as an upgrade has seen them."""
    return [is_stored_as(Path((name,)), value) for name, value in stored.items()]


def find_rewritten(
    schema: EntitySchema, stored: Mapping[str, AttributeValue | None], item: Item
) -> list[str]:
    """Return the attributes that an item no longer stores as an upgrade has seen them."""
    named = schema.codec.with_current_names(item)
    return [name for name, value in stored.items() if named.get(name) != value]


def without_upgrade(entity: Any) -> Any:
    """Return an entity that is written whole: its stored item is no longer in an old form."""
    if UPGRADED not in entity.__dict__:
        return entity
    copy = entity.model_copy()
    del copy.__dict__[UPGRADED]
    return copy
