"""Copying the rows of one row set to another, a short transaction at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import orjson

from keyfold.engine.items.keys import entry_or_none
from keyfold.engine.storage import RowSet, StorageReader, StorageWriter
from keyfold.engine.tables.table import EngineTable, EntryEncoder, Unreadable

# An item has at most 400 KB, so a batch has at most 40 MB.
BATCH_ROWS = 100

# Writes one row: its key, the item's JSON and its size.
WriteRow = Callable[[bytes, bytes, int], None]


class RowsBody(TypedDict):
    """A row set as records refer to it."""

    number: int
    version: int
    columns: list[str]


def create_copy(writer: StorageWriter, number: int) -> RowsBody:
    """Create a row set for a copy. It has no index columns, since it is never queried."""
    body = RowsBody(number=number, version=1, columns=[])
    writer.create_rows(to_rows(body))
    return body


def to_rows(body: RowsBody) -> RowSet:
    """Return the row set that a record refers to."""
    return RowSet(body["number"], body["version"], tuple(body["columns"]))


def from_rows(rows: RowSet) -> RowsBody:
    """Return a row set as records refer to it."""
    return RowsBody(number=rows.number, version=rows.version, columns=list(rows.columns))


def read_batch(
    reader: StorageReader, source: RowSet, low: bytes
) -> tuple[list[tuple[bytes, bytes, int]], bytes | None]:
    """Return a batch of rows from `low` on, and where the next begins; None after the last."""
    batch = reader.read_entries(source, low, limit=BATCH_ROWS)
    rows = [(stored.key, *stored.row) for stored in batch]
    return rows, rows[-1][0] + b"\0" if len(rows) == BATCH_ROWS else None


def row_writer(writer: StorageWriter, rows: RowSet) -> WriteRow:
    """Return a function that writes rows to a copy."""

    def write_row(key: bytes, value: bytes, size: int) -> None:
        writer.put(rows, key, value, size, ())

    return write_row


def table_row_writer(writer: StorageWriter, table: EngineTable) -> WriteRow:
    """Return a function that writes rows to a table, with their index entries.

    An item that is invalid for an index's key is left out of that index, as when an index is
    added to a table that has such items.
    """
    if not table.encoders:
        return row_writer(writer, table.rows)

    def write_row(key: bytes, value: bytes, size: int) -> None:
        writer.put(table.rows, key, value, size, entries_of(table.encoders, table.name, value))

    return write_row


def entries_of(
    encoders: tuple[EntryEncoder, ...], name: str, value: bytes
) -> tuple[bytes | None, ...]:
    """Return an item's index entries, from its stored bytes. Raises Unreadable."""
    try:
        item = orjson.loads(value)
        return tuple([entry_or_none(encode, item) for encode in encoders])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"an item of table {name}") from error
