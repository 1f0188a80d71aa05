"""The DescribeEndpoints operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext

CACHE_MINUTES = 1_440


def describe_endpoints(context: EngineContext, _request: dict[str, Any]) -> dict[str, Any]:
    """Return the address of DynamoDB's endpoint in the engine's region."""
    address = f"dynamodb.{context.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": CACHE_MINUTES}]}
