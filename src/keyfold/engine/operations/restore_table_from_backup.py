"""The RestoreTableFromBackup operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part
from keyfold.engine._backups import backup_arn, require_available, require_backup
from keyfold.engine._context import EngineContext
from keyfold.engine._responses import Rendering
from keyfold.engine._restore_job import CopyBody, RestoreBody
from keyfold.engine._restore_requests import answer_restore, create_restored
from keyfold.engine._tables import TableBody
from keyfold.engine.storage import StorageWriter


def restore_table_from_backup(
    context: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
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
