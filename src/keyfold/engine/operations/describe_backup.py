"""The DescribeBackup operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine._backups import require_backup, to_backup_description
from keyfold.engine._context import EngineContext
from keyfold.engine._responses import Rendering


def describe_backup(
    context: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Return the description of a backup, with that of its source table at the time."""
    backup = context.storage.read(lambda reader: require_backup(reader, request["BackupArn"]))
    return {"BackupDescription": to_backup_description(context, backup)}
