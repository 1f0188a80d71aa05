"""A moment that is held: rows stay as they were, and nobody waits for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyfold.engine.storage import RowSet, SqliteStorage, StorageReader, StorageWriter
from keyfold.errors import EngineClosed
from tests.unit.engine.storage.programs import run_program

ROWS = RowSet(1, 1, ())


@pytest.fixture(params=["memory", "file"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStorage]:
    if request.param == "memory":
        storage = SqliteStorage(":memory:", "memory")
    else:
        storage = SqliteStorage(str(tmp_path / "rows.db"), "process")
    storage.write(lambda writer: writer.create_rows(ROWS))
    yield storage
    storage.close()


def write(storage: SqliteStorage, key: bytes, value: bytes) -> None:
    storage.write(lambda writer: writer.put(ROWS, key, value, 1, ()))


def keys_in(reader: StorageReader) -> list[bytes]:
    return [key for key, _, _ in reader.read_entries(ROWS, b"", limit=100)]


def test_a_moment_stays_while_rows_come_and_go(storage: SqliteStorage) -> None:
    write(storage, b"first", b"1")
    with storage.hold_moment() as moment:
        write(storage, b"second", b"2")
        storage.write(lambda writer: writer.delete(ROWS, b"first"))
        assert moment.read(keys_in) == [b"first"]
        with storage.hold_moment() as later:
            write(storage, b"third", b"3")
            assert later.read(keys_in) == [b"second"]
        assert moment.read(lambda reader: reader.get(ROWS, b"first")) == (b"1", 1)
        assert storage.read(keys_in) == [b"second", b"third"]


def test_a_moment_stays_while_its_table_is_dropped(storage: SqliteStorage) -> None:
    write(storage, b"first", b"1")
    with storage.hold_moment() as moment:

        def drop(writer: StorageWriter) -> None:
            writer.drop_rows(ROWS)

        storage.write(drop)
        assert moment.read(keys_in) == [b"first"]


def test_closing_ends_every_moment(storage: SqliteStorage) -> None:
    with storage.hold_moment() as moment:
        storage.close()
        with pytest.raises(EngineClosed):
            moment.read(keys_in)
    with pytest.raises(EngineClosed), storage.hold_moment():
        pytest.fail("it is closed")


FORKING = """
import os, sys, warnings
from keyfold.engine.storage import RowSet, SqliteStorage
from keyfold.errors import EngineForked

warnings.simplefilter("ignore", DeprecationWarning)
rows = RowSet(1, 1, ())
storage = SqliteStorage(sys.argv[1], "process")
storage.write(lambda writer: writer.create_rows(rows))
with storage.hold_moment() as moment:
    child = os.fork()
    if child == 0:
        try:
            moment.read(lambda reader: reader.get(rows, b"k"))
        except EngineForked:
            moment.close()
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert moment.read(lambda reader: reader.get(rows, b"k")) is None
storage.close()
print("well")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_is_refused_and_its_parent_goes_on(tmp_path: Path) -> None:
    assert run_program(FORKING, tmp_path / "rows.db").strip() == "well"
