"""DescribeEndpoints."""

from __future__ import annotations

from typing import Any

from keyfold.engine._context import EngineContext
from keyfold.engine._responses import Rendering

CACHE_MINUTES = 1_440


def describe_endpoints(
    services: EngineContext,
    request: dict[str, Any],  # noqa: ARG001 - one signature for all operations
    rendering: Rendering,  # noqa: ARG001
) -> dict[str, Any]:
    """Return where this region's DynamoDB is."""
    address = f"dynamodb.{services.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": CACHE_MINUTES}]}
