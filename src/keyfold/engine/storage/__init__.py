"""Where rows are kept: the protocol, and SQLite behind it."""

from __future__ import annotations

from keyfold.engine.storage._connections import require_file
from keyfold.engine.storage._protocol import (
    Change,
    Moment,
    Page,
    Reader,
    Row,
    RowsChanged,
    RowSet,
    SharingFailed,
    Span,
    Storage,
    Writer,
)
from keyfold.engine.storage._sqlite import Durability, SqliteStorage

__all__ = [
    "Change",
    "Durability",
    "Moment",
    "Page",
    "Reader",
    "Row",
    "RowSet",
    "RowsChanged",
    "SharingFailed",
    "Span",
    "SqliteStorage",
    "Storage",
    "Writer",
    "require_file",
]
