"""The DescribeBulkOperation operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.bulk_records import require_bulk_operation
from keyfold.engine.context import EngineContext


def describe_bulk_operation(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters and the status of a bulk operation."""
    arn = request["BulkOperationArn"]
    bulk = context.storage.read(lambda reader: require_bulk_operation(reader, arn))
    return {"BulkOperationDescription": bulk["description"]}
