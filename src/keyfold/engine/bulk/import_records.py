"""Imports in the metadata of the file: their requests and their descriptions."""

from __future__ import annotations

from typing import Any, TypedDict, cast

import orjson

from keyfold.engine.arns import read_arn
from keyfold.engine.metadata import parse_record
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.errors import ImportNotFoundException

IMPORT_RECORD = "import"
IMPORT_JOB_RECORD = "import-job"


class ImportBody(TypedDict):
    """An import as stored in the file."""

    id: str
    # The ImportTableDescription of the API.
    description: dict[str, Any]
    # The request; another one with the same token has to be equal to it.
    request: dict[str, Any]


def write_import(writer: StorageWriter, imported: ImportBody) -> None:
    """Store an import."""
    writer.set_record(IMPORT_RECORD, imported["id"], orjson.dumps(imported))


def read_import(reader: StorageReader, id_: str) -> ImportBody | None:
    """Return an import by its id; None if there is none."""
    record = reader.get_record(IMPORT_RECORD, id_)
    return None if record is None else _parse(id_, record)


def list_imports(reader: StorageReader) -> list[ImportBody]:
    """Return every import, in order of creation."""
    return [_parse(id_, record) for id_, record in reader.list_records(IMPORT_RECORD)]


def _parse(id_: str, record: bytes) -> ImportBody:
    fields = frozenset(ImportBody.__annotations__)
    return cast(ImportBody, parse_record(IMPORT_RECORD, id_, record, fields))


def require_import(reader: StorageReader, arn: str) -> ImportBody:
    """Return the import that an ARN names. Raises ImportNotFoundException."""
    named = read_arn(arn, "import")
    imported = None if named is None else read_import(reader, named[1])
    if imported is None or imported["description"]["ImportArn"] != arn:
        raise ImportNotFoundException(f"Import not found: {arn}")
    return imported
