"""Copying the rows of one row set to another, a short transaction at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import orjson

from keyfold.engine._keys import entry_or_none
from keyfold.engine._tables import EngineTable, EntryEncoder, Unreadable
from keyfold.engine.storage import RowSet, StorageReader, StorageWriter

# An item has up to 400 KB, so this many are 40 MB at the most.
BATCH_ROWS = 100

# Keeps one row: its key, the item's JSON and its size.
Keep = Callable[[bytes, bytes, int], None]


class RowsBody(TypedDict):
    """A row set as records name it."""

    number: int
    version: int
    columns: list[str]


def create_copy(writer: StorageWriter, number: int) -> RowsBody:
    """Make a row set for a copy that nobody queries: it has no indexes."""
    body = RowsBody(number=number, version=1, columns=[])
    writer.create_rows(to_rows(body))
    return body


def to_rows(body: RowsBody) -> RowSet:
    """Return the row set that a record names."""
    return RowSet(body["number"], body["version"], tuple(body["columns"]))


def from_rows(rows: RowSet) -> RowsBody:
    """Return a row set as a record names it."""
    return RowsBody(number=rows.number, version=rows.version, columns=list(rows.columns))


def read_batch(
    reader: StorageReader, source: RowSet, low: bytes
) -> tuple[list[tuple[bytes, bytes, int]], bytes | None]:
    """Return some rows from `low` on, and where the next batch begins; None after the last."""
    batch = reader.read_entries(source, low, limit=BATCH_ROWS)
    rows = [(key, value, size) for key, (value, size), _ in batch]
    return rows, rows[-1][0] + b"\0" if len(rows) == BATCH_ROWS else None


def keep_in(writer: StorageWriter, rows: RowSet) -> Keep:
    """Keep rows in a copy."""

    def keep(key: bytes, value: bytes, size: int) -> None:
        writer.put(rows, key, value, size, ())

    return keep


def keep_in_table(writer: StorageWriter, table: EngineTable) -> Keep:
    """Keep rows in a table, with their places in its indexes.

    An item that does not fit an index's key stays out of it, as when an index is added to a
    table that has such items.
    """
    if not table.encoders:
        return keep_in(writer, table.rows)

    def keep(key: bytes, value: bytes, size: int) -> None:
        writer.put(table.rows, key, value, size, entries_of(table.encoders, table.name, value))

    return keep


def entries_of(
    encoders: tuple[EntryEncoder, ...], name: str, value: bytes
) -> tuple[bytes | None, ...]:
    """Return an item's places in indexes, from its stored bytes."""
    try:
        item = orjson.loads(value)
        return tuple([entry_or_none(encode, item) for encode in encoders])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"an item of table {name}") from error
