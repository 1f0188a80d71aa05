"""The DeleteTable operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import create_system_backup
from keyfold.engine.recovery.rewind_job import is_being_copied
from keyfold.engine.replication.global_tables import drop_global_table
from keyfold.engine.storage import StorageWriter
from keyfold.engine.streams.change_log import close_log
from keyfold.engine.streams.lifecycle import apply_stream_change
from keyfold.engine.tables.backfill import drop_backfill
from keyfold.engine.tables.catalog import TABLE_RECORD, require_settled
from keyfold.engine.tables.descriptions import to_table_description
from keyfold.engine.tables.table import TableBody, build_table
from keyfold.errors import ResourceInUseException, ValidationException


def delete_table(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Delete a table with all its items, unless deletion protection is on.

    If it has point-in-time recovery, its last state is kept as a system backup.
    """
    name = table_name(request)

    def work(writer: StorageWriter) -> TableBody:
        body = require_settled(writer, name)
        if body["is_protected"]:
            raise ValidationException(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        if is_being_copied(writer, name):
            raise ResourceInUseException(
                "Attempt to change a resource which is still in use: "
                f"Table is being restored or exported: {name}"
            )
        if "recovery" in body:
            create_system_backup(context, writer, body)
        else:
            writer.drop_rows(build_table(body).rows)
        if "log" in body:
            now = context.clock()
            apply_stream_change(writer, body, None, now)
            close_log(writer, body["log"], now)
        writer.set_record(TABLE_RECORD, name, None)
        drop_backfill(writer, name)
        drop_global_table(writer, name)
        return body

    body = context.storage.write(work)
    context.catalog.forget()
    context.monitors.forget(body["id"])
    if "recovery" in body:
        context.wake_upkeep()
    described = to_table_description(
        context, {**body, "status": "DELETING", "indexes": [], "vectors": []}
    )
    for absent in ("AttributeDefinitions", "KeySchema", "CreationDateTime"):
        del described[absent]
    return {"TableDescription": described}
