"""Connections to files: settings, checks of what is opened, waiting, and SQLite's errors as ours."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from keyfold.engine.storage import Durability, RowsChanged, connections
from keyfold.engine.storage.connections import (
    APPLICATION_ID,
    FORMAT,
    BusyWait,
    SqliteConnection,
    check_header,
    copy_memory,
    open_connection,
    open_reader,
    require_file,
    translate,
    translated,
)
from keyfold.engine.storage.epochs import has_epoch
from keyfold.errors import (
    EngineClosed,
    FileBusy,
    FileDamaged,
    FileFailed,
    FileNotKeyfold,
    FileUnreachable,
)
from tests.crash.faulty_vfs import faulty_vfs
from tests.unit.engine.storage.errors import assert_same

FILE_DURABILITIES: tuple[Durability, ...] = ("durable", "process")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "rows.db")


def pragma(connection: SqliteConnection, name: str) -> object:
    ((value,),) = connection.execute(f"PRAGMA {name}").fetchall()
    return value


# Errors.


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (apsw.BusyError("x"), FileBusy("a.db", "another process kept it locked for too long")),
        (apsw.LockedError("x"), FileBusy("a.db", "another process kept it locked for too long")),
        (apsw.ConnectionClosedError("x"), EngineClosed("a.db")),
        (apsw.CursorClosedError("x"), EngineClosed("a.db")),
        (
            apsw.CantOpenError("x"),
            FileUnreachable("a.db", "its folder is missing or may not be written"),
        ),
        (apsw.ReadOnlyError("x"), FileUnreachable("a.db", "it is read-only, or its folder is")),
        (apsw.PermissionsError("x"), FileUnreachable("a.db", "it is read-only, or its folder is")),
        (apsw.CorruptError("CorruptError: page 3: torn"), FileDamaged("a.db", "page 3: torn")),
        (apsw.NotADBError("no colon"), FileDamaged("a.db", "no colon")),
        (apsw.FullError("FullError: x"), FileFailed("a.db", "the disk is full")),
        (apsw.IOError("IOError: read"), FileFailed("a.db", "the disk failed (read)")),
        (apsw.SchemaChangeError("x"), RowsChanged()),
        (apsw.SQLError("SQLError: no such table: t1"), RowsChanged()),
        (apsw.SQLError("SQLError: no such index: i1"), RowsChanged()),
        (apsw.SQLError("SQLError: near: x"), FileFailed("a.db", "near: x")),
        (apsw.MisuseError("MisuseError: y"), FileFailed("a.db", "y")),
    ],
    ids=repr,
)
def test_each_error_of_sqlite_stands_for_one_of_ours(
    error: apsw.Error, expected: Exception
) -> None:
    assert_same(translate(error, "a.db"), expected)
    with pytest.raises(type(expected)) as raised, translated("a.db"):
        raise error
    assert_same(raised.value, expected)
    assert raised.value.__cause__ is error


def test_other_errors_are_raised_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), translated("a.db"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("failure", "fact"),
    [
        (OSError(5, "Input/output error"), "Input/output error"),
        (OSError(), "it cannot be read"),
    ],
)
def test_a_header_that_cannot_be_read_is_an_error(
    path: str, monkeypatch: pytest.MonkeyPatch, failure: OSError, fact: str
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(connections, "check_header", fail)
    with pytest.raises(FileUnreachable) as raised:
        open_connection(path, "durable", busy_seconds=0.0)
    assert_same(raised.value, FileUnreachable(path, fact))


def test_a_file_in_a_missing_folder_cannot_be_opened(tmp_path: Path) -> None:
    path = str(tmp_path / "missing" / "rows.db")
    for opened in (
        lambda: open_connection(path, "durable", busy_seconds=0.0),
        lambda: open_reader(path, busy_seconds=0.0),
    ):
        with pytest.raises(FileUnreachable) as raised:
            opened()
        fact = "its folder is missing or may not be written"
        assert_same(raised.value, FileUnreachable(path, fact))


def test_a_file_to_be_read_has_to_exist_and_to_have_content(path: str) -> None:
    with pytest.raises(FileUnreachable) as missing:
        require_file(path)
    assert_same(missing.value, FileUnreachable(path, "there is no such file"))
    Path(path).touch()
    with pytest.raises(FileNotKeyfold) as empty:
        require_file(path)
    assert_same(empty.value, FileNotKeyfold(path, "it is empty"))
    Path(path).write_bytes(b"x")
    require_file(path)
    require_file(Path(path).parent)


# Waiting.


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=10.0, slept=[])
    replaced = SimpleNamespace(monotonic=lambda: clock.now, sleep=clock.slept.append)
    monkeypatch.setattr(connections, "time", replaced)
    return clock


def test_a_lock_is_waited_for_until_the_deadline(clock: SimpleNamespace) -> None:
    wait = BusyWait(2.0)
    assert wait(0)
    clock.now = 11.9
    assert wait(1)
    clock.now = 12.0
    assert not wait(2)
    assert wait(0), "the next lock has its own deadline"
    clock.now = 13.9
    assert wait(1)
    assert len(clock.slept) == 4
    assert all(0.0002 <= seconds <= 0.002 for seconds in clock.slept)


def test_nobody_waits_who_must_not_block_or_once_it_is_over(clock: SimpleNamespace) -> None:
    wait = BusyWait(2.0)
    assert wait.impatient is None
    wait.impatient = threading.get_ident()
    assert not wait(0)
    wait.impatient = threading.get_ident() + 1
    assert wait(0)
    assert wait.is_over is False
    wait.is_over = True
    assert not wait(0)
    assert len(clock.slept) == 1


class Switching:
    """Answers a change of the journal's mode with a row, or an error."""

    def __init__(self, *answers: str | None) -> None:
        self._answers = [*answers]

    def execute(self, statement: str) -> Switching:
        assert statement.lower() == "pragma journal_mode = wal"
        if self._answers[0] is None:
            del self._answers[0]
            raise apsw.BusyError
        return self

    def fetchall(self) -> list[tuple[str]]:
        answer = self._answers.pop(0)
        assert answer is not None
        return [(answer,)]


