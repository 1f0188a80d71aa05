"""The DescribeTable operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.tables.catalog import require_body
from keyfold.engine.tables.descriptions import to_table_description


def describe_table(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a table, with its item count and size."""
    name = table_name(request)
    body = context.storage.read(lambda reader: require_body(reader, name))
    counts = context.table_stats.count(body)
    return {"Table": to_table_description(context, body, counts)}
