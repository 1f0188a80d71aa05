"""The ListBackups operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import plain_name
from keyfold.engine.arns import read_arn
from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import BackupBody, backup_arn, to_backup_summary
from keyfold.engine.recovery.backups import list_backups as read_backups
from keyfold.errors import ValidationException

PAGE_BACKUPS = 100


def list_backups(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the backups, the oldest first."""
    start = _start_of(request)
    found = [
        backup
        for backup in context.storage.read(read_backups)
        if backup["id"] > start and _is_wanted(backup, request)
    ]
    limit = request.get("Limit") or PAGE_BACKUPS
    page = found[:limit]
    response: dict[str, Any] = {
        "BackupSummaries": [to_backup_summary(context, backup) for backup in page]
    }
    if len(found) > limit:
        response["LastEvaluatedBackupArn"] = backup_arn(context, page[-1])
    return response


def _start_of(request: dict[str, Any]) -> str:
    """Return the id after which the page begins; that backup may have been deleted since."""
    arn = request.get("ExclusiveStartBackupArn")
    if arn is None:
        return ""
    named = read_arn(arn, "backup")
    if named is None:
        raise ValidationException(f"Invalid ExclusiveStartBackupArn: {arn}")
    return named[1]


def _is_wanted(backup: BackupBody, request: dict[str, Any]) -> bool:
    name, kind = request.get("TableName"), request.get("BackupType") or "ALL"
    low, high = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    return (
        (name is None or backup["table"]["name"] == plain_name(name))
        and kind in ("ALL", backup["type"])
        and (low is None or backup["created_at"] >= low)
        and (high is None or backup["created_at"] < high)
    )
