"""Writes of one thread that share a commit: all of them take effect, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from keyfold.engine.storage import (
    RowsChanged,
    RowSet,
    SharingFailed,
    SqliteStorage,
    StorageWriter,
)
from keyfold.engine.storage.view import View
from keyfold.errors import FileBusy, FileFailed
from tests.crash.faulty_vfs import FaultyVfs, NthCall, faulty_vfs
from tests.unit.engine.storage.test_protocol import ROWS, Stop, fill, names_in


@pytest.fixture
def faulty() -> Iterator[FaultyVfs]:
    with faulty_vfs() as faulty:
        yield faulty


@pytest.fixture
def storage(faulty: FaultyVfs, tmp_path: Path) -> Iterator[SqliteStorage]:
    opened = SqliteStorage(str(tmp_path / "rows.db"), "durable", busy_seconds=0.0, vfs=faulty.name)
    fill(opened, b"there")
    faulty.calls.clear()
    yield opened
    faulty.fault = None
    opened.close()


def put(storage: SqliteStorage | StorageWriter, name: bytes) -> None:
    storage.put(ROWS, name, name, len(name), (None, None))


def share(storage: SqliteStorage, *steps: Callable[[], object]) -> None:
    """Run some steps in one shared commit."""
    with storage.shared_commit():
        for step in steps:
            step()


def expect(error: type[BaseException], work: Callable[[], object]) -> None:
    """Run a step that has to raise an error, and go on after it."""
    with pytest.raises(error):
        work()


def fail_halfway(writer: StorageWriter) -> None:
    put(writer, b"half")
    raise Stop


def fail_at_once(_: StorageWriter) -> None:
    raise Stop


def test_the_writes_of_a_block_are_synced_once(storage: SqliteStorage, faulty: FaultyVfs) -> None:
    with storage.shared_commit():
        for name in (b"a", b"b", b"c"):
            put(storage, name)
        assert storage.write(lambda writer: writer.get(ROWS, b"b")) == (b"b", 1)
        assert faulty.count("sync") == 0
    assert faulty.count("sync") == 1
    assert names_in(storage) == [b"a", b"b", b"c", b"there"]
    # What follows the block is committed by itself.
    put(storage, b"d")
    storage.write(lambda writer: put(writer, b"e"))
    assert faulty.count("sync") == 3


def test_a_write_that_fails_halfway_undoes_the_block(storage: SqliteStorage) -> None:
    with pytest.raises(SharingFailed):
        share(
            storage,
            lambda: put(storage, b"before"),
            lambda: expect(SharingFailed, lambda: storage.write(fail_halfway)),
            # The rest of the block would be lost, so it does not run.
            lambda: expect(SharingFailed, lambda: put(storage, b"after")),
        )
    assert names_in(storage) == [b"there"]
    with storage.shared_commit():
        put(storage, b"again")
    assert names_in(storage) == [b"again", b"there"]


def test_a_write_that_fails_before_it_writes_leaves_the_others(storage: SqliteStorage) -> None:
    with storage.shared_commit():
        put(storage, b"before")
        with pytest.raises(Stop):
            storage.write(fail_at_once)
        with pytest.raises(RowsChanged):
            storage.write(lambda writer: writer.get(RowSet(1, 9, ("i0", "i1")), b"k"))
        put(storage, b"later")
    assert names_in(storage) == [b"before", b"later", b"there"]


def test_a_write_whose_transaction_sqlite_rolled_back_undoes_the_block(
    storage: SqliteStorage,
) -> None:
    def lose(writer: StorageWriter) -> None:
        assert isinstance(writer, View)
        writer.roll_back()
        raise Stop

    with pytest.raises(SharingFailed):
        share(
            storage,
            lambda: put(storage, b"before"),
            lambda: expect(SharingFailed, lambda: storage.write(lose)),
        )
    assert names_in(storage) == [b"there"]


def test_a_block_that_raises_is_rolled_back(storage: SqliteStorage) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        share(storage, lambda: put(storage, b"lost"), interrupt)
    assert names_in(storage) == [b"there"]
    put(storage, b"kept")
    assert names_in(storage) == [b"kept", b"there"]


def test_a_block_that_cannot_begin_or_commit_raises_a_file_error(
    storage: SqliteStorage, faulty: FaultyVfs, tmp_path: Path
) -> None:
    other = SqliteStorage(str(tmp_path / "rows.db"), "durable", busy_seconds=0.0, vfs=faulty.name)
    with other.shared_commit(), pytest.raises(FileBusy), storage.shared_commit():
        pytest.fail("another storage is writing")
    other.close()

    def fail_next_sync() -> None:
        faulty.fault = NthCall(frozenset(["sync"]), 1, apsw.IOError)

    with pytest.raises(FileFailed, match=r"rows\.db"):
        share(storage, lambda: put(storage, b"lost"), fail_next_sync)
    faulty.fault = None
    assert names_in(storage) == [b"there"]


def test_a_thread_that_must_not_block_gets_no_block_while_another_writes(
    storage: SqliteStorage,
) -> None:
    with (
        storage._mutex,
        storage.without_waiting(),
        pytest.raises(FileBusy, match=r"rows\.db: another thread is writing\."),
        storage.shared_commit(),
    ):
        pytest.fail("another thread is writing")
    with storage.without_waiting():
        share(storage, lambda: put(storage, b"kept"))
    assert names_in(storage) == [b"kept", b"there"]


def test_a_block_in_memory_commits_each_write() -> None:
    storage = SqliteStorage(":memory:", "memory")
    fill(storage)
    with storage.shared_commit():
        put(storage, b"kept")
        assert not storage._view.is_in_transaction
        with pytest.raises(Stop):
            storage.write(fail_halfway)
        put(storage, b"more")
    assert names_in(storage) == [b"kept", b"more"]
    storage.close()
