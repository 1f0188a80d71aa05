"""A table as it was: its rows of now, with every later change undone.

First the rows are copied, a batch at a time, while writers go on. Then the log is walked from
its end back to the moment that is wanted, and each change is undone in the copy. What was
written while the rows were copied is in the log too, and is undone with the rest; a key that
did not change since then was copied as it was. So no view has to be held, and whoever was
interrupted goes on from where it came to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired, TypedDict

import orjson

from keyfold.engine._catalog import read_body
from keyfold.engine._copy_job import Keep, read_batch
from keyfold.engine._records import parse_record
from keyfold.engine._tables import TableBody, Unreadable, build_table
from keyfold.engine.storage import RowSet, StorageReader, StorageWriter
from keyfold.values import item_size_bytes

# Jobs that may be at it, by the kind of their records.
RESTORE_RECORD = "restore"
EXPORT_JOB_RECORD = "export-job"

# A change has two images of up to 400 KB each, so this many are 80 MB at the most.
_BATCH_CHANGES = 100
NO_LIMIT = 1 << 62


class RewindBody(TypedDict):
    """Which table is to be copied as of when, and how far that is."""

    table: str
    log: int
    # The sequence number of the last change that counts.
    cut: int
    # The key to copy from, as hex; None once all rows are copied.
    next: str | None
    # Every change after this one is undone.
    undone: NotRequired[int]


def begin_rewind(body: TableBody, cut: int) -> RewindBody:
    """Return the beginning: nothing is copied."""
    assert "log" in body  # or it could not be restored to any time
    return RewindBody(table=body["name"], log=body["log"], cut=cut, next="")


def rewind_batch(
    writer: StorageWriter, rewind: RewindBody, keep: Keep, drop: Callable[[bytes], None]
) -> bool:
    """Do the next part; return whether it was the last. `rewind` is changed to what is left."""
    low = rewind["next"]
    if low is not None:
        rows, after = read_batch(writer, _rows_of(writer, rewind), bytes.fromhex(low))
        for row in rows:
            keep(*row)
        rewind["next"] = None if after is None else after.hex()
        return False
    last = rewind["undone"] if "undone" in rewind else writer.log_span(rewind["log"])[1]
    after = max(rewind["cut"], last - _BATCH_CHANGES)
    changes = writer.read_changes(
        rewind["log"], after=after, until=last, limit=_BATCH_CHANGES, max_bytes=NO_LIMIT
    )
    for change in reversed(changes):
        if change.old is None:
            drop(change.key)
        else:
            keep(change.key, change.old, size_of(change.old))
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
    """Tell whether a restore or an export of a table is under way, which needs its log."""
    for kind in (RESTORE_RECORD, EXPORT_JOB_RECORD):
        for name, record in reader.list_records(kind):
            job = parse_record(kind, name, record, frozenset())
            sources = [job[part]["table"] for part in ("rewind", "changes") if part in job]
            if table in sources:
                return True
    return False
