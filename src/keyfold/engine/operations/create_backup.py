"""The CreateBackup operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import create_backup as make_backup
from keyfold.engine.recovery.backups import to_backup_details


def create_backup(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Back up a table as it is now; the backup is complete, though the response says CREATING."""
    backup = make_backup(context, request["BackupName"], table_name(request))
    details = to_backup_details(context, {**backup, "status": "CREATING"})
    return {"BackupDetails": details}
