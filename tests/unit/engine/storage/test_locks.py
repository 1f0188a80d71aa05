"""Several processes on one file: which waits for which, and how locks are kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from keyfold.engine import Engine
from keyfold.engine.storage import RowsChanged, StorageWriter
from keyfold.engine.storage.connections import BusyWait, translate
from keyfold.errors import FileBusy
from tests.unit.engine.storage.programs import Program, run_program, running
from tests.unit.engine.storage.tables import add, create, get, names, put

# Holds the write lock until it reads a line.
HOLDING = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
print("let go", flush=True)
sys.stdin.readline()
"""

# Prints whether it could write without waiting.
TRYING = """
import sys
from keyfold.engine import Engine
from keyfold.errors import FileBusy
from tests.unit.engine.storage.tables import put
with Engine.open(sys.argv[1], busy_seconds=0.0, upkeep_seconds=None) as engine:
    try:
        put(engine, "intruder")
        print("written")
    except FileBusy as error:
        print(error.code)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "things.db"
    with Engine.open(path) as engine:
        create(engine)
        put(engine, "there")
    return path


@pytest.fixture
def holder(path: Path) -> Iterator[Program]:
    with running(HOLDING, path) as holder:
        assert holder.read_line() == "held"
        yield holder


def test_a_file_that_another_process_has_locked_can_be_opened_and_read(
    path: Path, holder: Program
) -> None:
    with Engine.open(path, busy_seconds=0.0) as engine:
        assert names(engine) == {"there"}
        assert engine.verify() == []


def test_a_writer_waits_until_the_lock_is_released(path: Path, holder: Program) -> None:
    with Engine.open(path, busy_seconds=120.0) as engine:
        thread = threading.Thread(target=put, args=(engine, "patient"))
        thread.start()
        # Reads are not blocked meanwhile.
        assert get(engine, "there") is not None
        assert get(engine, "patient") is None
        holder.send_line()
        assert holder.read_line() == "let go"
        thread.join(120)
        assert names(engine) == {"there", "patient"}


def test_a_writer_that_waits_too_long_fails_and_writes_nothing(path: Path, holder: Program) -> None:
    with Engine.open(path, busy_seconds=0.01) as engine:
        with pytest.raises(FileBusy, match="Nothing was written"):
            put(engine, "hasty")
        with pytest.raises(FileBusy):
            add(engine, "sum")
        holder.send_line()
        assert holder.read_line() == "let go"
        assert names(engine) == {"there"}
        put(engine, "later")
        assert add(engine, "sum") == 1


def test_only_the_thread_that_must_not_block_does_not_wait() -> None:
    wait = BusyWait(60)
    wait.impatient = threading.get_ident()
    assert not wait(0)
    answers: list[bool] = []
    other = threading.Thread(target=lambda: answers.append(wait(0)))
    other.start()
    other.join(120)
    assert answers == [True]


def test_opening_waits_for_a_process_that_is_creating_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with running(HOLDING, path) as holder:
        assert holder.read_line() == "held"
        with pytest.raises(FileBusy):
            Engine.open(path, busy_seconds=0.01)
        holder.send_line()
        assert holder.read_line() == "let go"
        with Engine.open(path) as engine:
            create(engine)


OPENING = """
import sys
from keyfold.engine import Engine
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    Engine.open(f"{sys.argv[1]}-{number}", busy_seconds=120.0).close()
print("opened")
"""


def test_processes_may_create_one_file_at_the_same_time(tmp_path: Path) -> None:
    programs = [Program(OPENING, tmp_path / "new", 25) for _ in range(3)]
    try:
        for program in programs:
            assert program.read_line() == "ready"
        for program in programs:
            program.send_line()
        for program in programs:
            assert program.end() == "opened"
    finally:
        for program in programs:
            program.stop()
    for number in range(25):
        with Engine.open(tmp_path / f"new-{number}") as engine:
            assert engine.verify() == []


def test_opening_and_closing_the_file_again_in_the_process_keeps_the_lock(path: Path) -> None:
    # POSIX drops a process's locks on a file when it closes any descriptor of it.
    with Engine.open(path) as engine:

        def work(writer: StorageWriter) -> str:
            with Engine.open(path) as another:
                assert names(another) == {"there"}
            with pytest.raises(FileBusy), Engine.open(path, busy_seconds=0.0) as another:
                put(another, "intruder")
            return run_program(TRYING, path)

        assert engine._storage.write(work) == "file-busy"
        assert run_program(TRYING, path) == "written"
        assert names(engine) == {"there", "intruder"}


def test_closing_one_of_two_engines_leaves_the_log_to_the_other(path: Path) -> None:
    with Engine.open(path) as first:
        with Engine.open(path) as second:
            put(second, "one")
        put(first, "two")
        assert run_program(TRYING, path) == "written"
        put(first, "three")
    with Engine.open(path) as engine:
        assert names(engine) == {"there", "one", "two", "three", "intruder"}
        assert engine.verify() == []


def test_schema_changes_of_other_processes_are_reported_as_rows_changed(path: Path) -> None:
    # SQLite reports it in two ways: for a newly prepared statement, and for a cached one.
    for error in (apsw.SQLError("SQLError: no such table: r1v2"), apsw.SchemaChangeError("x")):
        assert isinstance(translate(error, str(path)), RowsChanged)
