"""The TagResource operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import require_body, write_body
from keyfold.engine.tables.tags import check_count, read_tags, table_of_arn
from keyfold.errors import ValidationException


def tag_resource(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Add tags to a table, replacing those with the same keys."""
    if not request.get("Tags"):
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    name = table_of_arn(context, request)
    tags = read_tags(request["Tags"])

    def work(writer: StorageWriter) -> None:
        body = require_body(writer, name)
        body["tags"].update(tags)
        check_count(body["tags"])
        write_body(writer, body)

    context.storage.write(work)
    return {}
