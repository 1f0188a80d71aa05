"""The UntagResource operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import require_body, write_body
from keyfold.engine.tables.tags import table_of_arn
from keyfold.errors import ValidationException


def untag_resource(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Remove tags from a table; keys that it does not have are ignored."""
    keys: list[str] = request.get("TagKeys") or []
    if not keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    name = table_of_arn(context, request)

    def work(writer: StorageWriter) -> None:
        body = require_body(writer, name)
        for key in keys:
            body["tags"].pop(key, None)
        write_body(writer, body)

    context.storage.write(work)
    return {}
