"""The UpdateTableReplicaAutoScaling operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part, table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.replication.table_scaling import change_table_scaling, describe_table_scaling
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import require_body, write_body
from keyfold.engine.tables.table import TableBody


def update_table_replica_auto_scaling(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Record the auto scaling settings of a table; nothing is scaled."""
    request = known_part("UpdateTableReplicaAutoScaling", request)
    name = table_name(request)

    def work(writer: StorageWriter) -> TableBody:
        body = require_body(writer, name)
        change_table_scaling(context, request, body)
        write_body(writer, body)
        return body

    body = context.storage.write(work)
    described = describe_table_scaling(context, {**body, "status": "UPDATING"})
    return {"TableAutoScalingDescription": described}
