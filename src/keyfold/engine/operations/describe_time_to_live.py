"""The DescribeTimeToLive operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.tables.catalog import require_body


def describe_time_to_live(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return whether time to live is enabled for a table, and on which attribute."""
    name = table_name(request)
    body = context.storage.read(lambda reader: require_body(reader, name))
    ttl = body.get("ttl")
    if ttl is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {
        "TimeToLiveDescription": {
            "TimeToLiveStatus": "ENABLED",
            "AttributeName": ttl["attribute"],
        }
    }
