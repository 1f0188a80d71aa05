"""The DescribeExport operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.work_records import EXPORTS, require_work
from keyfold.engine.context import EngineContext


def describe_export(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters and the status of an export."""
    arn = request["ExportArn"]
    export = context.storage.read(lambda reader: require_work(reader, EXPORTS, arn))
    return {"ExportDescription": export["description"]}
