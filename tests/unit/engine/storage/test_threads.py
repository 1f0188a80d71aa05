"""Several threads on one storage: which waits for which, and how their work ends."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.engine.storage import Durability, SqliteStorage, StorageWriter
from keyfold.engine.storage import sqlite as sqlite_module
from keyfold.engine.storage.connections import SqliteConnection
from keyfold.errors import EngineClosed, FileBusy
from tests.crash.faulty_vfs import faulty_vfs
from tests.unit.engine.storage.tables import add, create, get, names, put


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "things.db"
    with Engine.open(path) as engine:
        create(engine)
        put(engine, "there")
    return path


def test_a_thread_that_must_not_block_does_not_wait_for_another_thread(path: Path) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def hold(writer: StorageWriter) -> None:
        has_begun.set()
        may_end.wait(120)
        writer.set_record("kind", "name", b"x")

    with Engine.open(path) as engine:
        storage = engine._storage
        thread = threading.Thread(target=storage.write, args=(hold,))
        thread.start()
        assert has_begun.wait(120)
        busy = pytest.raises(FileBusy, match=r"things\.db: another thread is writing\.")
        with storage.without_waiting(), busy:
            storage.write(lambda writer: writer.set_record("kind", "name", b"y"))
        may_end.set()
        thread.join(120)
        found = storage.read(lambda reader: reader.get_record("kind", "name"))
        assert found == b"x"
        storage.write(lambda writer: writer.set_record("kind", "name", None))


def test_a_writer_waits_until_another_storage_has_committed(path: Path) -> None:
    first, second = (SqliteStorage(str(path), "process", busy_seconds=120.0) for _ in range(2))

    def write(storage: SqliteStorage, name: str) -> None:
        storage.write(lambda writer: writer.set_record("kind", name, b"x"))

    thread = threading.Thread(target=write, args=(second, "second"))
    with first.shared_commit():
        write(first, "first")
        thread.start()
        # It has asked for the lock in vain.
        while not second._busy_wait._deadline and thread.is_alive():
            time.sleep(0.0005)
    thread.join(120)
    records = first.read(lambda reader: reader.list_records("kind"))
    assert [name for name, _ in records] == ["first", "second"]
    for storage in (first, second):
        storage.close()


def test_closing_a_storage_ends_a_writer_that_waits_for_another_storage(path: Path) -> None:
    first, second = (SqliteStorage(str(path), "process", busy_seconds=120.0) for _ in range(2))
    ended: list[BaseException] = []

    def write() -> None:
        try:
            second.write(lambda writer: writer.set_record("kind", "name", b"x"))
        except FileBusy as error:
            ended.append(error)

    thread = threading.Thread(target=write)
    with first.shared_commit():
        thread.start()
        while not second._busy_wait._deadline:
            time.sleep(0.0005)
        second.close()
        thread.join(120)
    assert [type(error) for error in ended] == [FileBusy]
    first.close()


def test_a_storage_opens_its_connection_with_what_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []
    open_connection = sqlite_module.open_connection

    def note(path: str, durability: Durability, **options: Any) -> SqliteConnection:
        asked.append((path, durability, options))
        return open_connection(path, durability, **options)

    monkeypatch.setattr(sqlite_module, "open_connection", note)
    path = str(tmp_path / "other.db")
    with faulty_vfs() as vfs:
        SqliteStorage(path, "process", busy_seconds=7.0, vfs=vfs.name).close()
    assert asked == [(path, "process", {"busy_seconds": 7.0, "vfs": vfs.name})]


def test_closing_ends_the_work_of_other_threads_with_engine_closed(path: Path) -> None:
    engine = Engine.open(path, durability="process")
    ended: list[BaseException] = []
    busy = threading.Barrier(7)

    def keep(number: int) -> None:
        busy.wait()
        try:
            while True:
                if number % 3 == 0:
                    add(engine, "sum")
                elif number % 3 == 1:
                    put(engine, f"thing-{number}")
                else:
                    names(engine)
        except BaseException as error:  # noqa: BLE001 - asserted on below
            ended.append(error)

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    busy.wait()
    while get(engine, "sum") is None:
        time.sleep(0)
    engine.close()
    for thread in threads:
        thread.join(120)
    assert [type(error) for error in ended] == [EngineClosed] * 6
    engine.close()
    with Engine.open(path) as again:
        assert again.verify() == []
