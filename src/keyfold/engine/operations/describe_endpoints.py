"""The DescribeEndpoints operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.items.responses import Rendering

CACHE_MINUTES = 1_440


def describe_endpoints(
    context: EngineContext,
    request: dict[str, Any],  # noqa: ARG001 - one signature for all operations
    rendering: Rendering,  # noqa: ARG001
) -> dict[str, Any]:
    """Return the address of DynamoDB's endpoint in the engine's region."""
    address = f"dynamodb.{context.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": CACHE_MINUTES}]}
