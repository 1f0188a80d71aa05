"""The UpdateGlobalTableSettings operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part
from keyfold.engine.context import EngineContext
from keyfold.engine.replication.global_tables import (
    change_settings,
    describe_settings,
    require_global_table,
    require_source,
    write_global_table,
)
from keyfold.engine.storage import StorageWriter


def update_global_table_settings(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Record new settings of a global table, in all regions or in some."""
    request = known_part("UpdateGlobalTableSettings", request)
    name: str = request["GlobalTableName"]

    def work(writer: StorageWriter) -> dict[str, Any]:
        body = require_global_table(writer, name)
        table = require_source(context, writer, name)
        change_settings(request, body, table)
        write_global_table(writer, body)
        return describe_settings(body, table)

    return context.storage.write(work)