def test_the_switch_to_a_log_is_tried_while_there_is_time() -> None:
    attempts: list[int] = []

    def wait(attempt: int) -> bool:
        attempts.append(attempt)
        return len(attempts) < 4

    connection: Any = Switching(None, "delete", None, "wal")
    connections._use_log(connection, wait)
    assert attempts == [0, 1, 2]
    for answer in (None, "delete"):
        connection = Switching(answer, "wal")
        with pytest.raises(apsw.BusyError):
            connections._use_log(connection, wait)


# Settings.


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("durability", FILE_DURABILITIES)
def test_the_settings_of_a_file(
    path: str,
    opening: Callable[..., SqliteConnection],
    monkeypatch: pytest.MonkeyPatch,
    durability: Durability,
    platform: str,
) -> None:
    monkeypatch.setattr(connections, "sys", SimpleNamespace(platform=platform))
    connection = opening(path, durability)
    found = {
        name: pragma(connection, name) for name in ("journal_mode", "temp_store", "cache_size")
    }
    assert found == {"journal_mode": "wal", "temp_store": 2, "cache_size": -8_192}
    # FULL and NORMAL: a commit is durable only with the first.
    assert pragma(connection, "synchronous") == (2 if durability == "durable" else 1)
    is_mac = platform == "darwin"
    assert pragma(connection, "fullfsync") == int(is_mac and durability == "durable")
    reader = open_reader(path, busy_seconds=5.0)
    assert pragma(reader, "cache_size") == -8_192
    for each in (connection, reader):
        assert pragma(each, "mmap_size") == 2_147_418_112
        assert pragma(each, "wal_autocheckpoint") == 0, "a thread does it"
        assert pragma(each, "checkpoint_fullfsync") == int(is_mac)
        assert each.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1
        assert each.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, -1) == 0
    reader.close()


