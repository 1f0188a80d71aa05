"""The DescribeGlobalTableSettings operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.replication.global_tables import (
    describe_settings,
    require_global_table,
    require_source,
)
from keyfold.engine.storage import StorageReader


def describe_global_table_settings(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Return the settings of a global table in every region."""
    name: str = request["GlobalTableName"]

    def work(reader: StorageReader) -> dict[str, Any]:
        body = require_global_table(reader, name)
        return describe_settings(body, require_source(context, reader, name))

    return context.storage.read(work)
