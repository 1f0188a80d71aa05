"""Held snapshots, on every storage: their rows do not change, and they do not block writers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keyfold.engine.storage import (
    RowsChanged,
    RowSet,
    SqliteStorage,
    Storage,
    StorageReader,
    StorageWriter,
)
from keyfold.errors import EngineClosed
from tests.unit.engine.storage.programs import run_program

ROWS = RowSet(1, 1, ())


@pytest.fixture
def storage(storage: Storage) -> Storage:
    storage.write(lambda writer: writer.create_rows(ROWS))
    return storage


def write(storage: Storage, key: bytes, value: bytes) -> None:
    storage.write(lambda writer: writer.put(ROWS, key, value, 1, ()))


def keys_in(reader: StorageReader) -> list[bytes]:
    return [each.key for each in reader.read_entries(ROWS, b"", limit=100)]


def test_a_snapshot_does_not_see_later_changes(storage: Storage) -> None:
    write(storage, b"first", b"1")
    with storage.hold_snapshot() as snapshot:
        write(storage, b"second", b"2")
        storage.write(lambda writer: writer.delete(ROWS, b"first"))
        assert snapshot.read(keys_in) == [b"first"]
        with storage.hold_snapshot() as later:
            write(storage, b"third", b"3")
            assert later.read(keys_in) == [b"second"]
        assert snapshot.read(lambda reader: reader.get(ROWS, b"first")) == (b"1", 1)
        assert storage.read(keys_in) == [b"second", b"third"]


def test_a_snapshot_outlives_a_dropped_table(storage: Storage) -> None:
    write(storage, b"first", b"1")
    with storage.hold_snapshot() as snapshot:

        def drop(writer: StorageWriter) -> None:
            writer.drop_rows(ROWS)

        storage.write(drop)
        assert snapshot.read(keys_in) == [b"first"]


def test_closing_ends_every_snapshot(storage: SqliteStorage) -> None:
    with storage.hold_snapshot() as snapshot:
        storage.close()
        with pytest.raises(EngineClosed) as ended:
            snapshot.read(keys_in)
        assert storage._path in str(ended.value)
    with pytest.raises(EngineClosed), storage.hold_snapshot():
        pytest.fail("it is closed")


def test_a_storage_forgets_snapshots_that_are_released(storage: SqliteStorage) -> None:
    with storage.hold_snapshot() as first, storage.hold_snapshot() as second:
        assert storage._snapshots == [first, second]
    assert storage._snapshots == []
    with pytest.raises(EngineClosed):
        first.read(keys_in)


def test_a_snapshot_that_cannot_be_taken_raises_our_error(storage: SqliteStorage) -> None:
    storage._connection.execute("ALTER TABLE metadata RENAME TO other")
    with pytest.raises(RowsChanged), storage.hold_snapshot():
        pytest.fail("it has no metadata")
    assert storage._snapshots == []
    storage._connection.execute("ALTER TABLE other RENAME TO metadata")


FORKING = """
import os, sys, warnings
from keyfold.engine.storage import RowSet, SqliteStorage
from keyfold.errors import EngineForked

warnings.simplefilter("ignore", DeprecationWarning)
rows = RowSet(1, 1, ())
storage = SqliteStorage(sys.argv[1], "process")
storage.write(lambda writer: writer.create_rows(rows))
with storage.hold_snapshot() as snapshot:
    child = os.fork()
    if child == 0:
        try:
            snapshot.read(lambda reader: reader.get(rows, b"k"))
        except EngineForked:
            snapshot.close()
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert snapshot.read(lambda reader: reader.get(rows, b"k")) is None
storage.close()
print("well")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_refused_and_the_parent_is_not_affected(tmp_path: Path) -> None:
    assert run_program(FORKING, tmp_path / "rows.db").strip() == "well"
