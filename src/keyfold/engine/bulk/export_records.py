"""Exports in the metadata of the file: their requests and their descriptions."""

from __future__ import annotations

from typing import Any, TypedDict, cast

import orjson

from keyfold.engine.arns import read_arn
from keyfold.engine.metadata import parse_record
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.errors import ExportNotFoundException

EXPORT_RECORD = "export"


class ExportBody(TypedDict):
    """An export as stored in the file."""

    id: str
    # The ExportDescription of the API.
    description: dict[str, Any]
    # The request; another one with the same token has to be equal to it.
    request: dict[str, Any]


def write_export(writer: StorageWriter, export: ExportBody) -> None:
    """Store an export."""
    writer.set_record(EXPORT_RECORD, export["id"], orjson.dumps(export))


def read_export(reader: StorageReader, id_: str) -> ExportBody | None:
    """Return an export by its id; None if there is none."""
    record = reader.get_record(EXPORT_RECORD, id_)
    return None if record is None else _parse(id_, record)


def list_exports(reader: StorageReader) -> list[ExportBody]:
    """Return every export, in order of creation."""
    return [_parse(id_, record) for id_, record in reader.list_records(EXPORT_RECORD)]


def _parse(id_: str, record: bytes) -> ExportBody:
    fields = frozenset(ExportBody.__annotations__)
    return cast(ExportBody, parse_record(EXPORT_RECORD, id_, record, fields))


def require_export(reader: StorageReader, arn: str) -> ExportBody:
    """Return the export that an ARN names. Raises ExportNotFoundException."""
    named = read_arn(arn, "export")
    export = None if named is None else read_export(reader, named[1])
    if export is None or export["description"]["ExportArn"] != arn:
        raise ExportNotFoundException(f"Export not found: {arn}")
    return export
