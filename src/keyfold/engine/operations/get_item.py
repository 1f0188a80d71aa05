"""The GetItem operation, and its fast path."""

from __future__ import annotations

from typing import Any

import orjson

from keyfold.api import OPERATIONS
from keyfold.capacity import read_units
from keyfold.engine.context import EngineContext
from keyfold.engine.items.consumed_capacity import LEVELS
from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.single_reads import admit_read, count_read
from keyfold.engine.items.work import check_inline
from keyfold.engine.tables.table import EngineTable, encode_key_of
from keyfold.errors import ValidationException
from keyfold.expressions.parameters import FLAG_TYPES, check_expression_use, read_projection
from keyfold.values import normalise_item

# The number of required parameters: the table and the key.
REQUIRED = 2
# A request with only these parameters may take the fast path.
_FAST_PARAMETERS = frozenset({"TableName", "Key", "ConsistentRead", "ReturnConsumedCapacity"})


def try_fast_get_item(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any] | None:
    """Return one item by a plain key, with all its attributes; None for other requests."""
    table = context.catalog.known(request.get("TableName"))
    key: Any = request.get("Key")
    if table is None or key.__class__ is not dict:
        return None
    row_key = table.encode_fast_key(key)
    if row_key is None:
        return None
    if len(request) == REQUIRED:
        row = context.storage.get(table.rows, row_key)
        return {} if row is None else {"Item": rendering.stored(row[0])}
    # As the store and the metrics of a server ask for it.
    is_usual = len(request) == REQUIRED + 1 and request.get("ReturnConsumedCapacity") == "TOTAL"
    if not is_usual and (
        not _FAST_PARAMETERS.issuperset(request)
        or request.get("ConsistentRead").__class__ not in FLAG_TYPES
        or request.get("ReturnConsumedCapacity") not in LEVELS
    ):
        return None
    row = context.storage.get(table.rows, row_key)
    response: dict[str, Any] = {} if row is None else {"Item": rendering.stored(row[0])}
    size = 0 if row is None else row[1]
    if is_usual:
        units = read_units(size, is_consistent=False)
        response["ConsumedCapacity"] = {"TableName": table.name, "CapacityUnits": units}
    else:
        _report_capacity(request, table, size, response)
    return response


def get_item(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Return one item by its key: all its attributes, or a projection of them."""
    try:
        check_expression_use("GetItem", request)
        key, _ = normalise_item(request["Key"])
        projection = read_projection(request)
    except ValidationException as error:
        error.set_validation(OPERATIONS["GetItem"].validation)
        raise
    table = context.catalog.find(request["TableName"])
    check_paths(table, projection)
    row_key = encode_key_of(table, key)
    if table.monitor is not None:
        admit_read(table, key)
    row = context.storage.get(table.rows, row_key)
    response: dict[str, Any] = {}
    if row is not None:
        if rendering.is_inline:
            check_inline((row[0],))
        response["Item"] = (
            rendering.stored(row[0])
            if projection is None
            else rendering.item(projection.apply(orjson.loads(row[0])))
        )
    size = 0 if row is None else row[1]
    if table.monitor is not None:
        count_read(table, key, size, is_consistent=bool(request.get("ConsistentRead")))
    _report_capacity(request, table, size, response)
    return response


def _report_capacity(
    request: dict[str, Any], table: EngineTable, size: int, response: dict[str, Any]
) -> None:
    level = request.get("ReturnConsumedCapacity")
    if level is None or level == "NONE":
        return
    units = read_units(size, is_consistent=bool(request.get("ConsistentRead")))
    consumed: dict[str, Any] = {"TableName": table.name, "CapacityUnits": units}
    if level == "INDEXES":
        consumed["Table"] = {"CapacityUnits": units}
    response["ConsumedCapacity"] = consumed
