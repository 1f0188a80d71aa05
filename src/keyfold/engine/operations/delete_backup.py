"""The DeleteBackup operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import (
    BackupBody,
    drop_backup,
    require_idle_backup,
    to_backup_description,
)
from keyfold.engine.storage import StorageWriter


def delete_backup(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Delete a backup; it no longer exists when this returns."""

    def work(writer: StorageWriter) -> BackupBody:
        backup = require_idle_backup(writer, request["BackupArn"])
        drop_backup(writer, backup)
        return backup

    backup = context.storage.write(work)
    description = to_backup_description(context, {**backup, "status": "DELETED"})
    return {"BackupDescription": description}
