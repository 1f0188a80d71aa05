"""The DescribeExport operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.export_records import require_export
from keyfold.engine.context import EngineContext


def describe_export(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters and the status of an export."""
    export = context.storage.read(lambda reader: require_export(reader, request["ExportArn"]))
    return {"ExportDescription": export["description"]}
