"""The CreateGlobalTable operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part
from keyfold.engine.context import EngineContext
from keyfold.engine.replication.global_tables import (
    GlobalTableBody,
    describe_global_table,
    new_replica,
    read_global_table,
    read_regions,
    require_source,
    write_global_table,
)
from keyfold.engine.replication.replicas import warn_unreplicated
from keyfold.engine.storage import StorageWriter
from keyfold.errors import GlobalTableAlreadyExistsException


def create_global_table(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Record that a table is part of a global table; nothing is replicated."""
    request = known_part("CreateGlobalTable", request)
    name: str = request["GlobalTableName"]
    regions = read_regions(request["ReplicationGroup"])
    body = GlobalTableBody(
        name=name,
        created_at=context.clock(),
        replicas={region: new_replica() for region in regions},
    )

    def work(writer: StorageWriter) -> None:
        require_source(context, writer, name)
        if read_global_table(writer, name) is not None:
            raise GlobalTableAlreadyExistsException(f"Global table already exists: {name}")
        write_global_table(writer, body)

    context.storage.write(work)
    warn_unreplicated(f"global table {name}, replicas in {', '.join(regions)}")
    return {"GlobalTableDescription": describe_global_table(context, body, "CREATING")}
