"""Checkpoints of the write-ahead log: it stays short, and survives disk failures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest import mock

import apsw
import pytest

from keyfold.engine import Engine
from keyfold.engine.storage import checkpoints
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
