"""Backfill of a new index, or a new expiry column, in a table that already holds items.

The columns exist, and new writes fill them, as soon as the change is made. Existing rows
are filled in batches, each a short transaction, so that other writers do not wait long.
Progress is stored in the file: another process, or the next one to open the file,
continues from there.
"""

from __future__ import annotations

from contextlib import suppress

from keyfold.engine.context import EngineContext
from keyfold.engine.items.keys import END, entry_or_none
from keyfold.engine.storage import Span, Storage, StorageWriter
from keyfold.engine.tables.catalog import change_columns, read_body
from keyfold.engine.tables.table import TableBody, Unreadable, build_table, read_stored
from keyfold.errors import KeyfoldError

BACKFILL_RECORD = "backfill"
BATCH_ITEMS = 250
_BATCH_BYTES = 1 << 20


def begin_backfill(writer: StorageWriter, body: TableBody) -> None:
    """Record that all rows of a table are to be filled."""
    writer.set_record(BACKFILL_RECORD, body["name"], b"")


def pending_backfills(storage: Storage) -> list[str]:
    """Return the names of the tables whose backfill is not finished."""
    records = storage.read(lambda reader: reader.list_records(BACKFILL_RECORD))
    return [name for name, _ in records]


def fill_first_batch(context: EngineContext, name: str) -> None:
    """Fill the first batch now, which completes a small table; leave the rest to upkeep.

    The column exists already, so errors are suppressed: upkeep retries, and meets them again.
    """
    is_filled = False
    with suppress(KeyfoldError, Unreadable):
        is_filled = fill_batch(context.storage, name)
    if not is_filled:
        context.wake_upkeep()


def fill_batch(storage: Storage, name: str) -> bool:
    """Fill one batch of a table's rows; return whether that was the last."""

    def work(writer: StorageWriter) -> bool:
        start = writer.get_record(BACKFILL_RECORD, name)
        body = read_body(writer, name)
        if start is None or body is None:
            # Another process finished the backfill, or the table was deleted.
            writer.set_record(BACKFILL_RECORD, name, None)
            return True
        table = build_table(body)
        span = Span(start, END)
        values, sizes = writer.read_span(
            table.rows, span, limit=BATCH_ITEMS, max_bytes=_BATCH_BYTES
        )
        key = b""
        for value, size in zip(values, sizes, strict=True):
            key, item = read_stored(table, value)
            entries = tuple([entry_or_none(encode, item) for encode in table.encoders])
            writer.put(table.rows, key, value, size, entries)
        if len(values) == BATCH_ITEMS or sum(sizes) >= _BATCH_BYTES:
            writer.set_record(BACKFILL_RECORD, name, key + b"\0")
            return False
        writer.set_record(BACKFILL_RECORD, name, None)
        _activate(writer, body)
        return True

    return storage.write(work)


def _activate(writer: StorageWriter, body: TableBody) -> None:
    """Mark every index as ACTIVE. The new version makes other processes reload the table."""
    ready: TableBody = {
        **body,
        "version": body["version"] + 1,
        "status": "ACTIVE",
        "indexes": [{**index, "status": "ACTIVE"} for index in body["indexes"]],
    }
    if "vectors" in body:
        ready["vectors"] = [{**vector, "status": "ACTIVE"} for vector in body["vectors"]]
    change_columns(writer, body, ready)


def drop_backfill(writer: StorageWriter, name: str) -> None:
    """Drop the backfill of a table that is being deleted."""
    writer.set_record(BACKFILL_RECORD, name, None)
