"""The job that fills a restored table: from a backup, or from another table as of some time.

The table exists from the start and has the status CREATING until it is complete. It is filled in
batches. Each batch is a short transaction that also records the progress, from which another
process continues if this one is killed.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict, cast

import orjson

from keyfold.engine.metadata import parse_record
from keyfold.engine.recovery.copy_job import RowsBody, read_batch, table_row_writer, to_rows
from keyfold.engine.recovery.rewind_job import RESTORE_RECORD, RewindBody, rewind_batch
from keyfold.engine.storage import Storage, StorageReader, StorageWriter
from keyfold.engine.tables.catalog import change_columns, read_body
from keyfold.engine.tables.table import EngineTable, TableBody, build_table


class CopyBody(TypedDict):
    """The rows of a backup, and the key from which to continue copying, as hex."""

    rows: RowsBody
    next: str


class RestoreBody(TypedDict):
    """A restore as stored in the file, under the name of the table that is filled.

    It has either `copy` (from a backup) or `rewind` (from a table as of some time).
    """

    copy: NotRequired[CopyBody]
    rewind: NotRequired[RewindBody]


def begin_restoring(writer: StorageWriter, table: str, restore: RestoreBody) -> None:
    """Record that a table is to be filled."""
    _write(writer, table, restore)


def is_being_restored(reader: StorageReader, rows: RowsBody) -> bool:
    """Return whether a table is being filled from these rows of a backup."""
    for name, record in reader.list_records(RESTORE_RECORD):
        restore = _parse(name, record)
        if "copy" in restore and restore["copy"]["rows"] == rows:
            return True
    return False


def restore_batch(storage: Storage, name: str) -> bool:
    """Fill one batch of a table; return whether that was the last."""

    def work(writer: StorageWriter) -> bool:
        record, body = writer.get_record(RESTORE_RECORD, name), read_body(writer, name)
        if record is None or body is None:
            # Another process finished it.
            return True
        restore = _parse(name, record)
        if _fill(writer, restore, build_table(body)):
            finish_filling(writer, body)
            writer.set_record(RESTORE_RECORD, name, None)
            return True
        _write(writer, name, restore)
        return False

    return storage.write(work)


def _fill(writer: StorageWriter, restore: RestoreBody, table: EngineTable) -> bool:
    """Run the next batch and update `restore`; return whether the batch was the last."""
    put_row = table_row_writer(writer, table)
    if "rewind" in restore:
        return rewind_batch(
            writer, restore["rewind"], put_row, lambda key: writer.delete(table.rows, key)
        )
    assert "copy" in restore  # it has one of the two
    copy = restore["copy"]
    rows, low = read_batch(writer, to_rows(copy["rows"]), bytes.fromhex(copy["next"]))
    for row in rows:
        put_row(*row)
    copy["next"] = "" if low is None else low.hex()
    return low is None


def finish_filling(writer: StorageWriter, body: TableBody) -> None:
    """Mark a table as complete.

    Its version increases, since it may have been counted while it was half filled.
    """
    settings = dict(body["settings"])
    if "RestoreSummary" in settings:
        settings["RestoreSummary"] = {**settings["RestoreSummary"], "RestoreInProgress": False}
    ready: TableBody = {
        **body,
        "version": body["version"] + 1,
        "status": "ACTIVE",
        "settings": settings,
    }
    change_columns(writer, body, ready)


def _parse(name: str, record: bytes) -> RestoreBody:
    return cast(RestoreBody, parse_record(RESTORE_RECORD, name, record, frozenset()))


def _write(writer: StorageWriter, name: str, restore: RestoreBody) -> None:
    writer.set_record(RESTORE_RECORD, name, orjson.dumps(restore))
