"""PutItem."""

from __future__ import annotations

from typing import Any

from keyfold.engine._context import EngineContext
from keyfold.engine._key_faults import KeyInvalid
from keyfold.engine._parameters import (
    check_expression_use,
    check_old_or_none,
    check_paths,
    read_condition,
)
from keyfold.engine._responses import Rendering
from keyfold.engine._writes import (
    MAX_ITEM_BYTES,
    ItemWrite,
    check_item_size,
    make_put,
    perform_for,
    put_if,
    put_unseen,
    respond_to_write,
)
from keyfold.engine.expressions import read_fast_condition
from keyfold.errors import ServiceError
from keyfold.values import normalise_item, to_json

# The table and the item.
REQUIRED = 2
# A put with no more than these asks for nothing back.
_PLAIN = frozenset({"TableName", "Item", "ConditionExpression", "ExpressionAttributeValues"})


def try_fast_put_item(
    services: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any] | None:
    """Write an item, maybe under a condition, for callers who ask for nothing back.

    Returns None for whatever takes a closer look, all that is to be refused among it.
    """
    table = services.catalog.known(request.get("TableName"))
    raw: Any = request.get("Item")
    if table is None or raw.__class__ is not dict or not _PLAIN.issuperset(request):
        return None
    try:
        item, size = normalise_item(raw)
        row_key, entries = table.encode_key(item), table.entries(item)
    except (KeyError, KeyInvalid, ServiceError):
        return None
    if size > MAX_ITEM_BYTES:
        return None
    if len(request) == REQUIRED:
        put_unseen(services.storage, table, row_key, to_json(item), size, entries)
        return {}
    text, values = request.get("ConditionExpression"), request.get("ExpressionAttributeValues", {})
    condition = read_fast_condition(text) if text.__class__ is str else None
    # That they are the same ones, and not only as many, shows when they are bound.
    if (
        condition is None
        or values.__class__ is not dict
        or len(condition.placeholders) != len(values)
    ):
        return None
    if not values and "ExpressionAttributeValues" in request:
        return None
    holds = condition.bind(values)
    if holds is None:
        return None
    put_if(services.storage, table, row_key, to_json(item), size, entries, holds)
    return {}


def put_item(
    services: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Write a whole item, in place of the one with the same key."""
    check_expression_use("PutItem", request)
    item, size = normalise_item(request["Item"])
    check_old_or_none(request)
    condition = read_condition(request)
    check_item_size(size)
    table = services.catalog.find(request["TableName"])
    row_key, put = make_put(table, item, size)
    check_paths(table, condition)
    write = ItemWrite(table, row_key, put, None if condition is None else condition.holds)
    outcome = perform_for(services.storage, write, request, rendering)
    returned = outcome.old if request.get("ReturnValues") == "ALL_OLD" else None
    return respond_to_write(services.storage, request, rendering, outcome, returned)
