"""The DescribeBackup operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import require_backup, to_backup_description


def describe_backup(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a backup, with that of its source table at the time."""
    backup = context.storage.read(lambda reader: require_backup(reader, request["BackupArn"]))
    return {"BackupDescription": to_backup_description(context, backup)}
