"""The ListBulkOperations operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.listing import list_page
from keyfold.engine.bulk.work_records import BULK_OPERATIONS
from keyfold.engine.context import EngineContext

PAGE_OPERATIONS = 10
_SUMMARY = ("BulkOperationArn", "BulkOperationStatus", "StartTime", "EndTime")


def list_bulk_operations(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the bulk operations of the past 90 days, the latest first."""
    limit = request.get("MaxResults") or PAGE_OPERATIONS
    summaries, rest = list_page(context, request, BULK_OPERATIONS, limit=limit, summary=_SUMMARY)
    return {"BulkOperationsSummaryList": summaries, **rest}
