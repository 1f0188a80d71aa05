"""The ListGlobalTables operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.replication import global_tables

PAGE_TABLES = 100


def list_global_tables(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the global tables, of one region or all, in order of name."""
    bodies = context.storage.read(global_tables.list_global_tables)
    region, start = request.get("RegionName"), request.get("ExclusiveStartGlobalTableName")
    found = [
        body
        for body in bodies
        if (region is None or region in body["replicas"])
        and (start is None or body["name"] > start)
    ]
    page = found[: request.get("Limit") or PAGE_TABLES]
    response: dict[str, Any] = {
        "GlobalTables": [
            {
                "GlobalTableName": body["name"],
                "ReplicationGroup": [{"RegionName": region} for region in body["replicas"]],
            }
            for body in page
        ]
    }
    if len(page) < len(found):
        response["LastEvaluatedGlobalTableName"] = page[-1]["name"]
    return response
