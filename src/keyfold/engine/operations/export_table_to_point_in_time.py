"""The ExportTableToPointInTime operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part, plain_name
from keyfold.engine.arns import part_arn, take_id
from keyfold.engine.bulk.buckets import check_prefix
from keyfold.engine.bulk.export_job import ChangesBody, ExportJob, begin_exporting
from keyfold.engine.bulk.work_records import EXPORTS, WorkBody, find_by_token, write_work
from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import require_source
from keyfold.engine.recovery.copy_job import create_copy
from keyfold.engine.recovery.point_in_time import (
    is_recoverable,
    last_change_at,
    last_change_before,
    require_recovery,
)
from keyfold.engine.recovery.rewind_job import EXPORT_JOB_RECORD, begin_rewind
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import take_number
from keyfold.engine.tables.table import TableBody
from keyfold.errors import (
    InvalidExportTimeException,
    ValidationException,
)

SHORTEST_SECONDS = 15 * 60
LONGEST_SECONDS = 24 * 3_600

# The request parameters that the description repeats.
_REPEATED = (
    "ClientToken",
    "S3Bucket",
    "S3BucketOwner",
    "S3Prefix",
    "S3SseAlgorithm",
    "S3SseKmsKeyId",
)


def export_table_to_point_in_time(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Export a table as of a time, or its changes in a period, to a folder.

    The export of a small table is complete when this returns.
    """
    request = known_part("ExportTableToPointInTime", request)
    _check(context, request)
    name, now = plain_name(request["TableArn"]), context.clock()

    def work(writer: StorageWriter) -> tuple[WorkBody, bool]:
        known = find_by_token(writer, EXPORTS, request, now)
        if known is not None:
            return known, False
        source = require_recovery(require_source(writer, name, request["TableArn"]))
        return _begin(context, writer, request, source, now), True

    export, is_new = context.storage.write(work)
    if is_new:
        context.begin_job(EXPORT_JOB_RECORD, export["id"])
    return {"ExportDescription": export["description"]}


def _check(context: EngineContext, request: dict[str, Any]) -> None:
    context.buckets.check()
    check_prefix("S3Prefix", request.get("S3Prefix"))
    if request.get("ExportFormat") == "ION":
        raise ValidationException("ExportFormat ION is not supported here; use DYNAMODB_JSON")
    if request.get("FilterSpecification"):
        raise ValidationException("FilterSpecification is not supported here")
    is_incremental = request.get("ExportType") == "INCREMENTAL_EXPORT"
    if is_incremental is not ("IncrementalExportSpecification" in request):
        raise ValidationException(
            "IncrementalExportSpecification must be specified for an INCREMENTAL_EXPORT, and for no other"
        )
    if is_incremental and "ExportTime" in request:
        raise ValidationException("ExportTime cannot be specified for an INCREMENTAL_EXPORT")
    if is_incremental and "ExportFromTime" not in request["IncrementalExportSpecification"]:
        raise ValidationException("ExportFromTime must be specified for an INCREMENTAL_EXPORT")


def _begin(
    context: EngineContext,
    writer: StorageWriter,
    request: dict[str, Any],
    source: TableBody,
    now: float,
) -> WorkBody:
    id_ = take_id(context, writer, EXPORTS.record, now)
    table_arn = context.table_arn(source["name"])
    described: dict[str, Any] = {
        "ExportArn": part_arn(table_arn, "export", id_),
        "ExportStatus": "IN_PROGRESS",
        "StartTime": now,
        "TableArn": table_arn,
        "TableId": source["id"],
        **{field: request[field] for field in _REPEATED if field in request},
        "ExportFormat": request.get("ExportFormat") or "DYNAMODB_JSON",
        "ExportType": request.get("ExportType") or "FULL_EXPORT",
        "BilledSizeBytes": 0,
        "ItemCount": 0,
    }
    job = ExportJob(rows=create_copy(writer, take_number(writer)), files=[])
    if described["ExportType"] == "INCREMENTAL_EXPORT":
        specification = _read_period(request["IncrementalExportSpecification"], source, now)
        described["IncrementalExportSpecification"] = specification
        job["changes"] = ChangesBody(
            table=source["name"],
            log=source.get("log", 0),
            after=last_change_before(writer, source, specification["ExportFromTime"]),
            until=last_change_before(writer, source, specification["ExportToTime"]),
        )
    else:
        at = described["ExportTime"] = request.get("ExportTime", now)
        _check_time(source, at, now)
        job["rewind"] = begin_rewind(source, last_change_at(writer, source, at, now))
    export = WorkBody(id=id_, description=described, request=request)
    write_work(writer, EXPORTS, export)
    begin_exporting(writer, id_, job)
    return export


def _read_period(given: dict[str, Any], source: TableBody, now: float) -> dict[str, Any]:
    start, end = given["ExportFromTime"], given.get("ExportToTime", now)
    _check_time(source, start, now)
    _check_time(source, end, now)
    if not SHORTEST_SECONDS <= end - start <= LONGEST_SECONDS:
        raise ValidationException(
            "The period between ExportFromTime and ExportToTime must be at least 15 minutes "
            "and at most 24 hours"
        )
    view = given.get("ExportViewType") or "NEW_AND_OLD_IMAGES"
    return {"ExportFromTime": start, "ExportToTime": end, "ExportViewType": view}


def _check_time(source: TableBody, at: float, now: float) -> None:
    if not is_recoverable(source, at, now):
        raise InvalidExportTimeException(
            "The specified ExportTime is outside of the point in time recovery window."
        )
