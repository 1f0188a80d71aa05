"""The room Edit: one item as a form or as it is stored, what a change of it does, and its conditional save."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.errors import ServiceError
from keyfold.store._guard_actions import has_expired
from keyfold.store._own_items import is_own_item
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio._shown_items import find_entity, find_problem, show_item
from keyfold.studio.rooms import _bulk_edits, _edit_files
from keyfold.studio.rooms._drafts import DraftInvalid, DraftItem, read_draft
from keyfold.studio.rooms._edit_forms import find_value, show_form
from keyfold.studio.rooms._edit_plans import (
    ItemEdit,
    count_units,
    plan_edit,
    read_time,
    show_changes,
    show_entries,
    show_guards,
    uses_transaction,
)
from keyfold.studio.rooms._edit_reads import find_hidden, read_item, read_key
from keyfold.studio.rooms._edit_secrets import with_secrets
from keyfold.studio.rooms._edit_writes import carry_out, count_unchecked
from keyfold.values import Item, item_size_bytes, normalise_item, restore_binaries


def open_item(call: StudioCall) -> dict[str, Any]:
    """Return an item to edit, by its `key`, or an empty form of an `entity`."""
    given = call.body.optional_mapping("key")
    if given is None:
        return _open_new(call, call.body.text("entity"))
    key = read_key(call, given)
    item = read_item(call, key)
    if item is None:
        raise StudioProblem(404, "item-missing", "No item has this key.", key=key)
    return show_editable(call, item)


def show_editable(call: StudioCall, item: Item) -> dict[str, Any]:
    """Return an item for its editor: as other rooms show it, with its form, and as it is stored."""
    restored = restore_binaries(item)
    shown = show_item(call.table, restored, now=call.now)
    schema = find_entity(call.table, restored)
    declared = frozenset(call.table.key.names) if schema is None else schema.declared_names
    hidden = sorted(find_hidden(call, shown["key"], declared))
    return {
        "item": item,
        "shown": shown,
        "entity": shown["entity"],
        "form": [] if schema is None else show_form(schema, item),
        "others": {name: item[name] for name in sorted(item) if name not in declared},
        "hidden": hidden,
    }


def _open_new(call: StudioCall, name: str) -> dict[str, Any]:
    schema = call.table.entities.get(name)
    if schema is None:
        known = ", ".join(call.table.entities)
        message = f"{call.table.name} has no entity {name!r}; it has {known}."
        raise StudioProblem(404, "entity-unknown", message)
    return {
        "item": None,
        "shown": None,
        "entity": name,
        "form": show_form(schema, None),
        "others": {},
        "hidden": [],
    }


def read_before(call: StudioCall, name: str = "read") -> Item | None:
    """Return an item that the page has read before; None for one that did not exist."""
    given = call.body.optional_mapping(name)
    if given is None:
        return None
    read_key(call, given)
    try:
        return normalise_item(dict(given))[0]
    except ServiceError as error:
        raise StudioProblem(400, "request-malformed", f"{name}: {error.message}") from None


def preview(call: StudioCall) -> dict[str, Any]:
    """Return what a draft would change; with `deletes`, what a deletion would."""
    before, now = read_before(call), read_time(call)
    try:
        edit = _read_edit(call, before)
    except DraftInvalid as error:
        return {"ok": False, "errors": [each.to_json() for each in error.faults]}
    return {
        "ok": True,
        "errors": [],
        "entity": None if edit.new is None else edit.new.name,
        "changes": show_changes(edit),
        "entries": show_entries(edit),
        "guards": show_guards(edit),
        "units": count_units(edit),
        "transaction": uses_transaction(edit),
        "moves": edit.moves,
        "item": edit.after,
        **_show_values(edit),
        "bytes": 0 if edit.after is None else item_size_bytes(edit.after),
        "notes": list(_list_notes(call, edit)),
        "at": now.isoformat(),
    }


def _show_values(edit: ItemEdit) -> dict[str, Any]:
    """Return the values of a form for an item that was edited as it is stored."""
    if edit.new is None or edit.after is None:
        return {"fields": {}, "others": edit.after or {}}
    schema, item = edit.new, edit.after
    fields = {name: find_value(schema, name, item) for name in schema.fields}
    others = {name: item[name] for name in item if name not in schema.declared_names}
    return {"fields": fields, "others": others}


def _list_notes(call: StudioCall, edit: ItemEdit) -> list[str]:
    """Return what somebody should know before a save."""
    notes: list[str] = []
    if edit.before is not None and edit.is_expired and edit.after is not None:
        notes.append("This item has expired, so it counts as deleted: a save creates it anew.")
        if has_expired(edit.table, edit.after, edit.now):
            notes.append("It would stay expired. Unset its expiry, or set a later one.")
    if edit.moves:
        notes.append("The key changes: the item is deleted and created anew, in one transaction.")
    if edit.new is None and edit.old is None:
        notes.append(
            "This item is of no entity: nothing is validated, and no unique value is kept."
        )
    if (
        edit.old is not None
        and edit.before is not None
        and edit.after is not None
        and find_problem(edit.old, restore_binaries(edit.before)) is not None
    ):
        notes.append(f"The stored item does not fit {edit.old.name}; this repairs it.")
    unchecked = count_unchecked(call, edit)
    if unchecked:
        notes.append(
            f"A condition takes only so many attributes: {unchecked:,} others of this item, which the "
            "save leaves alone, are not compared with what was read."
        )
    return notes


def _read_edit(call: StudioCall, before: Item | None) -> ItemEdit:
    """Return the edit of a request; raises DraftInvalid."""
    now = read_time(call)
    if call.body.flag("deletes"):
        return plan_edit(call, before, None, now)
    draft = call.body.mapping("draft")
    return plan_edit(call, before, read_draft(call.table, draft, before, now), now)


def save(call: StudioCall) -> dict[str, Any]:
    """Write a draft, on the condition that the item is still as it was read."""
    before = read_before(call)
    try:
        edit = _read_edit(call, before)
    except DraftInvalid as error:
        raise refuse_draft(error) from None
    _refuse_own(edit)
    if edit.before == edit.after:
        raise StudioProblem(422, "edit-empty", "The draft is what is stored: nothing to save.")
    return finish(call, edit)


def finish(call: StudioCall, edit: ItemEdit) -> dict[str, Any]:
    """Carry out an edit; return what an undo needs, and the item as it is now."""
    left = carry_out(call, edit)
    return {
        "before": edit.before,
        "after": left,
        "entity": _name(edit),
        "opened": None if left is None else show_editable(call, left),
    }


def _name(edit: ItemEdit) -> str | None:
    schema = edit.new or edit.old
    return None if schema is None else schema.name


def refuse_draft(error: DraftInvalid) -> StudioProblem:
    """Return the problem of a draft that cannot be stored."""
    faults = [each.to_json() for each in error.faults]
    message = "; ".join(
        ": ".join(filter(None, (each.field, each.message))) for each in error.faults
    )
    return StudioProblem(422, "edit-invalid", message, fields=faults)


def _refuse_own(edit: ItemEdit) -> None:
    if any(
        item is not None and is_own_item(edit.table, item) for item in (edit.before, edit.after)
    ):
        fact = "This item is Keyfold's own: it follows from others, and is not edited by hand."
        raise StudioProblem(422, "edit-own-item", fact)


def delete(call: StudioCall) -> dict[str, Any]:
    """Delete an item, on the condition that it is still as it was read."""
    before = read_before(call)
    if before is None:
        raise StudioProblem(400, "request-malformed", "read has to be the item to delete.")
    edit = plan_edit(call, before, None, read_time(call))
    _refuse_own(edit)
    return finish(call, edit)


def undo(call: StudioCall) -> dict[str, Any]:
    """Put a former state back, on the condition that the item is still as a save left it.

    What is stored was accepted before, so it is not validated again. The version is counted up: nobody
    who has read the version in between takes this for it.
    """
    former, left = read_before(call, "before"), read_before(call, "after")
    if former is None and left is None:
        raise StudioProblem(400, "request-malformed", "There is nothing to undo.")
    edit = plan_edit(call, left, _as_draft(call, former), read_time(call))
    _refuse_own(edit)
    return finish(call, edit)


def _as_draft(call: StudioCall, item: Mapping[str, Any] | None) -> DraftItem | None:
    if item is None:
        return None
    return DraftItem(dict(item), find_entity(call.table, restore_binaries(dict(item))))


ACTIONS: tuple[Action, ...] = (
    Action("edit/open", with_secrets(open_item)),
    Action("edit/preview", with_secrets(preview)),
    Action("edit/save", with_secrets(save), writes=True),
    Action("edit/delete", with_secrets(delete), writes=True),
    Action("edit/undo", with_secrets(undo), writes=True),
    *_bulk_edits.ACTIONS,
    *_edit_files.ACTIONS,
)
