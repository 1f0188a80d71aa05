"""Filling a new index, or a new expiry column, of a table that holds items already.

The columns exist and new writes fill them from the moment the change is made. What was
there before is filled a batch at a time, each batch a short transaction, so that nobody
waits for long. How far it got is kept in the file: another process, or the next one to
open the file, goes on from there.
"""

from __future__ import annotations

from contextlib import suppress

from keyfold.engine._catalog import change_columns, read_body
from keyfold.engine._context import EngineContext
from keyfold.engine._keys import END, entry_or_none
from keyfold.engine._tables import TableBody, Unreadable, build_table, read_stored
from keyfold.engine.storage import Span, Storage, StorageWriter
from keyfold.errors import KeyfoldError

BACKFILL_RECORD = "backfill"
BATCH_ITEMS = 250
_BATCH_BYTES = 1 << 20


def begin_backfill(writer: StorageWriter, body: TableBody) -> None:
    """Note that the rows of a table are to be filled, from the first on."""
    writer.set_record(BACKFILL_RECORD, body["name"], b"")


def pending_backfills(storage: Storage) -> list[str]:
    """Return the tables whose rows are still to be filled."""
    records = storage.read(lambda reader: reader.list_records(BACKFILL_RECORD))
    return [name for name, _ in records]


def begin_filling(services: EngineContext, name: str) -> None:
    """Fill the first batch at once, which is all of a small table; leave the rest for upkeep.

    The column is there already, so a failure here is upkeep's to meet again, not the caller's.
    """
    is_filled = False
    with suppress(KeyfoldError, Unreadable):
        is_filled = fill_batch(services.storage, name)
    if not is_filled:
        services.wake_upkeep()


def fill_batch(storage: Storage, name: str) -> bool:
    """Fill one batch of a table's rows; return whether that was the last."""

    def work(writer: StorageWriter) -> bool:
        start = writer.get_record(BACKFILL_RECORD, name)
        body = read_body(writer, name)
        if start is None or body is None:
            # Another process finished it, or the table is gone.
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
    """Say that every index is ready. A new version tells the other processes."""
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
    """Forget a backfill of a table that is going away."""
    writer.set_record(BACKFILL_RECORD, name, None)
