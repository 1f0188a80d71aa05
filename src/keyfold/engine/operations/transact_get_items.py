"""TransactGetItems."""

from __future__ import annotations

from typing import Any

import orjson

from keyfold.engine._capacity import Meter, read_units
from keyfold.engine._parameters import check_expression_use, check_paths, read_projection
from keyfold.engine._responses import Rendering
from keyfold.engine._services import Services
from keyfold.engine._single_reads import admit_read, count_read
from keyfold.engine._tables import Table, encode_key_of
from keyfold.engine._transactions import (
    MAX_BYTES,
    cancelled,
    check_distinct,
    fit_members,
    word_member_key_fault,
)
from keyfold.engine.expressions import Projection
from keyfold.engine.storage import Reader, Row
from keyfold.errors import ThrottlingException, ValidationException
from keyfold.values import Item, normalise_item


def transact_get_items(
    services: Services, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Return several items as of one moment."""
    gets = [each["Get"] for each in request["TransactItems"]]
    prepared = [_prepare(get) for get in gets]
    meter = Meter(request.get("ReturnConsumedCapacity"))
    tables = [services.catalog.find(get["TableName"]) for get in gets]
    places = fit_members(tables, prepared, _find_place)
    check_distinct(places)

    _admit_all([(table, key) for (table, _), (key, _) in zip(places, prepared, strict=True)])

    def work(reader: Reader) -> list[Row | None]:
        return [reader.get(table.rows, row_key) for table, row_key in places]

    rows = services.storage.read(work)
    if sum(row[1] for row in rows if row is not None) > MAX_BYTES:
        raise ValidationException(
            "Aggregated size of all items in the transaction has exceeded the size limit"
        )
    responses: list[dict[str, Any]] = []
    for (table, _), (key, projection), row in zip(places, prepared, rows, strict=True):
        size = 0 if row is None else row[1]
        count_read(table, key, size, is_consistent=True, factor=2)
        if meter.is_on:
            meter.use_of(table).units += 2 * read_units(size, is_consistent=True)
        responses.append({} if row is None else {"Item": _render(row, projection, rendering)})
    response: dict[str, Any] = {"Responses": responses}
    meter.report_all(response, "Read")
    return response


def _admit_all(members: list[tuple[Table, Item]]) -> None:
    reasons: list[dict[str, Any]] = []
    for table, key in members:
        try:
            admit_read(table, key)
            reasons.append({"Code": "None"})
        except ThrottlingException as throttled:
            reasons.append({"Code": "ThrottlingError", "Message": throttled.message})
    if any(reason["Code"] != "None" for reason in reasons):
        raise cancelled(reasons)


def _prepare(get: dict[str, Any]) -> tuple[Item, Projection | None]:
    check_expression_use("GetItem", get)
    key, _ = normalise_item(get["Key"])
    return key, read_projection(get)


def _find_place(table: Table, get: tuple[Item, Projection | None]) -> tuple[Table, bytes]:
    key, projection = get
    row_key = encode_key_of(table, key, word_member_key_fault)
    check_paths(table, projection)
    return table, row_key


def _render(row: Row, projection: Projection | None, rendering: Rendering) -> Any:
    if projection is None:
        return rendering.stored(row[0])
    return rendering.item(projection.apply(orjson.loads(row[0])))
