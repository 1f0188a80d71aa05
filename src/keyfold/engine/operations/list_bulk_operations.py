"""The ListBulkOperations operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.bulk_records import list_bulk_operations as read_bulk_operations
from keyfold.engine.bulk.listing import LISTED_SECONDS, take_page
from keyfold.engine.context import EngineContext

PAGE_OPERATIONS = 10
_SUMMARY = ("BulkOperationArn", "BulkOperationStatus", "StartTime", "EndTime")


def list_bulk_operations(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the bulk operations of the past 90 days, the latest first."""
    since = context.clock() - LISTED_SECONDS
    # Sort by id, not by ARN: ids sort by creation time, ARNs by table name.
    named = [
        (bulk["id"], bulk["description"])
        for bulk in context.storage.read(read_bulk_operations)
        if bulk["description"]["StartTime"] >= since
    ]
    limit = request.get("MaxResults") or PAGE_OPERATIONS
    page, rest = take_page(named, limit, request.get("NextToken"))
    summaries = [{name: each[name] for name in _SUMMARY if name in each} for each in page]
    return {"BulkOperationsSummaryList": summaries, **rest}
