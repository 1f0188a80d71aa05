"""Conflicts: somebody changed an item after it was read, so an edit of it was not carried out."""

from __future__ import annotations

from typing import Any

from keyfold.model._codecs import StoredField
from keyfold.studio._actions import StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio._shown_items import find_entity
from keyfold.studio.rooms._edit_forms import find_manager, value_in
from keyfold.studio.rooms._edit_plans import ItemEdit
from keyfold.studio.rooms._edit_reads import read_item
from keyfold.values import AttributeValue, Item, restore_binaries


def make_conflict(call: StudioCall, edit: ItemEdit, error: Exception) -> Exception:
    """Return the problem of an edit whose condition failed, with the item as it is now.

    It has `read`, `now` and `yours`, which are items, and `rows`, one for each field that differs. If the
    item is as it was read, the condition failed for another reason, and the error itself is returned.
    """
    now = read_item(call, edit.key)
    if now == edit.before:
        return error
    found = edit.new or edit.old
    name = "item" if found is None else found.name
    if edit.before is None:
        fact = (
            f"An item with this key exists already. Open it, or choose another key for the {name}."
        )
    elif now is None:
        fact = f"Someone deleted this {name} since you read it."
    else:
        fact = f"Someone changed this {name} since you read it."
    return StudioProblem(
        409,
        "edit-conflict",
        fact,
        read=edit.before,
        now=now,
        yours=edit.after,
        rows=compare(call, edit, now),
    )


def compare(call: StudioCall, edit: ItemEdit, now: Item | None) -> list[dict[str, Any]]:
    """Return the fields in which an item differs from what was read, or the edit does.

    Each has `name`, `attribute`, `read`, `now` and `yours`. What the store sets is left out.
    """
    current = None if now is None else find_entity(call.table, restore_binaries(now))
    schema = edit.new or edit.old or current
    sides = ((edit.old, edit.before), (current, now), (edit.new, edit.after))
    rows: list[dict[str, Any]] = []
    seen: set[str] = set(call.table.key.names)
    fields = dict[str, StoredField]() if schema is None else schema.fields
    for name, each in fields.items():
        if not each.is_part:
            seen.add(each.stored)
        if schema is not None and find_manager(schema, each) in ("version", "updated"):
            continue
        attribute = None if each.is_part else each.stored
        _add_row(rows, name, attribute, [value_in(owner, name, item) for owner, item in sides])
    derived = frozenset[str]() if schema is None else schema.own_attributes
    every = [name for _, item in sides for name in item or {}]
    for name in dict.fromkeys(every):
        if name not in seen and name not in derived:
            _add_row(rows, name, name, [(item or {}).get(name) for _, item in sides])
    return rows


def _add_row(
    rows: list[dict[str, Any]],
    name: str,
    attribute: str | None,
    values: list[AttributeValue | None],
) -> None:
    read, now, yours = values
    if now != read or yours != read:
        rows.append(
            {"name": name, "attribute": attribute, "read": read, "now": now, "yours": yours}
        )
