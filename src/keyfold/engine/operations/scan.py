"""The Scan operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.keys import END
from keyfold.engine.items.reads import read_page
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.selection import (
    find_index,
    normalise_start_key,
    read_start_key,
    resolve_selection,
)
from keyfold.engine.items.spans import resume_span, segment_span
from keyfold.engine.storage import Span
from keyfold.errors import ValidationException
from keyfold.expressions.parameters import check_select, read_scan

_NOT_LESS = "The Segment parameter is zero-based and must be less than parameter TotalSegments"


def scan(context: EngineContext, request: dict[str, Any], rendering: Rendering) -> dict[str, Any]:
    """Return a page of all items of a table or index, in order of their partitions' hashes."""
    check_select(request)
    low, high = _read_segment(request)
    parameters = read_scan(request)
    start = normalise_start_key(request)
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    table = context.catalog.find(request["TableName"])
    index = find_index(table, request, "Scan")
    check_paths(table, parameters.filter, parameters.projection)
    selection = resolve_selection(
        request, index, parameters.projection, parameters.filter, is_keyed=False
    )
    column = None if index is None else index.column
    span = Span(low, high, column=column)
    if start is not None:
        place = read_start_key("Scan", table, index, start)
        position = place.row_key if place.entry is None else place.entry
        if not low <= position < high:
            raise ValidationException(
                "The provided starting key is invalid: Invalid ExclusiveStartKey. "
                "Please use ExclusiveStartKey with correct Segment. "
                f"TotalSegments: {request['TotalSegments']} Segment: {request['Segment']}"
            )
        span = resume_span(
            low, high, reverse=False, column=column, entry=place.entry, row_key=place.row_key
        )
    page = selection.to_page(request, table, index, span)
    return read_page(context.storage, page, meter, rendering)


def _read_segment(request: dict[str, Any]) -> tuple[bytes, bytes]:
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if segment is None and total is None:
        return b"", END
    if total is None:
        raise ValidationException(
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present"
        )
    if segment is None:
        raise ValidationException(
            "The Segment parameter is required but was not present in the request "
            "when parameter TotalSegments is present"
        )
    if segment >= total:
        raise ValidationException(
            f"{_NOT_LESS}: Segment: {segment} is not less than TotalSegments: {total}",
            current_message=_NOT_LESS,
            validation="current",
        )
    return segment_span(segment, total)
