"""Long reads: on connections of their own, while the storage writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from keyfold.engine.storage import BackgroundStorage, RowSet, Span, SqliteStorage, StorageReader
from keyfold.engine.storage import readers as readers_module
from keyfold.engine.storage import sqlite as sqlite_module
from keyfold.engine.storage.connections import SqliteConnection
from keyfold.errors import EngineClosed, FileUnreachable
from tests.crash.faulty_vfs import faulty_vfs

ROWS = RowSet(1, 1, ())
ALL = Span(b"\0", b"\xff" * 5)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    storage = SqliteStorage(str(tmp_path / "rows.db"), "process")
    storage.write(lambda writer: writer.create_rows(ROWS))
    storage.put(ROWS, b"key0", b"{}", 2, ())
    yield storage
    storage.close()


def test_a_write_does_not_wait_for_a_background_read(storage: SqliteStorage) -> None:
    background = BackgroundStorage(storage)

    def read_and_write(reader: StorageReader) -> list[object]:
        before = reader.get(ROWS, b"key0")
        # In the thread that reads: this would never return if the read held the storage's lock.
        storage.put(ROWS, b"key0", b"[]", 2, ())
        return [before, reader.get(ROWS, b"key0")]

    # The read keeps the view of its beginning; the next one sees the write.
    assert background.read(read_and_write) == [(b"{}", 2), (b"{}", 2)]
    assert background.get(ROWS, b"key0") == (b"[]", 2)


def test_short_reads_do_not_wait_for_background_reads(storage: SqliteStorage) -> None:
    background = BackgroundStorage(storage)
    found = background.read(
        lambda _: background.read(
            lambda _: (storage.get(ROWS, b"key0"), background.get(ROWS, b"x"))
        )
    )
    assert found == ((b"{}", 2), None)


def test_background_reads_return_what_the_storage_returns(storage: SqliteStorage) -> None:
    background = BackgroundStorage(storage)
    for number in range(1, 50):
        background.put(ROWS, b"key%d" % number, b"{}", 2, ())
    page = storage.read_span(ROWS, ALL, limit=-1, max_bytes=60)
    assert len(page[0]) == 30
    assert background.read_span(ROWS, ALL, limit=-1, max_bytes=60) == page
    assert background.read_values(ROWS, ALL, limit=1, max_bytes=60) is None


def test_all_background_reads_are_long_ones(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        pytest.fail("it would wait for short reads")

    monkeypatch.setattr(storage, "_read_secondary", fail)
    background = BackgroundStorage(storage)
    assert background.durability == "process"
    with storage._mutex:
        assert background.get(ROWS, b"key0") == (b"{}", 2)
        assert background.read_span(ROWS, ALL, limit=1, max_bytes=9) == ((b"{}",), (2,))
        for is_long in (False, True):
            read = background.read(lambda reader: reader.get(ROWS, b"key0"), is_long=is_long)
            assert read == (b"{}", 2)


def test_reads_one_after_another_share_a_connection(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    open_reader = storage._open_reader

    def count() -> object:
        opened.append(None)
        return open_reader()

    monkeypatch.setattr(storage, "_open_reader", count)
    background = BackgroundStorage(storage)
    for _ in range(5):
        assert background.get(ROWS, b"key0") is not None
    assert len(opened) == 1
    background.read(lambda _: background.read(lambda _: background.get(ROWS, b"key0")))
    assert len(opened) == 3


def test_connections_for_reading_have_the_settings_of_the_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []
    open_reader = sqlite_module.open_reader

    def note(path: str, *, busy_seconds: float, vfs: str | None = None) -> SqliteConnection:
        asked.append((path, busy_seconds, vfs))
        return open_reader(path, busy_seconds=busy_seconds, vfs=vfs)

    monkeypatch.setattr(sqlite_module, "open_reader", note)
    path = str(tmp_path / "other.db")
    with faulty_vfs() as vfs:
        storage = SqliteStorage(path, "process", busy_seconds=7.0, vfs=vfs.name)
        storage.read(lambda reader: reader.has_rows(), is_long=True)
        storage.close()
    assert asked == [(path, 7.0, vfs.name)]


def test_a_connection_that_cannot_be_opened_raises_our_error(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise apsw.CantOpenError("CantOpenError: unable to open database file")

    monkeypatch.setattr(storage, "_open_reader", fail)
    with pytest.raises(FileUnreachable):
        storage.read(lambda reader: reader.get(ROWS, b"key0"), is_long=True)


def test_the_number_of_connections_is_limited(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers_module, "MOST_READERS", 1)
    pool = readers_module.ReaderPool(storage._open_pooled)
    order: list[str] = []
    thread = threading.Thread(target=lambda: pool.run(lambda _: order.append("second")))

    def read_first(_: object) -> None:
        thread.start()
        # However long it would wait here, the other one could not begin.
        assert not pool._free.acquire(blocking=False)
        order.append("first")

    pool.run(read_first)
    thread.join()
    assert order == ["first", "second"]
    assert len(list(pool.locks())) == 2
    pool.close()


def test_a_closed_storage_opens_no_connection(storage: SqliteStorage) -> None:
    background = BackgroundStorage(storage)
    assert background.get(ROWS, b"key0") is not None
    background.close()
    with pytest.raises(EngineClosed):
        background.get(ROWS, b"key0")
