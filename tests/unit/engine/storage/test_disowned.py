"""What a fork leaves of a storage in the child: it is refused, and SQLite is not touched."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path

import pytest

from keyfold.engine.loading import IMPORTING
from keyfold.engine.storage import SqliteStorage, StorageReader, forks
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


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStorage:
    """Return the only storage that is open, as a fork sees it."""
    storage = SqliteStorage(str(tmp_path / "rows.db"), "process")
    assert storage in forks.OPEN_STORAGES
    monkeypatch.setattr(forks, "OPEN_STORAGES", weakref.WeakSet([storage]))
    monkeypatch.setattr(forks, "_INHERITED", set[tuple[int, int]]())
    return storage


def test_no_thread_is_inside_sqlite_or_imports_while_a_process_forks(
    storage: SqliteStorage,
) -> None:
    locks = [*storage.locks()]
    assert len(locks) > 2
    forks._acquire_all_locks()
    try:
        assert all(lock.locked() for lock in locks)
        assert IMPORTING.locked()
    finally:
        forks._release_all_locks()
    assert not any(lock.locked() for lock in [*locks, IMPORTING])
    assert not forks._held_for_fork
    storage.read(lambda reader: reader.list_records("kind"))
    storage.close()


def test_the_child_of_a_fork_can_import_but_not_use_the_storage(storage: SqliteStorage) -> None:
    forks._acquire_all_locks()
    held = [*storage.locks()]
    forks._disown_all()
    assert not IMPORTING.locked()
    assert not forks._held_for_fork
    with pytest.raises(EngineForked):
        storage.read(lambda reader: reader.list_records("kind"))
    with pytest.raises(EngineForked):
        SqliteStorage(storage._path, "process")
    for lock in held:
        if lock.locked():
            lock.release()


def test_a_file_is_inherited_as_long_as_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_INHERITED", set[tuple[int, int]]())
    path, other = str(tmp_path / "rows.db"), tmp_path / "other.db"
    forks.note_inherited(path)
    forks.check_not_inherited(path)
    for each in (Path(path), other):
        each.touch()
    forks.note_inherited(path)
    with pytest.raises(EngineForked, match=r"rows\.db"):
        forks.check_not_inherited(path)
    forks.check_not_inherited(str(other))
    forks.check_not_inherited(str(tmp_path / "missing.db"))
    other.replace(path)
    forks.check_not_inherited(path)
