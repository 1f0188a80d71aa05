"""Group commit: waiting writers share a commit, and one writer's failure stays its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from keyfold.engine import Engine
from keyfold.engine.storage import RowsChanged, SqliteStorage, StorageWriter
from keyfold.errors import (
    ConditionalCheckFailedException,
    FileBusy,
    FileFailed,
    FileReplaced,
    KeyfoldError,
)
from tests.crash.faulty_vfs import FaultyVfs, NthCall, faulty_vfs, open_on
from tests.unit.engine.storage.tables import TABLE, add, create, get, names, put

Work = Callable[[], object]

# Long enough for the busiest machine; only a failure takes longer.
TIMEOUT_SECONDS = 120


@pytest.fixture
def faulty() -> Iterator[FaultyVfs]:
    with faulty_vfs() as faulty:
        yield faulty


@pytest.fixture
def engine(faulty: FaultyVfs, tmp_path: Path) -> Iterator[Engine]:
    with open_on(faulty, tmp_path / "things.db", clock=time.time) as engine:
        create(engine)
        put(engine, "there")
        faulty.calls.clear()
        yield engine
        faulty.fault = None
        assert engine.verify() == []


class WaitingWriters:
    """Threads that queue for a commit while another commit is in progress."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.answers: list[object] = []
        self._threads: list[threading.Thread] = []

    def start(self, work: Work) -> None:
        place = len(self.answers)
        self.answers.append(None)

        def run() -> None:
            try:
                self.answers[place] = work()
            except Exception as error:  # noqa: BLE001 - asserted on by the test
                self.answers[place] = error

        thread = threading.Thread(target=run)
        self._threads.append(thread)
        thread.start()
        _wait_until(lambda: len(self._engine._storage._waiting) == len(self._threads))

    def join(self) -> None:
        for thread in self._threads:
            thread.join(TIMEOUT_SECONDS)
            assert not thread.is_alive()


def _wait_until(holds: Callable[[], bool]) -> None:
    # The timeout matters only if the test fails.
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.0005)


@contextmanager
def during_a_commit(engine: Engine, faulty: FaultyVfs) -> Generator[WaitingWriters]:
    """Keep a commit in progress for as long as the block; then release the waiting writers."""
    begun, may_end = threading.Event(), threading.Event()

    def hold(call: str, ending: str) -> None:
        if call == "sync" and not begun.is_set():
            begun.set()
            may_end.wait(TIMEOUT_SECONDS)

    faulty.fault = hold
    first = threading.Thread(target=put, args=(engine, "first"))
    first.start()
    assert begun.wait(TIMEOUT_SECONDS)
    waiting = WaitingWriters(engine)
    try:
        yield waiting
    finally:
        if faulty.fault is hold:
            faulty.fault = None
        may_end.set()
        first.join(TIMEOUT_SECONDS)
        waiting.join()


@pytest.mark.parametrize("kind", ["put", "update", "both"])
def test_waiting_writers_share_one_commit(engine: Engine, faulty: FaultyVfs, kind: str) -> None:
    with during_a_commit(engine, faulty) as waiting:
        for number in range(8):
            if kind == "put" or (kind == "both" and number % 2):
                waiting.start(lambda number=number: put(engine, f"thing-{number}"))
            else:
                waiting.start(lambda number=number: add(engine, f"thing-{number}"))
    assert names(engine) == {"there", "first", *(f"thing-{number}" for number in range(8))}
    assert faulty.count("sync") == 2, "one commit for the first writer, one for all that waited"


def test_a_single_write_is_synced_before_it_is_acknowledged(
    engine: Engine, faulty: FaultyVfs
) -> None:
    for number in range(5):
        put(engine, f"thing-{number}")
        assert faulty.count("sync") == number + 1
    add(engine, "sum")
    assert faulty.count("sync") == 6


def test_process_durability_does_not_sync_commits(faulty: FaultyVfs, tmp_path: Path) -> None:
    path = tmp_path / "quick.db"
    with open_on(faulty, path, durability="process", clock=time.time) as engine:
        create(engine)
        faulty.calls.clear()
        for number in range(5):
            put(engine, f"thing-{number}")
        assert faulty.count("write") > 0
        assert faulty.count("sync") == 0


def test_reads_do_not_wait_for_a_commit(engine: Engine, faulty: FaultyVfs) -> None:
    with during_a_commit(engine, faulty):
        assert get(engine, "there") is not None
        # Not acknowledged yet, so not visible yet.
        assert names(engine) == {"there"}
    assert names(engine) == {"there", "first"}


def test_a_failed_condition_does_not_affect_the_others(engine: Engine, faulty: FaultyVfs) -> None:
    with during_a_commit(engine, faulty) as waiting:
        waiting.start(lambda: put(engine, "one"))
        waiting.start(lambda: _create_only(engine, "there"))
        waiting.start(lambda: add(engine, "two"))
    assert isinstance(waiting.answers[1], ConditionalCheckFailedException)
    assert waiting.answers[2] == 1
    assert names(engine) == {"there", "first", "one", "two"}
    assert faulty.count("sync") == 2


