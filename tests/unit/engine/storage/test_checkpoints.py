"""The write-ahead log: kept short beside the writers, whole when the disk fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest import mock

import apsw
import pytest

from keyfold.engine import Engine
from keyfold.engine.storage import _checkpoints
from tests.crash.faulty_vfs import FaultyVfs, faulty_vfs, open_on
from tests.unit.engine.storage.folders import contents
from tests.unit.engine.storage.programs import running
from tests.unit.engine.storage.tables import create, names, put

PAGE_BYTES = 4_096 + 24
START_PAGES, CATCH_UP_PAGES = 20, 60


@pytest.fixture(autouse=True)
def small_steps() -> Iterator[None]:
    """Checkpoints after so little that a test can afford many."""
    with (
        mock.patch.object(_checkpoints, "START_PAGES", START_PAGES),
        mock.patch.object(_checkpoints, "CATCH_UP_PAGES", CATCH_UP_PAGES),
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


def test_constant_writing_leaves_the_log_short(engine: Engine, path: Path) -> None:
    fill(engine, 1_000)
    # The log's length is asked for now and then, so it is some commits past the limit.
    assert log_pages(path) < CATCH_UP_PAGES + START_PAGES + 20
    assert path.stat().st_size > 500 * 4_096
    assert len(names(engine)) == 1_000


# Keeps a view of the file as it was, until it is ended.
READING = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN")
connection.execute("SELECT * FROM metadata").fetchall()
print("reading", flush=True)
sys.stdin.readline()
"""


def test_a_reader_of_old_pages_holds_no_writer_up(engine: Engine, path: Path) -> None:
    fill(engine, 10)
    with running(READING, path) as reader:
        assert reader.hear() == "reading"
        fill(engine, 200, start=10)
        assert log_pages(path) > CATCH_UP_PAGES, "what the reader sees cannot be folded away"
    grown = log_pages(path)
    fill(engine, 400, start=210)
    assert log_pages(path) < grown + 20, "the log starts again from its beginning"
    assert len(names(engine)) == 610


def test_closing_folds_the_log_into_the_file(path: Path) -> None:
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


def test_a_checkpoint_that_fails_is_made_up_for_later(faulty: FaultyVfs, path: Path) -> None:
    def fail(call: str, ending: str) -> None:
        if ending == "db" and call in ("write", "sync", "truncate"):
            raise apsw.FullError(f"injected into {call}")

    with open_on(faulty, path, clock=time.time) as engine:
        create(engine)
        faulty.fault = fail
        # Commits go to the log, which has room.
        fill(engine, 120)
        assert ("write", "db") in faulty.calls, "a checkpoint was tried"
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
    # SQLite keeps a failed checkpoint to itself when it closes; a file system in Python cannot.
    with suppress(apsw.IOError):
        engine.close()
    faulty.fault = None
    with Engine.open(path) as again:
        assert len(names(again)) == 15
        assert again.verify() == []
