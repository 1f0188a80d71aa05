"""DescribeTableReplicaAutoScaling."""

from __future__ import annotations

from typing import Any

from keyfold.engine._catalog import require_body
from keyfold.engine._context import EngineContext
from keyfold.engine._responses import Rendering
from keyfold.engine._table_scaling import describe_table_scaling
from keyfold.engine.shapes import table_name


def describe_table_replica_auto_scaling(
    services: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Return how the capacity of a table would be scaled, in every region."""
    name = table_name(request)
    body = services.storage.read(lambda reader: require_body(reader, name))
    return {"TableAutoScalingDescription": describe_table_scaling(services, body)}
