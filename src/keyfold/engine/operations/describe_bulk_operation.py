"""The DescribeBulkOperation operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.work_records import BULK_OPERATIONS, require_work
from keyfold.engine.context import EngineContext


def describe_bulk_operation(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters and the status of a bulk operation."""
    arn = request["BulkOperationArn"]
    bulk = context.storage.read(lambda reader: require_work(reader, BULK_OPERATIONS, arn))
    return {"BulkOperationDescription": bulk["description"]}
