"""The DescribeLimits operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.items.responses import Rendering


def describe_limits(
    context: EngineContext,  # noqa: ARG001 - one signature for all operations
    request: dict[str, Any],  # noqa: ARG001
    rendering: Rendering,  # noqa: ARG001
) -> dict[str, Any]:
    """Return the capacity quotas of a new account."""
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }
