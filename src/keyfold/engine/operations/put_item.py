"""PutItem."""

from __future__ import annotations

from typing import Any

from keyfold.engine._capacity import Meter
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
    put_unseen,
    report_collections,
)
from keyfold.values import normalise_item

# The table and the item.
REQUIRED = 2


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
    check_expression_use("PutItem", request)
    item, size = normalise_item(request["Item"])
    check_old_or_none(request)
    condition = read_condition(request)
    check_item_size(size)
    meter = Meter(request.get("ReturnConsumedCapacity"))
    table = services.catalog.find(request["TableName"])
    row_key, put = make_put(table, item, size)
    check_paths(table, condition)
    write = Write(table, row_key, put, None if condition is None else condition.holds)
    outcome = perform_for(services.storage, write, request, rendering)
    response: dict[str, Any] = {}
    if request.get("ReturnValues") == "ALL_OLD" and outcome.old is not None:
        response["Attributes"] = rendering.item(outcome.old)
    if meter.is_on:
        outcome.charge(meter.use_of(table))
        meter.report(response)
    report_collections(services.storage, request, [outcome], rendering, response)
    return response
