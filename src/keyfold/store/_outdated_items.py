"""Updates of items that are stored in an old form, which DynamoDB cannot update in one call.

It cannot add to a set that is stored as a list, nor change a value inside a map that is absent, nor
either under a former name. Such an item is brought up to date first, as a backfill would, and the
update is repeated. An item that is up to date costs nothing: the update is tried first.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from enum import Enum, auto
from typing import Any, TypeGuard

from keyfold.errors import ConditionalCheckFailedException, KeyfoldError, RequestRefused
from keyfold.expressions import Action, AddTo, Arithmetic, DeleteFrom, FunctionCall, SetTo
from keyfold.model._calls import STORE, ApiCall
from keyfold.model._former_names import find_former_name, need_current_names
from keyfold.model._schemas import ItemMismatch
from keyfold.model._updates import Update
from keyfold.store._item_patches import find_patch
from keyfold.store._plans import Plan, RunContext, attempt, report_capacity
from keyfold.values import AttributeValue, normalise_item


def may_be_outdated(request: object, error: KeyfoldError) -> TypeGuard[Update[Any]]:
    """Return whether a request may have been refused because of the form of the stored item."""
    return (
        isinstance(request, Update)
        and isinstance(error, RequestRefused)
        and any(map(_needs_form, request.actions))
    )


def has_former_name(request: Update[Any], item: Mapping[str, AttributeValue] | None) -> bool:
    """Return whether a condition failed because the item has a former name, or may have.

    A request that returns nothing does not get the item.
    """
    if not request.schema.has_former_names:
        return False
    if item is None:
        needed = need_current_names(request.schema.codec, request.actions)
        return request.returns_nothing and bool(needed)
    return find_former_name(request.schema.codec, request.actions, item) is not None


def _needs_form(action: Action) -> bool:
    """Return whether the change depends on the type of the stored value, or of those around it."""
    match action:
        case AddTo() | DeleteFrom() | SetTo(_, Arithmetic() | FunctionCall("list_append")):
            return True
        case _:
            return len(action.path.steps) > 1


class Renewal(Enum):
    """What came of bringing an item up to date."""

    # It was not up to date: the update is worth a repeat.
    DONE = auto()
    # It is up to date. If another program has just done that, one repeat is worthwhile.
    NOT_NEEDED = auto()
    # It does not exist, cannot be read, or needs a backfill.
    NOT_POSSIBLE = auto()


def plan_renewal(context: RunContext, request: Update[Any]) -> Plan[Renewal]:
    """Bring the item of an update up to date.

    This is the store's business, whatever the principal's role: the item means the same after it.
    """
    table, key = request.table, request.item_key
    payload = {"TableName": table.name, "Key": key, "ConsistentRead": True}
    read = ApiCall("GetItem", payload, authority=STORE)
    report_capacity(context, read)
    item = (yield from attempt(context, request, read)).get("Item")
    if item is None:
        return Renewal.NOT_POSSIBLE
    try:
        _, patch = find_patch(table, normalise_item(item)[0])  # type: ignore[arg-type] - a declared table
    except ItemMismatch:
        return Renewal.NOT_POSSIBLE
    if patch is None:
        return Renewal.NOT_NEEDED
    unique = {name for each in request.schema.unique.values() for name in each.attributes}
    if unique & {*patch.sets, *patch.removes}:
        # A unique value takes its guard with it; a backfill does that.
        return Renewal.NOT_POSSIBLE
    write = ApiCall("UpdateItem", patch.to_request(table.name), authority=STORE)
    report_capacity(context, write)
    # If it was changed since it was read, the repeat finds out how.
    with suppress(ConditionalCheckFailedException):
        yield from attempt(context, request, write)
    return Renewal.DONE
