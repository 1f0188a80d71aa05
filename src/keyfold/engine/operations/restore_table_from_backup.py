"""The RestoreTableFromBackup operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part
from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import backup_arn, require_available, require_backup
from keyfold.engine.recovery.restore_job import CopyBody, RestoreBody
from keyfold.engine.recovery.restore_requests import answer_restore, create_restored
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.table import TableBody


def restore_table_from_backup(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Create a table from a backup; a small table is complete when this returns."""
    request = known_part("RestoreTableFromBackup", request)

    def work(writer: StorageWriter) -> TableBody:
        backup = require_available(require_backup(writer, request["BackupArn"]))
        summary = {
            "SourceBackupArn": backup_arn(context, backup),
            "SourceTableArn": context.table_arn(backup["table"]["name"]),
            "RestoreDateTime": backup["created_at"],
        }
        restore = RestoreBody(copy=CopyBody(rows=backup["rows"], next=""))
        return create_restored(context, writer, request, backup["table"], summary, restore)

    return answer_restore(context, context.storage.write(work))
