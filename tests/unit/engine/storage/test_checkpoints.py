"""Checkpoints of the write-ahead log: it stays short, and survives disk failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest import mock

import apsw
import pytest

from keyfold.engine import Engine
from keyfold.engine.storage import checkpoints
from keyfold.engine.storage.checkpoints import Checkpointer
from keyfold.engine.storage.connections import SqliteConnection, open_connection, open_reader
from keyfold.errors import FileReplaced
from tests.crash.faulty_vfs import FaultyVfs, faulty_vfs, open_on
from tests.unit.engine.storage.folders import contents
from tests.unit.engine.storage.programs import running
from tests.unit.engine.storage.tables import create, names, put

PAGE_BYTES = 4_096 + 24
START_PAGES, CATCH_UP_PAGES = 20, 60


@pytest.fixture(autouse=True)
def small_steps() -> Iterator[None]:
    """Checkpoint after so few pages that a test can afford many checkpoints."""
    with (
        mock.patch.object(checkpoints, "START_PAGES", START_PAGES),
        mock.patch.object(checkpoints, "CATCH_UP_PAGES", CATCH_UP_PAGES),
    ):
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "things.db"


@pytest.fixture
def engine(path: Path) -> Iterator[Engine]:
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        create(engine)
        yield engine
        assert engine.verify() == []


def log_pages(path: Path) -> float:
    return Path(f"{path}-wal").stat().st_size / PAGE_BYTES


def fill(engine: Engine, count: int, *, start: int = 0) -> None:
    for number in range(start, start + count):
        put(engine, f"thing-{number}", text={"S": "x" * 2_000})


def test_the_log_stays_short_under_constant_writes(engine: Engine, path: Path) -> None:
    fill(engine, 1_000)
    # The log's length is checked only now and then, so it may exceed the limit by some commits.
    assert log_pages(path) < CATCH_UP_PAGES + START_PAGES + 20
    assert path.stat().st_size > 500 * 4_096
    assert len(names(engine)) == 1_000


# Holds a read snapshot open until it is told to end.
READING = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN")
connection.execute("SELECT * FROM metadata").fetchall()
print("reading", flush=True)
sys.stdin.readline()
"""


def test_a_reader_with_an_old_snapshot_does_not_block_writers(engine: Engine, path: Path) -> None:
    fill(engine, 10)
    with running(READING, path) as reader:
        assert reader.read_line() == "reading"
        fill(engine, 200, start=10)
        assert log_pages(path) > CATCH_UP_PAGES, "pages that a reader needs cannot be checkpointed"
    grown = log_pages(path)
    fill(engine, 400, start=210)
    assert log_pages(path) < grown + 20, "the log restarts from its beginning"
    assert len(names(engine)) == 610


def test_closing_checkpoints_the_log_into_the_file(path: Path) -> None:
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        fill(engine, 15)
        assert log_pages(path) > 15
    assert contents(path.parent).keys() == {path.name}
    with Engine.open(path) as again:
        assert len(names(again)) == 15


@pytest.fixture
def faulty() -> Iterator[FaultyVfs]:
    with faulty_vfs() as faulty:
        yield faulty


def test_a_failed_checkpoint_is_repeated_later(faulty: FaultyVfs, path: Path) -> None:
    def fail(call: str, ending: str) -> None:
        if ending == "db" and call in ("write", "sync", "truncate"):
            raise apsw.FullError(f"injected into {call}")

    with open_on(faulty, path, clock=time.time) as engine:
        create(engine)
        faulty.fault = fail
        # Commits still succeed: they go to the log.
        fill(engine, 120)
        assert ("write", "db") in faulty.calls, "a checkpoint was attempted"
        assert len(names(engine)) == 120
        faulty.fault = None
        fill(engine, 120, start=120)
        assert engine.verify() == []
        assert len(names(engine)) == 240
    assert contents(path.parent).keys() == {path.name}


def test_a_close_that_cannot_write_loses_nothing(faulty: FaultyVfs, path: Path) -> None:
    engine = open_on(faulty, path, clock=time.time)
    create(engine)
    fill(engine, 15)

    def fail(call: str, ending: str) -> None:
        if call in ("write", "sync", "truncate", "delete"):
            raise apsw.IOError(f"injected into {call} of {ending}")

    faulty.fault = fail
    # SQLite hides a failed checkpoint when it closes; the Python file system reports it.
    with suppress(apsw.IOError):
        engine.close()
    faulty.fault = None
    with Engine.open(path) as again:
        assert len(names(again)) == 15
        assert again.verify() == []


