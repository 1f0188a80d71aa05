"""The UpdateGlobalTable operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part
from keyfold.engine.context import EngineContext
from keyfold.engine.replication.global_tables import (
    GlobalTableBody,
    describe_global_table,
    new_replica,
    require_global_table,
    require_source,
    write_global_table,
)
from keyfold.engine.replication.replicas import warn_unreplicated
from keyfold.engine.storage import StorageWriter
from keyfold.errors import (
    ReplicaAlreadyExistsException,
    ReplicaNotFoundException,
    ValidationException,
)
from keyfold.values.wording import INVALID


def update_global_table(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Add or remove replicas of a global table; only recorded, nothing is replicated."""
    request = known_part("UpdateGlobalTable", request)
    name: str = request["GlobalTableName"]
    updates: list[dict[str, Any]] = request["ReplicaUpdates"]
    if not updates:
        raise ValidationException(f"{INVALID}List of ReplicaUpdates is empty")

    def work(writer: StorageWriter) -> GlobalTableBody:
        body = require_global_table(writer, name)
        require_source(context, writer, name)
        for update in updates:
            _change_replica(body, update)
        write_global_table(writer, body)
        return body

    body = context.storage.write(work)
    warn_unreplicated(f"global table {name}, replicas in {', '.join(body['replicas'])}")
    return {"GlobalTableDescription": describe_global_table(context, body, "UPDATING")}


def _change_replica(body: GlobalTableBody, update: dict[str, Any]) -> None:
    created, deleted = update.get("Create"), update.get("Delete")
    if (created is None) is (deleted is None):
        message = "Exactly one of Create or Delete must be specified per ReplicaUpdate"
        raise ValidationException(f"{INVALID}{message}")
    replicas = body["replicas"]
    if created is not None:
        region = created["RegionName"]
        if region in replicas:
            raise ReplicaAlreadyExistsException(f"Replica already exists: {region}")
        replicas[region] = new_replica()
    elif deleted is not None:
        region = deleted["RegionName"]
        if region not in replicas:
            raise ReplicaNotFoundException(f"Replica not found: {region}")
        del replicas[region]
