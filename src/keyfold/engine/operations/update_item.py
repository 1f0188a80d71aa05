"""The UpdateItem operation."""

from __future__ import annotations

from typing import Any

from keyfold.api import OPERATIONS
from keyfold.engine.context import EngineContext
from keyfold.engine.items.expression_checks import check_paths, check_update
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.writes import (
    ItemWrite,
    UpdateAction,
    WriteOutcome,
    perform_for_request,
    respond_to_write,
    split_condition,
)
from keyfold.engine.tables.table import encode_key_of
from keyfold.errors import ValidationException
from keyfold.expressions.parameters import read_update
from keyfold.expressions.updates import UPDATE_TOO_LARGE, UpdatePlan
from keyfold.values import MAX_ITEM_BYTES, Item


def update_item(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Update an item, or create it if it does not exist."""
    try:
        key, plan, condition = read_update(request)
    except ValidationException as error:
        error.set_validation(OPERATIONS["UpdateItem"].validation)
        raise
    if plan is not None and plan.statement_bytes > MAX_ITEM_BYTES:
        # Only UpdateItem counts the statement: other updates are limited by the resulting item.
        raise ValidationException(UPDATE_TOO_LARGE)
    table = context.catalog.find(request["TableName"])
    row_key = encode_key_of(table, key)
    check_update(plan, table)
    check_paths(table, condition)
    write = ItemWrite(table, row_key, UpdateAction(key, plan), *split_condition(condition))
    outcome = perform_for_request(context.storage, write, request, rendering)
    returned = _returned(request.get("ReturnValues"), plan, outcome)
    return respond_to_write(context.storage, request, rendering, outcome, returned)


def _returned(wanted: str | None, plan: UpdatePlan | None, outcome: WriteOutcome) -> Item | None:
    match wanted:
        case "ALL_OLD":
            return outcome.old
        case "ALL_NEW":
            return outcome.new
        case "UPDATED_OLD":
            touched = outcome.old
        case "UPDATED_NEW":
            touched = outcome.new
        case _:
            return None
    if plan is None or touched is None:
        return None
    return plan.project_touched(touched) or None
