"""Deletion of expired items."""

from __future__ import annotations

from datetime import timedelta

from keyfold.engine.items.writes import DeleteAction, ItemWrite, WriteOutcome, store
from keyfold.engine.storage import Span, Storage, StorageWriter
from keyfold.engine.tables.catalog import read_body
from keyfold.engine.tables.table import TableBody, build_table, encode_expiry, read_stored

# An expiry time further back than this is taken for a mistake, and the item is not deleted.
OLDEST_SECONDS = 5 * 365 * 86_400
BATCH_ITEMS = 100
# How long expired items stay, by default. On AWS it is up to two days. What is in memory is often
# made for a short time, in which deletion should be seen.
GRACE_IN_FILES = timedelta(hours=48)
GRACE_IN_MEMORY = timedelta(seconds=10)


def sweep_batch(storage: Storage, body: TableBody, now: float, grace_seconds: float) -> int:
    """Delete a batch of items of one table that expired more than `grace_seconds` ago.

    Return how many were deleted; 0 if none are left. A batch is one short transaction, so that
    writers do not wait long.
    """
    if "ttl" not in body:
        return 0
    column = body["ttl"]["column"]
    low = encode_expiry(int(now - OLDEST_SECONDS))
    high = encode_expiry(int(now - grace_seconds))
    span = Span(low, high, column=column)
    rows = build_table(body).rows
    if not storage.read_span(rows, span, limit=1, max_bytes=1)[0]:
        # Reading first keeps a run that finds nothing from taking the write lock.
        return 0

    def work(writer: StorageWriter) -> int:
        current = read_body(writer, body["name"])
        if current is None or (current["id"], current["version"]) != (body["id"], body["version"]):
            return 0
        table = build_table(current)
        values, sizes = writer.read_span(table.rows, span, limit=BATCH_ITEMS, max_bytes=1 << 20)
        for value, size in zip(values, sizes, strict=True):
            key, item = read_stored(table, value)
            delete = ItemWrite(table, key, DeleteAction(is_expiry=True))
            store(writer, WriteOutcome(delete, item, value, size, None, b"", 0, ()))
        return len(values)

    return storage.write(work)
