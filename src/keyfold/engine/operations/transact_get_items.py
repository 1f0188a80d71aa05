"""The TransactGetItems operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from keyfold.capacity import TRANSACTION_FACTOR, read_units
from keyfold.engine.context import EngineContext
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.single_reads import count_read
from keyfold.engine.items.transactions import (
    MAX_BYTES,
    admit_all,
    check_distinct,
    member_key_fault_error,
    prepare_members,
)
from keyfold.engine.items.work import check_inline
from keyfold.engine.storage import Row, StorageReader
from keyfold.engine.tables.table import EngineTable, encode_key_of
from keyfold.errors import ValidationException
from keyfold.expressions.parameters import check_expression_use, read_projection
from keyfold.expressions.paths import Projection
from keyfold.values import Item, normalise_item


def transact_get_items(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Return several items, all read from one snapshot."""
    gets = [each["Get"] for each in request["TransactItems"]]
    prepared = [_prepare(get) for get in gets]
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    tables = [context.catalog.find(get["TableName"]) for get in gets]
    targets = prepare_members(tables, prepared, _find_target)
    check_distinct(targets)
    admit_all([(table, key) for (table, _), (key, _) in zip(targets, prepared, strict=True)])

    def work(reader: StorageReader) -> list[Row | None]:
        return _read_rows(reader, targets)

    rows = context.storage.read(work)
    if rendering.is_inline:
        check_inline([row[0] for row in rows if row is not None])
    responses: list[dict[str, Any]] = []
    for (table, _), (key, projection), row in zip(targets, prepared, rows, strict=True):
        size = 0 if row is None else row[1]
        count_read(table, key, size, is_consistent=True, factor=TRANSACTION_FACTOR)
        if meter.is_on:
            meter.use_of(table).units += TRANSACTION_FACTOR * read_units(size, is_consistent=True)
        responses.append(_respond(row, projection, rendering))
    response: dict[str, Any] = {"Responses": responses}
    meter.report_all(response, "Read")
    return response


def _read_rows(
    reader: StorageReader, targets: Sequence[tuple[EngineTable, bytes]]
) -> list[Row | None]:
    rows: list[Row | None] = []
    size = 0
    for table, row_key in targets:
        row = reader.get(table.rows, row_key)
        rows.append(row)
        if row is not None:
            size += row[1]
            if size > MAX_BYTES:
                raise ValidationException(
                    "Aggregated size of all items in the transaction has exceeded the size limit"
                )
    return rows


def _prepare(get: dict[str, Any]) -> tuple[Item, Projection | None]:
    check_expression_use("GetItem", get)
    key, _ = normalise_item(get["Key"])
    return key, read_projection(get)


def _find_target(
    table: EngineTable, get: tuple[Item, Projection | None]
) -> tuple[EngineTable, bytes]:
    key, projection = get
    row_key = encode_key_of(table, key, member_key_fault_error)
    check_paths(table, projection)
    return table, row_key


def _respond(
    row: Row | None, projection: Projection | None, rendering: Rendering
) -> dict[str, Any]:
    """Return the response to one Get, which has no Item if nothing is found of it."""
    if row is None:
        return {}
    if projection is None:
        return {"Item": rendering.stored(row[0])}
    item = projection.apply(orjson.loads(row[0]))
    return {"Item": rendering.item(item)} if item else {}
