"""The storages that the tests of the storage protocol run on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from keyfold.engine.storage import SqliteStorage, Storage

# Each opens an empty storage that may keep files in the folder.
STORAGES: dict[str, Callable[[Path], Storage]] = {
    "memory": lambda _: SqliteStorage(":memory:", "memory"),
    "file": lambda folder: SqliteStorage(str(folder / "rows.db"), "process"),
}
