"""The ImportTable operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part
from keyfold.engine.arns import part_arn, take_id
from keyfold.engine.bulk.buckets import check_prefix
from keyfold.engine.bulk.import_formats import FormatBody, check_readable
from keyfold.engine.bulk.import_job import ImportJob, begin_importing
from keyfold.engine.bulk.work_records import (
    IMPORT_JOB_RECORD,
    IMPORTS,
    WorkBody,
    find_by_token,
    write_work,
)
from keyfold.engine.context import EngineContext
from keyfold.engine.operations.create_table import read_definition
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import read_body, take_number, write_body
from keyfold.engine.tables.table import TableBody, build_table
from keyfold.errors import (
    ResourceInUseException,
    ValidationException,
)

# The request parameters that the description repeats.
_REPEATED = ("ClientToken", "S3BucketSource", "InputFormat", "InputFormatOptions")


def import_table(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Create a table from the files of a folder; a small import is complete when this returns."""
    request = known_part("ImportTable", request)
    input_format = _read_format(context, request)
    body = read_definition(context, request["TableCreationParameters"])
    body["status"] = "CREATING"
    now = context.clock()

    def work(writer: StorageWriter) -> tuple[WorkBody, bool]:
        known = find_by_token(writer, IMPORTS, request, now)
        if known is not None:
            return known, False
        return _begin(context, writer, request, input_format, body, now), True

    imported, is_new = context.storage.write(work)
    if is_new:
        context.catalog.forget()
        context.begin_job(IMPORT_JOB_RECORD, imported["id"])
    return {"ImportTableDescription": imported["description"]}


def _read_format(context: EngineContext, request: dict[str, Any]) -> FormatBody:
    context.buckets.check()
    check_prefix("S3KeyPrefix", request["S3BucketSource"].get("S3KeyPrefix"))
    kind, compression = request["InputFormat"], request.get("InputCompressionType") or "NONE"
    check_readable(kind, compression, "DYNAMODB_JSON or CSV")
    options: dict[str, Any] = request.get("InputFormatOptions", {}).get("Csv", {})
    if options and kind != "CSV":
        raise ValidationException(
            "InputFormatOptions.Csv can be specified for InputFormat CSV only"
        )
    header: list[str] | None = options.get("HeaderList")
    if header is not None and len(set(header)) != len(header):
        raise ValidationException("HeaderList must not name a column twice")
    return FormatBody(
        format=kind,
        compression=compression,
        delimiter=options.get("Delimiter") or ",",
        header=header,
    )


def _begin(
    context: EngineContext,
    writer: StorageWriter,
    request: dict[str, Any],
    input_format: FormatBody,
    body: TableBody,
    now: float,
) -> WorkBody:
    name, source = body["name"], request["S3BucketSource"]
    if read_body(writer, name) is not None:
        raise ResourceInUseException(f"Table already exists: {name}")
    body["number"] = take_number(writer)
    writer.create_rows(build_table(body).rows)
    write_body(writer, body)
    id_ = take_id(context, writer, IMPORTS.record, now)
    table_arn = context.table_arn(name)
    described: dict[str, Any] = {
        "ImportArn": part_arn(table_arn, "import", id_),
        "ImportStatus": "IN_PROGRESS",
        "TableArn": table_arn,
        "TableId": body["id"],
        **{field: request[field] for field in _REPEATED if field in request},
        "InputCompressionType": input_format["compression"],
        "TableCreationParameters": request["TableCreationParameters"],
        "StartTime": now,
        "ErrorCount": 0,
        "ProcessedSizeBytes": 0,
        "ProcessedItemCount": 0,
        "ImportedItemCount": 0,
    }
    imported = WorkBody(id=id_, description=described, request=request)
    write_work(writer, IMPORTS, imported)
    job = ImportJob(
        table=name,
        bucket=source["S3Bucket"],
        prefix=source.get("S3KeyPrefix") or "",
        form=input_format,
        key="",
        records=0,
    )
    begin_importing(writer, id_, job)
    return imported
