"""The UpdateContinuousBackups operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import require_source
from keyfold.engine.recovery.point_in_time import describe_recovery, switch_off, switch_on
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.table import TableBody


def update_continuous_backups(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Enable or disable point-in-time recovery of a table."""
    name, wanted = table_name(request), request["PointInTimeRecoverySpecification"]
    now = context.clock()

    def work(writer: StorageWriter) -> TableBody:
        body = require_source(writer, name)
        if wanted["PointInTimeRecoveryEnabled"]:
            return switch_on(writer, body, wanted.get("RecoveryPeriodInDays"), now)
        return switch_off(writer, body, now)

    body = context.storage.write(work)
    context.catalog.forget()
    context.wake_upkeep()
    return {"ContinuousBackupsDescription": describe_recovery(body, now)}