# When the log is copied, and by which thread.


@pytest.fixture
def connection(path: Path) -> Iterator[SqliteConnection]:
    """Yield a connection to a file with a log that is not in the file so far."""
    connection = open_connection(str(path), "process", busy_seconds=5.0)
    commit(connection, 20_000)
    yield connection
    connection.close(True)


def commit(connection: SqliteConnection, size_bytes: int = 1) -> None:
    body = b"x" * size_bytes
    connection.execute("REPLACE INTO metadata VALUES ('row', ?, ?)", (str(size_bytes), body))


def is_copied(path: Path) -> bool:
    return path.stat().st_size > 20_000


@pytest.mark.parametrize("fault", [None, FileReplaced("things.db", "it was deleted or moved")])
def test_the_log_is_copied_unless_another_file_is_in_its_place(
    path: Path, connection: SqliteConnection, fault: FileReplaced | None
) -> None:
    made: list[SqliteConnection] = []

    def connect() -> SqliteConnection:
        made.append(open_reader(str(path), busy_seconds=5.0))
        return made[-1]

    def find_fault() -> FileReplaced | None:
        assert checkpointer.lock.locked()
        # Ends the loop after this one.
        checkpointer._stopping = True
        checkpointer._requested.set()
        return fault

    assert connection
    checkpointer = Checkpointer(connect, find_fault)
    checkpointer._requested.set()
    checkpointer._run()
    assert is_copied(path) is (fault is None)
    (opened,) = made
    with pytest.raises(apsw.ConnectionClosedError):
        opened.execute("SELECT 1")


def test_a_long_log_is_copied_by_one_thread(path: Path, connection: SqliteConnection) -> None:
    looked, go_on = threading.Semaphore(0), threading.Semaphore(0)

    def find_fault() -> None:
        looked.release()
        assert go_on.acquire(timeout=120)

    checkpointer = Checkpointer(lambda: open_reader(str(path), busy_seconds=5.0), find_fault)
    checkpointer._checkpoint_if_long(connection, START_PAGES - 1)
    assert checkpointer._thread is None
    checkpointer.stop()
    checkpointer = Checkpointer(lambda: open_reader(str(path), busy_seconds=5.0), find_fault)
    threads: set[threading.Thread | None] = set()
    for pages in (START_PAGES, CATCH_UP_PAGES - 1):
        checkpointer._checkpoint_if_long(connection, pages)
        assert looked.acquire(timeout=120)
        go_on.release()
        # The thread holds it while it copies.
        with checkpointer.lock:
            threads.add(checkpointer._thread)
    (thread,) = threads
    assert thread is not None
    assert (thread.name, thread.daemon) == ("keyfold-checkpoints", True)
    checkpointer.stop()
    assert not thread.is_alive()
    assert is_copied(path)


def test_a_log_that_is_too_long_is_copied_at_once(path: Path, connection: SqliteConnection) -> None:
    checkpointer = Checkpointer(lambda: open_reader(str(path), busy_seconds=5.0), lambda: None)
    checkpointer._checkpoint_if_long(connection, CATCH_UP_PAGES)
    assert is_copied(path)
    assert checkpointer._thread is None
    assert not checkpointer.lock.locked()


def test_the_log_is_measured_at_one_commit_now_and_then(
    path: Path, connection: SqliteConnection
) -> None:
    checkpointer = Checkpointer(lambda: open_reader(str(path), busy_seconds=5.0), lambda: None)
    for _ in range(2):
        before = checkpointer.due_pages
        checkpointer.check_log(connection, 100)
        checkpointer.check_log(connection, 110)
        assert checkpointer.due_pages == before, "there was no commit to measure"
        commit(connection)
        assert checkpointer._log_pages == int(log_pages(path))
        checkpointer.check_log(connection, 120)
        assert checkpointer.due_pages == 120 + START_PAGES // 4
        assert checkpointer._log_pages is None
        commit(connection)
        assert checkpointer._log_pages is None, "other commits cost nothing"
    assert checkpointer._thread is None, "it is not long"
