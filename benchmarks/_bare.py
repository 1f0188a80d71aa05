"""The bare loop: apsw on a copy of the engine's own file, with the engine's settings.

The copy has the same rows on the same pages, so the difference is the engine's own work besides
reading and writing rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw

# Imported from the engine, so that the two cannot drift apart.
from keyfold.engine.storage.connections import CACHE_KIB, MMAP_BYTES

Bindings = Sequence[bytes | int]

_FILLING_CACHE_KIB = 4 << 20


class BareFile:
    """A copy of an engine's file that has one table."""

    def __init__(self, path: Path) -> None:
        self.connection = connection = _connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA mmap_size = {MMAP_BYTES}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.wal_autocheckpoint(0)
        self._cursor = connection.cursor()
        table, self._upsert = _table_and_upsert(connection)
        self._get = f"SELECT v FROM {table} WHERE k = ?"  # noqa: S608 - the names are the engine's
        # No LIMIT: SQLite prepares a statement again whenever a parameter of LIMIT is bound.
        self._span = f"SELECT v FROM {table} WHERE k >= ? AND k < ? ORDER BY k"  # noqa: S608
        self._delete = f"DELETE FROM {table} WHERE k = ?"  # noqa: S608

    def get_all(self, bindings: Sequence[Bindings]) -> None:
        """Read one row for each key."""
        execute, statement = self._cursor.execute, self._get
        for each in bindings:
            execute(statement, each).fetchall()

    def read_spans(self, bindings: Sequence[Bindings]) -> None:
        """Read all rows of each range."""
        execute, statement = self._cursor.execute, self._span
        for each in bindings:
            execute(statement, each).fetchall()

    def put_all(self, bindings: Sequence[Bindings]) -> None:
        """Write each row in its own transaction."""
        execute, statement = self._cursor.execute, self._upsert
        for each in bindings:
            execute(statement, each)

    def delete_all(self, keys: Sequence[bytes]) -> None:
        """Remove rows, all in one transaction."""
        with self.connection:
            self._cursor.executemany(self._delete, [(key,) for key in keys])

    def read(self, bindings: Bindings) -> list[bytes]:
        """Return the value of the row with a key, or the values of a range."""
        statement = self._get if len(bindings) == 1 else self._span
        return [value for (value,) in self._cursor.execute(statement, tuple(bindings)).fetchall()]

    def close(self) -> None:
        """Close the file."""
        self._cursor.close()
        self.connection.close()


class Checkpoints:
    """Checkpoints the write-ahead logs of several files between measurements."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._connections = [_connect(path) for path in paths]
        for connection in self._connections:
            connection.wal_autocheckpoint(0)
            # Before its first read, a connection does not know that there is a log.
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()

    def run(self) -> None:
        """Copy every log into its database file."""
        for connection in self._connections:
            length, copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            assert length == copied >= 0  # no concurrent readers or writers

    def close(self) -> None:
        """Close the files."""
        for connection in self._connections:
            connection.close()


def fill(path: Path, rows: Iterable[Bindings]) -> None:
    """Write many rows into a file that nothing else has open, without a write-ahead log."""
    connection = _connect(path)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"PRAGMA cache_size = -{_FILLING_CACHE_KIB}")
    _, upsert = _table_and_upsert(connection)
    with connection:
        connection.executemany(upsert, rows)
    connection.close()


def _table_and_upsert(connection: Any) -> tuple[str, str]:
    """Return the name of the only table of items, and the statement that writes a row."""
    ((table,),) = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'r[0-9]*'"
    ).fetchall()
    columns = [str(name) for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
    if columns[-1] == "h":
        # Without indexes, the engine leaves it empty.
        columns.pop()
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    updates = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
    upsert = (
        f"INSERT INTO {table} ({names}) VALUES ({marks}) "  # noqa: S608 - the names are the engine's
        f"ON CONFLICT (k) DO UPDATE SET {updates}"
    )
    return str(table), upsert


def _connect(path: Path) -> Any:
    # Any, because apsw's types are incomplete.
    return apsw.Connection(str(path), statementcachesize=256)
