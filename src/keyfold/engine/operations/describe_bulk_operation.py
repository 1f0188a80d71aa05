"""DescribeBulkOperation."""

from __future__ import annotations

from typing import Any

from keyfold.engine._bulk_records import require_bulk_operation
from keyfold.engine._context import EngineContext
from keyfold.engine._responses import Rendering


def describe_bulk_operation(
    services: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Return what was asked of a bulk operation, and what came of it."""
    arn = request["BulkOperationArn"]
    bulk = services.storage.read(lambda reader: require_bulk_operation(reader, arn))
    return {"BulkOperationDescription": bulk["description"]}
