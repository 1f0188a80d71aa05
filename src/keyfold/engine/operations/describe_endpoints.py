"""DescribeEndpoints."""

from __future__ import annotations

from typing import Any

from keyfold.engine._responses import Rendering
from keyfold.engine._services import Services

CACHE_MINUTES = 1_440


def describe_endpoints(
    services: Services,
    request: dict[str, Any],  # noqa: ARG001 - one signature for all operations
    rendering: Rendering,  # noqa: ARG001
) -> dict[str, Any]:
    """Return where this region's DynamoDB is."""
    address = f"dynamodb.{services.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": CACHE_MINUTES}]}
