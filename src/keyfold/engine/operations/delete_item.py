"""The DeleteItem operation."""

from __future__ import annotations

from typing import Any

from keyfold.api import OPERATIONS
from keyfold.engine.context import EngineContext
from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.writes import (
    DeleteAction,
    ItemWrite,
    perform_for_request,
    respond_to_write,
    split_condition,
)
from keyfold.engine.tables.table import encode_key_of
from keyfold.errors import ValidationException
from keyfold.expressions.parameters import check_expression_use, check_old_or_none, read_condition
from keyfold.values import normalise_item


def delete_item(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Delete an item; succeeds if there is no such item, unless a condition fails."""
    try:
        check_expression_use("DeleteItem", request)
        key, _ = normalise_item(request["Key"])
        check_old_or_none(request)
        condition = read_condition(request)
    except ValidationException as error:
        error.set_validation(OPERATIONS["DeleteItem"].validation)
        raise
    table = context.catalog.find(request["TableName"])
    row_key = encode_key_of(table, key)
    check_paths(table, condition)
    write = ItemWrite(table, row_key, DeleteAction(key), *split_condition(condition))
    outcome = perform_for_request(context.storage, write, request, rendering)
    returned = outcome.old if request.get("ReturnValues") == "ALL_OLD" else None
    return respond_to_write(context.storage, request, rendering, outcome, returned)
