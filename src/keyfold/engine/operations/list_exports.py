"""The ListExports operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.listing import list_page
from keyfold.engine.bulk.work_records import EXPORTS
from keyfold.engine.context import EngineContext

PAGE_EXPORTS = 25
_SUMMARY = ("ExportArn", "ExportStatus", "ExportType")


def list_exports(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the exports of the past 90 days, in descending order of ARN."""
    limit = request.get("MaxResults") or PAGE_EXPORTS
    summaries, rest = list_page(context, request, EXPORTS, limit=limit, summary=_SUMMARY)
    return {"ExportSummaries": summaries, **rest}
