"""The DescribeTableReplicaAutoScaling operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.replication.table_scaling import describe_table_scaling
from keyfold.engine.tables.catalog import require_body


def describe_table_replica_auto_scaling(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Return the auto scaling settings of a table in every region; nothing is scaled."""
    name = table_name(request)
    body = context.storage.read(lambda reader: require_body(reader, name))
    return {"TableAutoScalingDescription": describe_table_scaling(context, body)}
