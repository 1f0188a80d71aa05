"""Bulk edits: one change of many items, first as a preview, then in batches.

A preview returns the key and a digest of each item that it saw. A batch changes only those items that still
have their digest, each by a conditional write of its own, and reports which failed and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from keyfold.errors import KeyfoldError
from keyfold.model._schemas import EntitySchema
from keyfold.store._own_items import is_own_item
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._bodies import StudioBody
from keyfold.studio._problems import StudioProblem, describe_problem
from keyfold.studio._shown_items import find_entity, show_item
from keyfold.studio.rooms._drafts import DraftFault, DraftInvalid, read_typed
from keyfold.studio.rooms._edit_filters import choose_items, make_digest
from keyfold.studio.rooms._edit_forms import find_manager, find_value
from keyfold.studio.rooms._edit_plans import (
    ItemEdit,
    count_units,
    key_of,
    plan_edit,
    read_time,
    show_changes,
    show_entries,
)
from keyfold.studio.rooms._edit_reads import read_item, read_key
from keyfold.studio.rooms._edit_secrets import with_secrets
from keyfold.studio.rooms._edit_writes import carry_out
from keyfold.values import Item, restore_binaries

_EXAMPLES = 10
_BATCH = 25


def preview_bulk(call: StudioCall) -> dict[str, Any]:
    """Return what a change would do to the items of a filter: one page of them, with examples."""
    chosen, change, now = choose_items(call), _read_change(call.body), read_time(call)
    wanted = call.body.integer("examples", least=0, most=_EXAMPLES, default=_EXAMPLES)
    items: list[dict[str, Any]] = []
    failing: list[dict[str, Any]] = []
    examples: list[dict[str, Any]] = []
    units, same = 0.0, 0
    for item in chosen.items:
        key = key_of(call.table, item)
        try:
            edit = _plan(call, item, change, now)
        except DraftInvalid as error:
            failing.append({"key": key, "message": _describe(error)})
            continue
        if edit.before == edit.after:
            same += 1
            continue
        units += count_units(edit)["write"]
        items.append({"key": key, "digest": make_digest(item)})
        if len(examples) < wanted:
            examples.append(_show_example(call, edit))
    failing += [{"key": key, "message": "No item has this key."} for key in chosen.missing]
    return {
        "items": items,
        "examples": examples,
        "failing": failing,
        "unchanged": same,
        "scanned": chosen.scanned,
        "units": units,
        "after": chosen.after,
    }


def run_bulk(call: StudioCall) -> dict[str, Any]:
    """Change up to 25 items of a preview; `count` is how many there are in all, as it was typed."""
    change, now = _read_change(call.body), read_time(call)
    given = call.body.sequence("items")
    count = call.body.integer("count", least=1, most=10**9)
    if not 1 <= len(given) <= min(_BATCH, count):
        message = f"items has to be 1 to {_BATCH} of the {count:,} items; got {len(given):,}."
        raise StudioProblem(400, "request-malformed", message)
    done: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    for each in given:
        body = StudioBody(each)
        key = read_key(call, body.mapping("key"))
        try:
            edit = _plan(call, _read_again(call, key, body.text("digest")), change, now)
            left = carry_out(call, edit)
        except DraftInvalid as error:
            failed.append({"key": key, "code": "edit-invalid", "message": _describe(error)})
        except (StudioProblem, KeyfoldError) as error:
            problem = describe_problem(error)
            failed.append({"key": key, "code": problem.code, "message": problem.message})
        else:
            done.append({"key": key, "before": edit.before, "after": left})
    return {"done": done, "failed": failed}


def _read_again(call: StudioCall, key: Item, digest: str) -> Item:
    item = read_item(call, key)
    if item is None:
        raise StudioProblem(409, "edit-conflict", "Someone deleted it since the preview.")
    if make_digest(item) != digest:
        raise StudioProblem(409, "edit-conflict", "Someone changed it since the preview.")
    return item


def _read_change(body: StudioBody) -> Mapping[str, Any]:
    """Return a change: `{"kind": "set", "field": …, "value": …}`, `remove` or `delete`."""
    change = body.mapping("change")
    read = StudioBody(dict(change))
    kind = read.text("kind")
    if kind not in ("set", "remove", "delete"):
        message = f"change.kind has to be set, remove or delete; got {kind!r:.40}."
        raise StudioProblem(400, "request-malformed", message)
    if kind != "delete":
        read.text("field")
    if kind == "set":
        read.mapping("value")
    return change


def _plan(call: StudioCall, item: Item, change: Mapping[str, Any], now: datetime) -> ItemEdit:
    """Return the edit of one item; raises DraftInvalid."""
    if is_own_item(call.table, item):
        raise DraftInvalid([DraftFault("", "It is one of Keyfold's own items.")])
    if change["kind"] == "delete":
        return plan_edit(call, item, None, now)
    schema = find_entity(call.table, restore_binaries(item))
    if schema is None:
        raise DraftInvalid([DraftFault("", "It is of no entity, so its fields are unknown.")])
    name: str = change["field"]
    value = change["value"] if change["kind"] == "set" else None
    _check_field(schema, name)
    fields = {each: find_value(schema, each, item) for each in schema.fields}
    others = {each: item[each] for each in item if each not in schema.declared_names}
    if name in schema.fields:
        fields[name] = value
    else:
        others[name] = cast("Any", value)
    return plan_edit(call, item, read_typed(schema, fields, others, item, now), now)


def _check_field(schema: EntitySchema, name: str) -> None:
    field = schema.fields.get(name)
    if field is None:
        return
    if name in schema.key_fields:
        fact = "It is part of the key: change the items one by one."
        raise DraftInvalid([DraftFault(name, fact)])
    if find_manager(schema, field) in ("version", "updated"):
        raise DraftInvalid([DraftFault(name, "The store sets it.")])


def _describe(error: DraftInvalid) -> str:
    parts = (": ".join(filter(None, (each.field, each.message))) for each in error.faults)
    return "; ".join(parts)


def _show_example(call: StudioCall, edit: ItemEdit) -> dict[str, Any]:
    assert edit.before is not None  # bulk edits are of items that exist
    return {
        "shown": show_item(call.table, restore_binaries(edit.before), now=call.now, most=200),
        "changes": show_changes(edit),
        "entries": show_entries(edit),
    }


ACTIONS: tuple[Action, ...] = (
    Action("edit/bulk-preview", with_secrets(preview_bulk)),
    Action("edit/bulk", with_secrets(run_bulk), writes=True),
)
