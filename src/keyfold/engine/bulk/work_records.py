"""Exports, imports and bulk operations in the metadata of the file: requests and descriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict, cast

import orjson

from keyfold.engine.arns import Part, read_arn
from keyfold.engine.metadata import parse_record
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.errors import (
    ExportConflictException,
    ExportNotFoundException,
    IdempotentParameterMismatchException,
    ImportConflictException,
    ImportNotFoundException,
    ResourceNotFoundException,
    ServiceError,
)

IMPORT_JOB_RECORD = "import-job"
BULK_JOB_RECORD = "bulk-operation-job"

# How long a client token stands for the request that it was first used for.
TOKEN_SECONDS = 8 * 3_600


class WorkBody(TypedDict):
    """An export, an import or a bulk operation as stored in the file."""

    id: str
    # The ExportDescription, ImportTableDescription or BulkOperationDescription of the API.
    description: dict[str, Any]
    # The request; another one with the same token has to be equal to it.
    request: dict[str, Any]


class WorkKind(NamedTuple):
    """A kind of work: how its records and ARNs are named, and its errors."""

    # The kind of its records, which is also the part of its ARNs before the id.
    record: Part
    # The member of a description that holds the ARN.
    arn: str
    # The message about an unknown ARN, without the ARN itself, and the class of the error.
    missing: str
    not_found: type[ServiceError]
    # Returns the error for a token that was used for another request.
    conflict: Callable[[], ServiceError]


EXPORTS = WorkKind(
    "export",
    "ExportArn",
    "Export not found: ",
    ExportNotFoundException,
    lambda: ExportConflictException(
        "There was a conflict when writing to the specified S3 bucket: "
        "the client token was used for another export"
    ),
)
IMPORTS = WorkKind(
    "import",
    "ImportArn",
    "Import not found: ",
    ImportNotFoundException,
    lambda: ImportConflictException(
        "There was a conflict when importing from the specified S3 source: "
        "the client token was used for another import"
    ),
)
BULK_OPERATIONS = WorkKind(
    "bulk-operation",
    "BulkOperationArn",
    "Requested resource not found: Bulk operation: ",
    ResourceNotFoundException,
    IdempotentParameterMismatchException,
)


def write_work(writer: StorageWriter, kind: WorkKind, work: WorkBody) -> None:
    """Store an export, an import or a bulk operation."""
    writer.set_record(kind.record, work["id"], orjson.dumps(work))


def read_work(reader: StorageReader, kind: WorkKind, id_: str) -> WorkBody | None:
    """Return the work with an id; None if there is none."""
    record = reader.get_record(kind.record, id_)
    return None if record is None else _parse(kind, id_, record)


def list_work(reader: StorageReader, kind: WorkKind) -> list[WorkBody]:
    """Return all work of one kind, in order of creation."""
    return [_parse(kind, id_, record) for id_, record in reader.list_records(kind.record)]


def _parse(kind: WorkKind, id_: str, record: bytes) -> WorkBody:
    fields = frozenset(WorkBody.__annotations__)
    return cast(WorkBody, parse_record(kind.record, id_, record, fields))


def require_work(reader: StorageReader, kind: WorkKind, arn: str) -> WorkBody:
    """Return the work that an ARN names, or raise the error of its kind."""
    named = read_arn(arn, kind.record)
    work = None if named is None else read_work(reader, kind, named[1])
    if work is None or work["description"][kind.arn] != arn:
        raise kind.not_found(f"{kind.missing}{arn}")
    return work


def find_by_token(
    reader: StorageReader, kind: WorkKind, request: dict[str, Any], now: float
) -> WorkBody | None:
    """Return the work that an earlier request with the same token began, if any.

    Raises the error of its kind if the requests differ.
    """
    token = request.get("ClientToken")
    for work in list_work(reader, kind) if token else ():
        described = work["description"]
        if described.get("ClientToken") == token and described["StartTime"] > now - TOKEN_SECONDS:
            if work["request"] != request:
                raise kind.conflict()
            return work
    return None
