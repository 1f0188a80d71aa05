"""What a statement that writes would do: the item that is there, what it becomes, and the units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyfold.analysis import ScratchTable
from keyfold.errors import AccessDenied, ServiceError
from keyfold.model import Table
from keyfold.model._hidden_attributes import hide_secrets
from keyfold.studio._actions import StudioCall
from keyfold.studio._shown_items import find_entity, show_item
from keyfold.studio._shown_values import show_stored
from keyfold.studio.rooms._statement_plans import StatementPlan
from keyfold.values import Item


def preview_write(call: StudioCall, plan: StatementPlan, text: str) -> dict[str, Any]:
    """Return the item before and after a write, which is made in memory; reads one item.

    `refusal` has the error that the write would end with, and `denied` why the item may not be read.
    """
    assert plan.key is not None  # a statement writes one item
    table = call.table
    request = {"TableName": table.name, "Key": plan.key, "ConsistentRead": True}
    try:
        before: Item | None = call.store.execute("GetItem", request).get("Item")
    except AccessDenied as error:
        return {"denied": str(error)}
    with ScratchTable(table, clock=call.workspace.clock) as scratch:
        scratch.load([] if before is None else [before])
        refusal = None
        try:
            scratch.store.execute("ExecuteStatement", {"Statement": text})
        except ServiceError as error:
            refusal = {"code": error.type, "message": error.message}
        units = sum(each.units for each in scratch.take_calls())
        after = next(iter(scratch.scan()), None)
    return {
        "before": None if before is None else show_item(table, before, now=call.now),
        "after": None if after is None else show_item(table, after, now=call.now),
        "changes": [*_list_changes(table, before or {}, after or {})],
        "units": units,
        "refusal": refusal,
        "warnings": [] if refusal else [*_warn(call, before, after)],
    }


def _list_changes(table: Table, before: Item, after: Item) -> Iterator[dict[str, Any]]:
    schemas = [*table.entities.values()]
    shown_before, shown_after = hide_secrets(schemas, before), hide_secrets(schemas, after)
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield {
                "name": name,
                "before": show_stored(shown_before[name]) if name in before else None,
                "after": show_stored(shown_after[name]) if name in after else None,
            }


def _warn(call: StudioCall, before: Item | None, after: Item | None) -> Iterator[str]:
    """Yield what the declaration would have kept from happening."""
    table = call.table
    if after is not None:
        shown = show_item(table, after, now=call.now)
        if shown["problem"] is not None:
            yield f"The item would not fit {shown['entity']}: {shown['problem']}"
        elif shown["entity"] is None and not shown["own"]:
            yield "The item would be of no declared entity."
    schema = find_entity(table, after or before or {}) if after or before else None
    for unique in () if schema is None else schema.unique.values():
        if unique.value_in(before or {}) != unique.value_in(after or {}):
            yield (
                f"{unique.field} of {schema.name if schema else ''} is unique, and a statement does "
                "not keep its guard. Use the room Edit, or a pattern."
            )
