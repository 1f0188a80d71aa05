"""Several threads on one storage: which waits for which, and how their work ends."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from keyfold.engine import Engine
from keyfold.engine.storage import StorageWriter
from keyfold.errors import EngineClosed, FileBusy
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
        busy = pytest.raises(FileBusy, match=r"things\.db.*another thread is writing")
        with storage.without_waiting(), busy:
            storage.write(lambda writer: writer.set_record("kind", "name", b"y"))
        may_end.set()
        thread.join(120)
        found = storage.read(lambda reader: reader.get_record("kind", "name"))
        assert found == b"x"
        storage.write(lambda writer: writer.set_record("kind", "name", None))


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
