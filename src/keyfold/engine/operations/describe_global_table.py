"""The DescribeGlobalTable operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.replication import global_tables


def describe_global_table(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a global table, with its replicas."""
    name: str = request["GlobalTableName"]
    body = context.storage.read(lambda reader: global_tables.require_global_table(reader, name))
    return {"GlobalTableDescription": global_tables.describe_global_table(context, body)}
