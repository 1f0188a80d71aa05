"""The job that copies a table as of a past time: its current rows, with later changes undone.

First the rows are copied in batches, while other threads and processes keep writing. Then the log
is read from its end back to the requested time, and each change is undone in the copy. Writes that
were made during the copy are in the log too, and are undone with the rest; a row that did not
change since the requested time was copied as it was then. So no snapshot has to be held, and an
interrupted job continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired, TypedDict

import orjson

from keyfold.engine.metadata import parse_record
from keyfold.engine.recovery.copy_job import WriteRow, read_batch
from keyfold.engine.storage import RowSet, StorageReader, StorageWriter
from keyfold.engine.tables.catalog import read_body
from keyfold.engine.tables.table import TableBody, Unreadable, build_table
from keyfold.values import item_size_bytes

# The kinds of records of the jobs that do this.
RESTORE_RECORD = "restore"
EXPORT_JOB_RECORD = "export-job"

# A change has two images of up to 400 KB each, so these are 80 MB at most.
_BATCH_CHANGES = 100
NO_LIMIT = 1 << 62


class RewindBody(TypedDict):
    """The table to copy, as of which change, and the progress."""

    table: str
    log: int
    # The sequence number of the last change that the copy includes.
    cut: int
    # The key from which to continue copying, as hex; None once all rows are copied.
    next: str | None
    # Every change after this one has been undone.
    undone: NotRequired[int]


def begin_rewind(body: TableBody, cut: int) -> RewindBody:
    """Return the record of a job that has copied nothing yet."""
    assert "log" in body  # every recoverable table has one
    return RewindBody(table=body["name"], log=body["log"], cut=cut, next="")


def rewind_batch(
    writer: StorageWriter,
    rewind: RewindBody,
    put_row: WriteRow,
    delete_row: Callable[[bytes], None],
) -> bool:
    """Run the next batch and update `rewind`; return whether the batch was the last."""
    low = rewind["next"]
    if low is not None:
        rows, after = read_batch(writer, _rows_of(writer, rewind), bytes.fromhex(low))
        for row in rows:
            put_row(*row)
        rewind["next"] = None if after is None else after.hex()
        return False
    last = rewind["undone"] if "undone" in rewind else writer.log_span(rewind["log"])[1]
    after = max(rewind["cut"], last - _BATCH_CHANGES)
    changes = writer.read_changes(
        rewind["log"], after=after, until=last, limit=_BATCH_CHANGES, max_bytes=NO_LIMIT
    )
    for change in reversed(changes):
        if change.old is None:
            delete_row(change.key)
        else:
            put_row(change.key, change.old, size_of(change.old))
    rewind["undone"] = after
    return after <= rewind["cut"]


def _rows_of(reader: StorageReader, rewind: RewindBody) -> RowSet:
    body = read_body(reader, rewind["table"])
    if body is None or body.get("log") != rewind["log"]:
        raise Unreadable(f"table {rewind['table']}, which is being copied,")
    return build_table(body).rows


def size_of(value: bytes) -> int:
    """Return the size of a stored item by DynamoDB's rules."""
    try:
        return item_size_bytes(orjson.loads(value))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable("an item in a log of changes") from error


def is_being_copied(reader: StorageReader, table: str) -> bool:
    """Return whether a restore or an export that needs the table's log is running."""
    for kind in (RESTORE_RECORD, EXPORT_JOB_RECORD):
        for name, record in reader.list_records(kind):
            job = parse_record(kind, name, record, frozenset())
            sources = [job[part]["table"] for part in ("rewind", "changes") if part in job]
            if table in sources:
                return True
    return False
