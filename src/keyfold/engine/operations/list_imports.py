"""The ListImports operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.listing import list_page
from keyfold.engine.bulk.work_records import IMPORTS
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
    limit = request.get("PageSize") or PAGE_IMPORTS
    summaries, rest = list_page(context, request, IMPORTS, limit=limit, summary=_SUMMARY)
    return {"ImportSummaryList": summaries, **rest}
