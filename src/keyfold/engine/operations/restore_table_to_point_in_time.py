"""The RestoreTableToPointInTime operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part, plain_name
from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import require_source
from keyfold.engine.recovery.point_in_time import is_recoverable, last_change_at, require_recovery
from keyfold.engine.recovery.restore_job import RestoreBody
from keyfold.engine.recovery.restore_requests import answer_restore, create_restored
from keyfold.engine.recovery.rewind_job import begin_rewind
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.table import TableBody
from keyfold.errors import InvalidRestoreTimeException, ValidationException


def restore_table_to_point_in_time(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Create a table as another was at a point in time.

    A small table is complete when this returns.
    """
    request = known_part("RestoreTableToPointInTime", request)
    name = _source_of(request)
    now = context.clock()
    at = _time_of(request, now)

    def work(writer: StorageWriter) -> TableBody:
        source = require_recovery(require_source(writer, name))
        if not is_recoverable(source, at, now):
            raise InvalidRestoreTimeException(
                "An invalid restore time was specified. RestoreDateTime must be between "
                "EarliestRestorableDateTime and LatestRestorableDateTime."
            )
        summary = {"SourceTableArn": context.table_arn(name), "RestoreDateTime": at}
        rewind = begin_rewind(source, last_change_at(writer, source, at, now))
        restore = RestoreBody(rewind=rewind)
        return create_restored(context, writer, request, source, summary, restore)

    return answer_restore(context, context.storage.write(work))


def _source_of(request: dict[str, Any]) -> str:
    named: list[str] = [
        plain_name(request[parameter])
        for parameter in ("SourceTableName", "SourceTableArn")
        if parameter in request
    ]
    if not named:
        raise ValidationException("Either SourceTableName or SourceTableArn must be specified")
    if len(set(named)) > 1:
        raise ValidationException("SourceTableName and SourceTableArn must name the same table")
    return named[0]


def _time_of(request: dict[str, Any], now: float) -> float:
    at, wants_latest = request.get("RestoreDateTime"), request.get("UseLatestRestorableTime")
    if (at is None) is not bool(wants_latest):
        raise ValidationException(
            "Either RestoreDateTime or UseLatestRestorableTime must be specified, and not both"
        )
    return now if at is None else at
