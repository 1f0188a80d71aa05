"""The DescribeLimits operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext


def describe_limits(_context: EngineContext, _request: dict[str, Any]) -> dict[str, Any]:
    """Return the capacity quotas of a new account."""
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }
