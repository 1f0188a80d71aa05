"""PutItem."""

from __future__ import annotations

from typing import Any

from keyfold.engine._parameters import (
    check_expression_use,
    check_old_or_none,
    check_paths,
    read_condition,
)
from keyfold.engine._responses import Rendering
from keyfold.engine._services import Services
from keyfold.engine._writes import (
    Write,
    check_item_size,
    make_put,
    perform_for,
    put_if,
    put_unseen,
    respond_to_write,
)
from keyfold.values import normalise_item

# The table and the item.
REQUIRED = 2
# A put with no more than these asks for nothing back.
_CONDITIONAL = frozenset(
    {
        "TableName",
        "Item",
        "ConditionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
    }
)


def put_item(services: Services, request: dict[str, Any], rendering: Rendering) -> dict[str, Any]:
    """Write a whole item, in place of the one with the same key."""
    if len(request) == REQUIRED:
        # Nothing else is given, so nobody asks what was there before.
        item, size = normalise_item(request["Item"])
        check_item_size(size)
        table = services.catalog.find(request["TableName"])
        row_key, put = make_put(table, item, size)
        put_unseen(services.storage, table, row_key, put)
        return {}
    if _CONDITIONAL.issuperset(request) and request.get("ConditionExpression") is not None:
        return _put_if(services, request)
    check_expression_use("PutItem", request)
    item, size = normalise_item(request["Item"])
    check_old_or_none(request)
    condition = read_condition(request)
    check_item_size(size)
    table = services.catalog.find(request["TableName"])
    row_key, put = make_put(table, item, size)
    check_paths(table, condition)
    write = Write(table, row_key, put, None if condition is None else condition.holds)
    outcome = perform_for(services.storage, write, request, rendering)
    returned = outcome.old if request.get("ReturnValues") == "ALL_OLD" else None
    return respond_to_write(services.storage, request, rendering, outcome, returned)


def _put_if(services: Services, request: dict[str, Any]) -> dict[str, Any]:
    """Write an item if its condition holds, and report nothing else."""
    item, size = normalise_item(request["Item"])
    condition = read_condition(request)
    assert condition is not None  # the request has one
    check_item_size(size)
    table = services.catalog.find(request["TableName"])
    row_key, put = make_put(table, item, size)
    check_paths(table, condition)
    put_if(services.storage, table, row_key, put, condition.holds)
    return {}
