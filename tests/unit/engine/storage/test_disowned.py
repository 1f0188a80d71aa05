"""What a fork leaves of a storage in the child: it is refused, and SQLite is not touched."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from keyfold.engine.storage import SqliteStorage, StorageReader
from keyfold.errors import EngineForked


def test_a_disowned_storage_is_refused_and_its_connections_are_neither_closed_nor_freed(
    tmp_path: Path,
) -> None:
    """As in the child of a fork, but in this process, which may look at what is left."""
    path = str(tmp_path / "rows.db")
    storage = SqliteStorage(path, "process")

    def read(reader: StorageReader) -> object:
        return reader.list_records("kind")

    with storage.hold_snapshot() as snapshot:
        with storage._mutex:
            storage._read_secondary(read)
        storage.read(read, is_long=True)
        (reader,) = storage._readers._readers
        kept = [storage._view, storage._secondary_view, storage._watch, snapshot._view, reader.view]
        before = [sys.getrefcount(each) for each in kept]
        held = {*storage.locks(), snapshot.lock}
        for lock in held:
            lock.acquire()
        try:
            storage.disown()
            for lock in (
                storage._secondary_lock,
                storage._readers.lock,
                storage._checkpointer.lock,
                snapshot.lock,
            ):
                assert lock.acquire(blocking=False), "a thread that does not exist here holds it"
                lock.release()
        finally:
            for lock in held:
                lock.release()
        assert [sys.getrefcount(each) for each in kept] == [count + 1 for count in before]
        with pytest.raises(EngineForked, match=r"rows\.db"):
            snapshot.read(read)
        snapshot.close()
        for is_long in (False, True):
            with pytest.raises(EngineForked, match=r"rows\.db"):
                storage.read(read, is_long=is_long)
        with pytest.raises(EngineForked, match=r"rows\.db"):
            SqliteStorage(path, "process")
        storage.close()
        assert snapshot._view.is_in_transaction
    assert storage._view.get_record("kind", "name") is None, "it is still open"
    for view in (storage._view, storage._secondary_view, snapshot._view, reader.view):
        assert view is not None
        view.close()
