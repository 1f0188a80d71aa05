"""DeleteTable."""

from __future__ import annotations

from typing import Any

from keyfold.engine._backfill import drop_backfill
from keyfold.engine._catalog import TABLE_RECORD, require_body
from keyfold.engine._changes import close_log
from keyfold.engine._descriptions import to_table_description
from keyfold.engine._responses import Rendering
from keyfold.engine._services import Services
from keyfold.engine._streams import follow_table
from keyfold.engine._tables import TableBody, build_table
from keyfold.engine.shapes import table_name
from keyfold.engine.storage import Writer
from keyfold.errors import ValidationException


def delete_table(
    services: Services,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Remove a table with all its items, unless it is protected."""
    name = table_name(request)

    def work(writer: Writer) -> TableBody:
        body = require_body(writer, name)
        if body["is_protected"]:
            raise ValidationException(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        writer.drop_rows(build_table(body).rows)
        if "log" in body:
            now = services.clock()
            follow_table(writer, body, None, now)
            close_log(writer, body["log"], now)
        writer.set_record(TABLE_RECORD, name, None)
        drop_backfill(writer, name)
        return body

    body = services.storage.write(work)
    services.catalog.forget()
    described = to_table_description(services, {**body, "status": "DELETING", "indexes": []})
    for absent in ("AttributeDefinitions", "KeySchema", "CreationDateTime"):
        del described[absent]
    return {"TableDescription": described}
