"""The PutItem operation, and its fast path."""

from __future__ import annotations

from typing import Any

from keyfold.api import OPERATIONS
from keyfold.engine.context import EngineContext
from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.key_faults import KeyInvalid
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.write_checks import is_certain_to_fit
from keyfold.engine.items.writes import (
    ItemWrite,
    check_item_size,
    make_put,
    perform_for_request,
    put_if,
    put_without_reading,
    respond_to_write,
    split_condition,
)
from keyfold.errors import ConditionalCheckFailedException, ServiceError, ValidationException
from keyfold.expressions.fast_conditions import bind_fast_condition
from keyfold.expressions.parameters import check_expression_use, check_old_or_none, read_condition
from keyfold.values import MAX_ITEM_BYTES, normalise_item, to_json

# The number of required parameters: the table and the item.
REQUIRED = 2
# A request with only these parameters may take the fast path.
_FAST_PARAMETERS = frozenset(
    {
        "TableName",
        "Item",
        "ConditionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "ReturnValuesOnConditionCheckFailure",
    }
)
_ON_FAILURE = (None, "ALL_OLD", "NONE")


def try_fast_put_item(
    context: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any] | None:
    """Put an item, with a condition or without, for requests that return nothing.

    Returns None for other requests, and for all that are invalid.
    """
    table = context.catalog.known(request.get("TableName"))
    raw: Any = request.get("Item")
    if table is None or raw.__class__ is not dict or not _FAST_PARAMETERS.issuperset(request):
        return None
    try:
        item, size = normalise_item(raw)
        row_key, entries = table.encode_key(item), table.entries(item)
    except (KeyError, KeyInvalid, ServiceError):
        return None
    if size > MAX_ITEM_BYTES:
        return None
    if table.check is not None and not is_certain_to_fit(table.check, item):
        return None
    if len(request) == REQUIRED:
        put_without_reading(context.storage, table, row_key, to_json(item), size, entries)
        return {}
    holds = bind_fast_condition(
        request.get("ConditionExpression"),
        request.get("ExpressionAttributeNames"),
        request.get("ExpressionAttributeValues"),
    )
    on_failure: Any = request.get("ReturnValuesOnConditionCheckFailure")
    if holds is None or on_failure not in _ON_FAILURE:
        return None
    try:
        put_if(context.storage, table, row_key, to_json(item), size, entries, holds)
    except ConditionalCheckFailedException:
        if on_failure != "ALL_OLD":
            raise
        # Nothing was written: the ordinary path finds the item that is to be returned.
        return None
    return {}


def put_item(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Put an item, replacing the one with the same key, if any."""
    try:
        check_expression_use("PutItem", request)
        item, size = normalise_item(request["Item"])
        check_old_or_none(request)
        condition = read_condition(request)
    except ValidationException as error:
        error.set_validation(OPERATIONS["PutItem"].validation)
        raise
    check_item_size(size)
    table = context.catalog.find(request["TableName"])
    row_key, put = make_put(table, item, size)
    check_paths(table, condition)
    write = ItemWrite(table, row_key, put, *split_condition(condition))
    outcome = perform_for_request(context.storage, write, request, rendering)
    returned = outcome.old if request.get("ReturnValues") == "ALL_OLD" else None
    return respond_to_write(context.storage, request, rendering, outcome, returned)