def _create_only(engine: Engine, name: str) -> None:
    engine.execute(
        "PutItem",
        {
            "TableName": TABLE,
            "Item": {"pk": {"S": name}, "new": {"BOOL": True}},
            "ConditionExpression": "attribute_not_exists(pk)",
        },
    )


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_writer_that_fails_after_writing_is_rolled_back_and_the_others_run_once(
    engine: Engine, faulty: FaultyVfs, place: int
) -> None:
    def fail(writer: StorageWriter) -> None:
        writer.set_record("test", "trace", b"x")
        raise ZeroDivisionError

    with during_a_commit(engine, faulty) as waiting:
        for number in range(3):
            if number == place:
                waiting.start(lambda: engine._storage.write(fail))
            waiting.start(lambda: add(engine, "sum"))
    assert isinstance(waiting.answers[place], ZeroDivisionError)
    counts = [answer for answer in waiting.answers if isinstance(answer, int)]
    assert sorted(counts) == [1, 2, 3]
    assert engine._storage.read(lambda reader: reader.get_record("test", "trace")) is None


@pytest.mark.parametrize("error", [ZeroDivisionError(), apsw.SQLError("no such table: r9v9")])
def test_a_writer_that_fails_before_it_writes_leaves_the_commit_to_the_others(
    engine: Engine, faulty: FaultyVfs, error: Exception
) -> None:
    def fail(_: StorageWriter) -> None:
        raise error

    with during_a_commit(engine, faulty) as waiting:
        waiting.start(lambda: put(engine, "one"))
        waiting.start(lambda: engine._storage.write(fail))
        waiting.start(lambda: put(engine, "two"))
    expected = RowsChanged if isinstance(error, apsw.Error) else ZeroDivisionError
    assert [type(answer) for answer in waiting.answers] == [type(None), expected, type(None)]
    assert names(engine) == {"there", "first", "one", "two"}
    assert faulty.count("sync") == 2, "nothing has to be repeated"


def test_a_writer_that_waits_while_the_file_is_replaced_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    storage = SqliteStorage(str(path), "durable")
    answers: list[object] = []

    def write() -> None:
        try:
            answers.append(storage.write(lambda writer: writer.set_record("test", "x", b"x")))
        except FileReplaced as error:
            answers.append(error)

    thread = threading.Thread(target=write)
    with storage._mutex:
        thread.start()
        _wait_until(lambda: len(storage._waiting) == 1)
        path.unlink()
        with pytest.raises(FileReplaced):
            storage.check_file()
    thread.join(TIMEOUT_SECONDS)
    assert [type(answer) for answer in answers] == [FileReplaced]
    storage.close()


def test_writers_that_waited_are_told_that_another_process_kept_the_file_locked(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "other.db")
    storage, other = (SqliteStorage(path, "process", busy_seconds=0.0) for _ in range(2))
    answers: list[object] = []

    def write() -> None:
        try:
            storage.write(lambda writer: writer.set_record("test", "x", b"x"))
        except KeyfoldError as error:
            answers.append(error)

    threads = [threading.Thread(target=write) for _ in range(2)]
    with other.shared_commit():
        with storage._mutex:
            for thread in threads:
                thread.start()
            _wait_until(lambda: len(storage._waiting) == len(threads))
        for thread in threads:
            thread.join(TIMEOUT_SECONDS)
    assert [type(answer) for answer in answers] == [FileBusy, FileBusy]
    for each in (storage, other):
        each.close()


def test_an_interrupted_writer_is_rolled_back_and_the_others_are_committed(engine: Engine) -> None:
    def interrupt(writer: StorageWriter) -> None:
        writer.set_record("test", "trace", b"x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine._storage.write(interrupt)
    assert engine._storage.read(lambda reader: reader.get_record("test", "trace")) is None
    assert add(engine, "sum") == 1


def _together(engine: Engine, *wanted: str) -> dict[str, Any]:
    members = [{"Put": {"TableName": TABLE, "Item": {"pk": {"S": name}}}} for name in wanted]
    return engine.execute("TransactWriteItems", {"TransactItems": members})


@pytest.mark.parametrize("place", range(1, 9))
def test_a_failed_read_of_one_writer_does_not_affect_the_others(
    engine: Engine, faulty: FaultyVfs, tmp_path: Path, place: int
) -> None:
    # SQLite rolls the whole transaction back when any of its reads fails.
    with Engine.open(tmp_path / "things.db", upkeep_seconds=None) as other:
        for number in range(200):
            put(other, f"filler-{number}", text={"S": "x" * 400})
    with during_a_commit(engine, faulty) as waiting:
        waiting.start(lambda: _create_only(engine, "there"))
        waiting.start(lambda: _together(engine, "a", "b", "c"))
        waiting.start(lambda: add(engine, "sum"))
        waiting.start(lambda: _together(engine, "d", "e", "f"))
        faulty.fault = NthCall(frozenset(["read"]), place, apsw.IOError)
    faulty.fault = None
    found = names(engine)
    for answer, wanted in (
        (waiting.answers[1], {"a", "b", "c"}),
        (waiting.answers[2], {"sum"}),
        (waiting.answers[3], {"d", "e", "f"}),
    ):
        assert isinstance(answer, FileFailed | dict | int)
        assert found & wanted == (set() if isinstance(answer, FileFailed) else wanted)


@pytest.mark.parametrize("call", ["write", "sync"])
def test_a_failed_commit_fails_every_writer_in_it(
    engine: Engine, faulty: FaultyVfs, call: str
) -> None:
    with during_a_commit(engine, faulty) as waiting:
        for number in range(4):
            waiting.start(lambda number=number: add(engine, f"thing-{number}"))
        # The first commit's sync holds them back; the following calls hit the fault.
        faulty.fault = NthCall(frozenset([call]), 1, apsw.IOError)
    faulty.fault = None
    assert all(isinstance(answer, FileFailed) for answer in waiting.answers)
    assert names(engine) == {"there", "first"}
    assert add(engine, "thing-0") == 1
