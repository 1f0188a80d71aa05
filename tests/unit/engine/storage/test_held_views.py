"""A view that reads share: it ends with the first write, read or snapshot, and is never stale after it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keyfold.engine.storage import SqliteStorage, Storage, StorageReader, StorageWriter
from keyfold.errors import FileFailed
from tests.unit.engine.storage.test_protocol import ROWS, Stop, fill, names_in


@pytest.fixture(params=["process", "durable"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStorage]:
    opened = SqliteStorage(str(tmp_path / "rows.db"), request.param)
    fill(opened, b"a")
    yield opened
    opened.close()


@pytest.fixture
def other(storage: SqliteStorage, tmp_path: Path) -> Iterator[SqliteStorage]:
    """Return another storage of the same file, as another process has it."""
    opened = SqliteStorage(str(tmp_path / "rows.db"), storage.durability)
    yield opened
    opened.close()


def put(storage: Storage | StorageWriter, name: bytes) -> None:
    storage.put(ROWS, name, name, 1, (None, None))


def _write(storage: SqliteStorage) -> None:
    storage.write(lambda writer: put(writer, b"own"))


def _fail_to_write(storage: SqliteStorage) -> None:
    def work(writer: StorageWriter) -> None:
        put(writer, b"lost")
        raise Stop

    with pytest.raises(Stop):
        storage.write(work)
    put(storage, b"own")


def _write_without_waiting(storage: SqliteStorage) -> None:
    with storage.without_waiting():
        put(storage, b"own")


def _share_a_commit(storage: SqliteStorage) -> None:
    with storage.shared_commit():
        put(storage, b"own")


def _write_in_another_thread(storage: SqliteStorage) -> None:
    thread = threading.Thread(target=lambda: put(storage, b"own"))
    thread.start()
    thread.join()


def _write_from_the_queue(storage: SqliteStorage) -> None:
    """Two threads write while this one has the lock: the second waits, and shares its commit."""
    lock = storage._mutex
    with lock:
        thread = threading.Thread(target=lambda: put(storage, b"own"))
        thread.start()
        while not storage._waiting:
            pass
    thread.join()


WRITES: dict[str, Callable[[SqliteStorage], None]] = {
    "put": lambda storage: put(storage, b"own"),
    "write": _write,
    "a write that fails": _fail_to_write,
    "a write that may not wait": _write_without_waiting,
    "a shared commit": _share_a_commit,
    "a write of another thread": _write_in_another_thread,
    "a write that waited": _write_from_the_queue,
}


def test_a_held_view_does_not_change_until_it_is_released(
    storage: SqliteStorage, other: SqliteStorage
) -> None:
    storage.hold_view()
    assert names_in(storage) == [b"a"]
    put(other, b"b")
    assert names_in(storage) == [b"a"]
    storage.hold_view()
    assert storage.get(ROWS, b"b") is None, "holding it again changes nothing"
    storage.release_view()
    assert names_in(storage) == [b"a", b"b"]
    storage.release_view()
    put(other, b"c")
    assert storage.get(ROWS, b"c") == (b"c", 1)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_write_ends_a_held_view(
    storage: SqliteStorage, other: SqliteStorage, write: Callable[[SqliteStorage], None]
) -> None:
    storage.hold_view()
    assert names_in(storage) == [b"a"]
    # The view is older than this: a write on top of it would fail, or overwrite what it cannot see.
    put(other, b"b")
    write(storage)
    assert names_in(storage) == [b"a", b"b", b"own"]
    assert storage.get(ROWS, b"own") == (b"own", 1)
    put(other, b"c")
    assert storage.get(ROWS, b"c") == (b"c", 1), "nothing is held any more"
    # The caller does not know that the view has ended, and may hold another one.
    storage.release_view()
    storage.hold_view()
    assert storage.get(ROWS, b"a") == (b"a", 1)
    put(other, b"d")
    assert storage.get(ROWS, b"d") is None
    storage.release_view()
    assert names_in(other) == [b"a", b"b", b"c", b"d", b"own"]


READS: dict[str, Callable[[SqliteStorage, Callable[[StorageReader], object]], object]] = {
    "read": lambda storage, work: storage.read(work),
    "a long read": lambda storage, work: storage.read(work, is_long=True),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_a_read_transaction_is_not_part_of_a_held_view(
    storage: SqliteStorage,
    other: SqliteStorage,
    read: Callable[[SqliteStorage, Callable[[StorageReader], object]], object],
) -> None:
    storage.hold_view()
    assert names_in(storage) == [b"a"]
    put(other, b"b")
    assert read(storage, lambda reader: reader.get(ROWS, b"b")) == (b"b", 1)
    storage.release_view()
    assert names_in(storage) == [b"a", b"b"]


def test_a_snapshot_is_not_part_of_a_held_view(
    storage: SqliteStorage, other: SqliteStorage
) -> None:
    storage.hold_view()
    assert names_in(storage) == [b"a"]
    put(other, b"b")
    with storage.hold_snapshot() as snapshot:
        assert snapshot.read(lambda reader: reader.get(ROWS, b"b")) == (b"b", 1)
        put(storage, b"c")
        assert snapshot.read(lambda reader: reader.get(ROWS, b"c")) is None
    storage.release_view()
    assert names_in(storage) == [b"a", b"b", b"c"]


def test_a_view_is_not_held_while_another_thread_writes(storage: SqliteStorage) -> None:
    with storage._mutex:
        storage.hold_view()
    assert not storage._is_view_held
    assert names_in(storage) == [b"a"]


def test_a_view_that_cannot_be_held_raises_our_error(storage: SqliteStorage) -> None:
    storage._connection.execute("BEGIN")
    with pytest.raises(FileFailed, match="within a transaction"):
        storage.hold_view()
    storage._connection.execute("ROLLBACK")


def test_a_log_can_be_checkpointed_after_a_held_view(storage: SqliteStorage) -> None:
    """A view that stays held would keep the log from ever being emptied."""
    storage.hold_view()
    names_in(storage)
    put(storage, b"b")
    storage.release_view()
    busy, _, _ = storage._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
    assert not busy


def test_a_storage_with_a_held_view_can_be_closed(storage: SqliteStorage, tmp_path: Path) -> None:
    storage.hold_view()
    names_in(storage)
    storage.close()
    storage.release_view()
    with_all = SqliteStorage(str(tmp_path / "rows.db"), "process")
    assert names_in(with_all) == [b"a"]
    with_all.close()
