"""Storage of rows: the protocol that the engine uses, and its implementation with SQLite."""

from __future__ import annotations

from keyfold.engine.storage.background import BackgroundStorage
from keyfold.engine.storage.connections import require_file
from keyfold.engine.storage.protocol import (
    Durability,
    Entries,
    Page,
    Row,
    RowChange,
    RowsChanged,
    RowSet,
    SharingFailed,
    Snapshot,
    Span,
    Storage,
    StorageReader,
    StorageWriter,
    StoredRow,
)
from keyfold.engine.storage.sqlite import SqliteStorage

__all__ = [
    "BackgroundStorage",
    "Durability",
    "Entries",
    "Page",
    "Row",
    "RowChange",
    "RowSet",
    "RowsChanged",
    "SharingFailed",
    "Snapshot",
    "Span",
    "SqliteStorage",
    "Storage",
    "StorageReader",
    "StorageWriter",
    "StoredRow",
    "require_file",
]
