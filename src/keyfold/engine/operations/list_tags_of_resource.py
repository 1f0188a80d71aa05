"""The ListTagsOfResource operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.tables.catalog import require_body
from keyfold.engine.tables.tags import table_of_arn


def list_tags_of_resource(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the tags of a table; never in pages, since a table has at most 50."""
    name = table_of_arn(context, request)
    body = context.storage.read(lambda reader: require_body(reader, name))
    return {"Tags": [{"Key": key, "Value": value} for key, value in body["tags"].items()]}
