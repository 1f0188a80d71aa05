"""The StartBulkPutItems operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part, plain_name
from keyfold.engine.arns import part_arn, take_id
from keyfold.engine.bulk.buckets import check_prefix
from keyfold.engine.bulk.bulk_job import BulkJob, begin_bulk_putting
from keyfold.engine.bulk.bulk_reports import ReportsBody
from keyfold.engine.bulk.import_formats import FormatBody, check_readable
from keyfold.engine.bulk.work_records import (
    BULK_JOB_RECORD,
    BULK_OPERATIONS,
    WorkBody,
    find_by_token,
    write_work,
)
from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.copy_job import create_copy
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import require_settled, take_number
from keyfold.engine.tables.table import TableBody
from keyfold.errors import (
    ResourceInUseException,
    ValidationException,
)

# The request parameters that the description repeats.
_REPEATED = (
    "ClientToken",
    "InputS3Configuration",
    "OutputS3Configuration",
    "MaxWriteRequestUnits",
)


def start_bulk_put_items(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Put the items of files into a table; a small operation is complete when this returns."""
    request = known_part("StartBulkPutItems", request)
    _check(context, request)
    name, now = plain_name(request["TableName"]), context.clock()

    def work(writer: StorageWriter) -> tuple[WorkBody, bool]:
        known = find_by_token(writer, BULK_OPERATIONS, request, now)
        if known is not None:
            return known, False
        body = require_settled(writer, name)
        _check_table(body)
        return _begin(context, writer, request, body, now), True

    bulk, is_new = context.storage.write(work)
    if is_new:
        context.begin_job(BULK_JOB_RECORD, bulk["id"])
    return {"BulkOperationDescription": bulk["description"]}


def _check(context: EngineContext, request: dict[str, Any]) -> None:
    context.buckets.check()
    source, output = request["InputS3Configuration"], request["OutputS3Configuration"]
    for parameter, given in (("InputS3Configuration", source), ("OutputS3Configuration", output)):
        check_prefix(f"{parameter}.S3KeyPrefix", given.get("S3KeyPrefix"))
    compression = source.get("InputCompressionType") or "NONE"
    check_readable(source["InputFormat"], compression, "DYNAMODB_JSON")
    if "S3Bucket" not in output:
        raise ValidationException("OutputS3Configuration.S3Bucket must be specified")
    if not output["OutputType"]:
        raise ValidationException("OutputS3Configuration.OutputType must have one or both values")
    if "S3SseKmsKeyId" in output and output.get("S3SseAlgorithm") == "AES256":
        raise ValidationException("S3SseKmsKeyId cannot be specified for S3SseAlgorithm AES256")


def _check_table(body: TableBody) -> None:
    """Raise ServiceError if bulk operations cannot put items into the table now."""
    indexes = (*body["indexes"], *body.get("vectors", ()))
    if any(index["status"] == "CREATING" for index in indexes):
        raise ResourceInUseException(
            "Attempt to change a resource which is still in use: "
            f"Table is creating an index: {body['name']}"
        )
    if body.get("replicas"):
        raise ValidationException("Bulk operations are not supported for global tables")


def _begin(
    context: EngineContext,
    writer: StorageWriter,
    request: dict[str, Any],
    body: TableBody,
    now: float,
) -> WorkBody:
    id_ = take_id(context, writer, BULK_OPERATIONS.record, now)
    source, table_arn = request["InputS3Configuration"], context.table_arn(body["name"])
    described: dict[str, Any] = {
        "BulkOperationArn": part_arn(table_arn, "bulk-operation", id_),
        "BulkOperationStatus": "IN_PROGRESS",
        "TableDetails": [{"TableName": request["TableName"], "TableId": body["id"]}],
        **{field: request[field] for field in _REPEATED if field in request},
        "StartTime": now,
        "ProcessedItemCount": 0,
        "ProcessedInputBytes": 0,
        "BulkOperationUsage": [],
        "FailedItemCount": 0,
        "PerformanceTier": request.get("PerformanceTier") or "STANDARD",
    }
    bulk = WorkBody(id=id_, description=described, request=request)
    write_work(writer, BULK_OPERATIONS, bulk)
    input_format = FormatBody(
        format=source["InputFormat"],
        compression=source.get("InputCompressionType") or "NONE",
        delimiter="",
        header=None,
    )
    rows = create_copy(writer, take_number(writer))
    job = BulkJob(
        bucket=source["S3Bucket"],
        prefix=source.get("S3KeyPrefix") or "",
        form=input_format,
        key="",
        records=0,
        table=body["name"],
        table_id=body["id"],
        reports=ReportsBody(rows=rows, lines=0, files=[]),
    )
    begin_bulk_putting(writer, id_, job)
    return bulk
