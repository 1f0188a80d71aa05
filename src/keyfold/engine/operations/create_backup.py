"""CreateBackup."""

from __future__ import annotations

from typing import Any

from keyfold.engine._backups import create_backup as make_backup
from keyfold.engine._backups import to_backup_details
from keyfold.engine._context import EngineContext
from keyfold.engine._responses import Rendering
from keyfold.engine.shapes import table_name


def create_backup(
    services: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Keep a table as it is now; it is kept when this returns, though the answer says CREATING."""
    backup = make_backup(services, request["BackupName"], table_name(request))
    details = to_backup_details(services, {**backup, "status": "CREATING"})
    return {"BackupDetails": details}
