"""The ListExports operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.export_records import list_exports as read_exports
from keyfold.engine.bulk.listing import LISTED_SECONDS, take_page
from keyfold.engine.context import EngineContext

PAGE_EXPORTS = 25
_SUMMARY = ("ExportArn", "ExportStatus", "ExportType")


def list_exports(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the exports of the past 90 days, in descending order of ARN."""
    since, table = context.clock() - LISTED_SECONDS, request.get("TableArn")
    described = [export["description"] for export in context.storage.read(read_exports)]
    named = [
        (each["ExportArn"], each)
        for each in described
        if each["StartTime"] >= since and table in (None, each["TableArn"])
    ]
    limit = request.get("MaxResults") or PAGE_EXPORTS
    page, rest = take_page(named, limit, request.get("NextToken"))
    return {"ExportSummaries": [{name: each[name] for name in _SUMMARY} for each in page], **rest}
