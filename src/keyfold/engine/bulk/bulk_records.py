"""Bulk operations in the metadata of the file: their requests and their descriptions."""

from __future__ import annotations

from typing import Any, TypedDict, cast

import orjson

from keyfold.engine.arns import read_arn
from keyfold.engine.metadata import parse_record
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.errors import ResourceNotFoundException

BULK_RECORD = "bulk-operation"
BULK_JOB_RECORD = "bulk-operation-job"


class BulkBody(TypedDict):
    """A bulk operation as stored in the file."""

    id: str
    # The BulkOperationDescription of the API.
    description: dict[str, Any]
    # The request; another one with the same token has to be equal to it.
    request: dict[str, Any]


def write_bulk_operation(writer: StorageWriter, bulk: BulkBody) -> None:
    """Store a bulk operation."""
    writer.set_record(BULK_RECORD, bulk["id"], orjson.dumps(bulk))


def read_bulk_operation(reader: StorageReader, id_: str) -> BulkBody | None:
    """Return a bulk operation by its id; None if there is none."""
    record = reader.get_record(BULK_RECORD, id_)
    return None if record is None else _parse(id_, record)


def list_bulk_operations(reader: StorageReader) -> list[BulkBody]:
    """Return every bulk operation, in order of creation."""
    return [_parse(id_, record) for id_, record in reader.list_records(BULK_RECORD)]


def _parse(id_: str, record: bytes) -> BulkBody:
    fields = frozenset(BulkBody.__annotations__)
    return cast(BulkBody, parse_record(BULK_RECORD, id_, record, fields))


def require_bulk_operation(reader: StorageReader, arn: str) -> BulkBody:
    """Return the bulk operation that an ARN names. Raises ResourceNotFoundException."""
    named = read_arn(arn, "bulk-operation")
    bulk = None if named is None else read_bulk_operation(reader, named[1])
    if bulk is None or bulk["description"]["BulkOperationArn"] != arn:
        raise ResourceNotFoundException(f"Requested resource not found: Bulk operation: {arn}")
    return bulk
