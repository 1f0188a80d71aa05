"""The ListImports operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.import_records import list_imports as read_imports
from keyfold.engine.bulk.listing import LISTED_SECONDS, take_page
from keyfold.engine.context import EngineContext

PAGE_IMPORTS = 25
_SUMMARY = (
    "ImportArn",
    "ImportStatus",
    "TableArn",
    "S3BucketSource",
    "InputFormat",
    "StartTime",
    "EndTime",
)


def list_imports(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the imports of the past 90 days, in descending order of ARN."""
    since, table = context.clock() - LISTED_SECONDS, request.get("TableArn")
    described = [imported["description"] for imported in context.storage.read(read_imports)]
    named = [
        (each["ImportArn"], each)
        for each in described
        if each["StartTime"] >= since and table in (None, each["TableArn"])
    ]
    limit = request.get("PageSize") or PAGE_IMPORTS
    page, rest = take_page(named, limit, request.get("NextToken"))
    summaries = [{name: each[name] for name in _SUMMARY if name in each} for each in page]
    return {"ImportSummaryList": summaries, **rest}
