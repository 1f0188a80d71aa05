"""The DescribeImport operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.work_records import IMPORTS, require_work
from keyfold.engine.context import EngineContext


def describe_import(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters and the status of an import."""
    arn = request["ImportArn"]
    imported = context.storage.read(lambda reader: require_work(reader, IMPORTS, arn))
    return {"ImportTableDescription": imported["description"]}