def test_the_switch_to_a_log_waits_as_long_as_other_statements(
    path: str, opening: Callable[..., SqliteConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[BusyWait] = []

    def note(connection: SqliteConnection, wait: BusyWait) -> None:
        waits.append(wait)

    monkeypatch.setattr(connections, "_use_log", note)
    opening(path)
    assert [wait._seconds for wait in waits] == [5.0]


def test_a_file_that_is_called_as_memory_is_not_looked_at(
    tmp_path: Path, opening: Callable[..., SqliteConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(":memory:").write_bytes(b"Dear reader")
    assert pragma(opening(":memory:", "memory"), "application_id") == APPLICATION_ID
    assert Path(":memory:").read_bytes() == b"Dear reader"


def test_the_settings_in_memory(opening: Callable[..., SqliteConnection]) -> None:
    connection = opening(":memory:", "memory")
    names = ("journal_mode", "synchronous", "temp_store", "cache_size")
    assert [pragma(connection, name) for name in names] == ["memory", 0, 2, -8_192]
    assert pragma(connection, "application_id") == APPLICATION_ID


def test_each_connection_waits_for_locks(
    path: str, opening: Callable[..., SqliteConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    opening(path).execute("BEGIN IMMEDIATE")
    asked: list[float] = []

    class Asked(BusyWait):
        def __call__(self, attempt: int) -> bool:
            asked.append(self._seconds)
            return False

    monkeypatch.setattr(connections, "BusyWait", Asked)
    for connection in (open_reader(path, busy_seconds=7.0), opening(path)):
        with pytest.raises(apsw.BusyError):
            connection.execute("BEGIN IMMEDIATE")
        connection.close()
    assert asked == [7.0, 5.0]


def test_a_new_file_is_ours(path: str, opening: Callable[..., SqliteConnection]) -> None:
    connection = opening(path)
    assert pragma(connection, "application_id") == APPLICATION_ID
    assert pragma(connection, "user_version") == FORMAT
    assert has_epoch(connection)
    assert not connection.in_transaction
    content = Path(path).read_bytes()
    assert content[68:72] == b"KYFD", "before there is a log"
    # A second one creates nothing.
    assert has_epoch(opening(path))
    assert Path(path).read_bytes() == content


def test_a_file_without_an_epoch_gets_one(
    path: str, opening: Callable[..., SqliteConnection]
) -> None:
    connection = opening(path)
    connection.execute("INSERT INTO metadata VALUES ('a', 'b', 'c')")
    connection.execute("DROP TABLE epoch")
    connection.close()
    again = opening(path)
    assert has_epoch(again)
    assert again.execute("SELECT body FROM metadata").fetchall() == [("c",)]


def test_the_file_layer_is_the_one_that_was_named(path: str) -> None:
    with faulty_vfs() as vfs:
        connection = open_connection(path, "durable", busy_seconds=5.0, vfs=vfs.name)
        connection.execute("INSERT INTO metadata VALUES ('a', 'b', 'c')")
        assert ("write", "wal") in vfs.calls
        vfs.calls.clear()
        check_header(path, vfs.name)
        assert vfs.calls == [("open", "db"), ("read", "db")]
        vfs.calls.clear()
        connections._check_log(connection, path, vfs.name)
        assert ("open", "db") in vfs.calls
        reader = open_reader(path, busy_seconds=5.0, vfs=vfs.name)
        vfs.calls.clear()
        assert reader.execute("SELECT kind FROM metadata").fetchall() == [("a",)]
        assert vfs.calls
        reader.close()
        connection.close()


def test_a_copy_in_memory_is_whole_and_separate(opening: Callable[..., SqliteConnection]) -> None:
    connection = opening(":memory:", "memory")
    for number in range(50):
        body = bytes([number]) * 10_000
        connection.execute("INSERT INTO metadata VALUES ('row', ?, ?)", (str(number), body))
    query = "SELECT * FROM metadata ORDER BY name"
    rows = connection.execute(query).fetchall()
    copied = copy_memory(connection)
    assert copied.execute(query).fetchall() == rows
    connection.execute("DELETE FROM metadata")
    assert copied.execute(query).fetchall() == rows
    assert copied.execute("PRAGMA database_list").fetchall() == [(0, "main", "")], "in no file"
    copied.close()
