"""ListBulkOperations."""

from __future__ import annotations

from typing import Any

from keyfold.engine._bulk_records import list_bulk_operations as read_bulk_operations
from keyfold.engine._context import EngineContext
from keyfold.engine._listing import LISTED_SECONDS, take_page
from keyfold.engine._responses import Rendering

PAGE_OPERATIONS = 10
_SUMMARY = ("BulkOperationArn", "BulkOperationStatus", "StartTime", "EndTime")


def list_bulk_operations(
    services: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Return the bulk operations of the past 90 days, the latest first, a page at a time."""
    since = services.clock() - LISTED_SECONDS
    # Ids sort as the moments at which they were taken, ARNs by their tables.
    named = [
        (bulk["id"], bulk["description"])
        for bulk in services.storage.read(read_bulk_operations)
        if bulk["description"]["StartTime"] >= since
    ]
    limit = request.get("MaxResults") or PAGE_OPERATIONS
    page, rest = take_page(named, limit, request.get("NextToken"))
    summaries = [{name: each[name] for name in _SUMMARY if name in each} for each in page]
    return {"BulkOperationsSummaryList": summaries, **rest}
