"""Checks of a file that is opened: whether it is ours, whole, and has its own log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from keyfold.engine.storage import connections
from keyfold.engine.storage.connections import (
    APPLICATION_ID,
    FORMAT,
    SqliteConnection,
    check_header,
    open_connection,
)
from keyfold.engine.storage.epochs import new_epoch, render_epoch
from keyfold.errors import (
    FileDamaged,
    FileNewer,
    FileNotKeyfold,
    FileOlder,
    FileUnreachable,
    KeyfoldError,
    LogMismatch,
)
from tests.crash.faulty_vfs import faulty_vfs
from tests.unit.engine.storage.errors import assert_same


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "rows.db")


def header(**more: bytes) -> bytes:
    """Return a header of a file of ours; `at_60` and so on replace bytes in it."""
    content = bytearray(200)
    content[:16] = b"SQLite format 3\0"
    content[40:44] = (4).to_bytes(4, "big")
    content[60:64] = FORMAT.to_bytes(4, "big")
    content[68:72] = APPLICATION_ID.to_bytes(4, "big")
    for name, value in more.items():
        place = int(name.removeprefix("at_"))
        content[place : place + len(value)] = value
    return bytes(content)


NOT_OURS = "it is not a Keyfold database"
ANOTHERS = "it is another program's SQLite database"
JOURNAL = bytes.fromhex("d9d505f920a163d7")
EMPTY = header(at_40=bytes(4), at_60=bytes(4), at_68=bytes(4))


@pytest.mark.parametrize(
    ("content", "beside", "error", "fact"),
    [
        (b"", {}, None, ""),
        (header(), {}, None, ""),
        (header()[:100], {}, None, ""),
        (header(at_60=bytes(4)), {}, None, ""),
        (header()[:99], {}, FileNotKeyfold, NOT_OURS),
        (b"x", {}, FileNotKeyfold, NOT_OURS),
        (header(at_0=b"x"), {}, FileNotKeyfold, NOT_OURS),
        (header(at_68=b"x"), {}, FileNotKeyfold, ANOTHERS),
        (header(at_71=b"x"), {}, FileNotKeyfold, ANOTHERS),
        (header(at_68=bytes(4)), {}, FileNotKeyfold, ANOTHERS),
        (header(at_40=bytes(4), at_68=b"x"), {}, FileNotKeyfold, ANOTHERS),
        (header(at_63=b"\x04"), {}, FileNewer, "it has format 4, this version reads 3"),
        (header(at_60=b"\1"), {}, FileNewer, "it has format 16777219, this version reads 3"),
        (header(at_63=b"\x02"), {}, FileOlder, "it has format 2, this version reads 3"),
        # A database without a schema is empty, unless its log or journal has one.
        (EMPTY, {}, None, ""),
        (header(at_40=bytes(4), at_44=b"\4", at_68=bytes(4)), {}, None, ""),
        (header(at_40=b"\1\0\0\0", at_68=bytes(4)), {}, FileNotKeyfold, ANOTHERS),
        (EMPTY, {"-wal": b"", "-journal": b""}, None, ""),
        (EMPTY, {"-wal": b"x"}, FileNotKeyfold, ANOTHERS),
        (EMPTY, {"-journal": b"x"}, FileNotKeyfold, ANOTHERS),
        # A journal that says that the file was empty before.
        (b"x", {"-journal": JOURNAL + bytes(12)}, None, ""),
        (b"x", {"-journal": JOURNAL + b"x" * 8 + bytes(4) + b"x"}, None, ""),
        (b"x", {"-journal": JOURNAL + bytes(11) + b"\1"}, FileNotKeyfold, NOT_OURS),
        (b"x", {"-journal": JOURNAL + bytes(8) + b"\1" + bytes(3)}, FileNotKeyfold, NOT_OURS),
        (b"x", {"-journal": JOURNAL[:-1] + bytes(13)}, FileNotKeyfold, NOT_OURS),
        (b"x", {"-journal": JOURNAL}, FileNotKeyfold, NOT_OURS),
    ],
)
def test_a_header_tells_whether_a_file_is_ours(
    path: str,
    content: bytes,
    beside: dict[str, bytes],
    error: type[KeyfoldError] | None,
    fact: str,
) -> None:
    Path(path).write_bytes(content)
    for ending, body in beside.items():
        Path(path + ending).write_bytes(body)
    link = Path(path).with_name("link.db")
    link.symlink_to(path)
    for each in (path, str(link)):
        if error is None:
            check_header(each, None)
            continue
        with pytest.raises(error) as raised:
            check_header(each, None)
        expected: Callable[[str, str], Exception] = error
        assert_same(raised.value, expected(each, fact))


def test_a_missing_file_is_fine_and_a_folder_is_not(path: str, tmp_path: Path) -> None:
    check_header(path, None)
    with pytest.raises(FileUnreachable) as raised:
        check_header(str(tmp_path), None)
    assert_same(raised.value, FileUnreachable(str(tmp_path), "it is not a file"))


def test_a_file_that_is_too_short_is_damaged_unless_it_has_a_log(
    path: str, opening: Callable[..., SqliteConnection]
) -> None:
    connection = opening(path)
    connection.execute("INSERT INTO metadata VALUES ('a', 'b', ?)", (b"x" * 20_000,))
    connection.close()
    size = Path(path).stat().st_size
    raw: Any = apsw.Connection(path)
    try:
        raw.execute("SELECT 1 FROM metadata").fetchall()
        connections._check_file(raw, path)
        with Path(path).open("r+b") as file:
            file.truncate(size - 1)
        # The log that this connection has begun is empty.
        with pytest.raises(FileDamaged) as raised:
            connections._check_file(raw, path)
        fact = f"it has {size - 1:,} bytes and should have {size:,}"
        assert_same(raised.value, FileDamaged(path, fact))
        Path(f"{path}-wal").write_bytes(b"x")
        connections._check_file(raw, path)
    finally:
        raw.close(True)


def test_a_read_only_connection_is_refused(
    path: str, opening: Callable[..., SqliteConnection]
) -> None:
    opening(path).close()
    raw: Any = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    with pytest.raises(FileUnreachable) as raised:
        connections._check_file(raw, path)
    assert_same(raised.value, FileUnreachable(path, "it is read-only, or its folder is"))
    raw.close(True)


def test_a_newer_version_in_the_log_is_refused(
    path: str, opening: Callable[..., SqliteConnection]
) -> None:
    connection = opening(path)
    connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    assert Path(path).read_bytes()[60:64] == FORMAT.to_bytes(4, "big"), "it is only in the log"
    log = Path(f"{path}-wal").read_bytes()
    with pytest.raises(FileNewer) as raised:
        open_connection(path, "durable", busy_seconds=0.0)
    assert_same(raised.value, FileNewer(path, "it has format 4, this version reads 3"))
    assert Path(f"{path}-wal").read_bytes() == log


def test_a_log_of_another_file_is_refused_and_left_as_it_is(
    path: str, tmp_path: Path, opening: Callable[..., SqliteConnection]
) -> None:
    connection = opening(path)
    connection.execute("UPDATE epoch SET body = ?", (render_epoch(new_epoch()),))
    log, content = Path(f"{path}-wal").read_bytes(), Path(path).read_bytes()
    other = tmp_path / "other.db"
    other.write_bytes(content)
    other.with_name("other.db-wal").write_bytes(log)
    closed: list[SqliteConnection] = []
    connect = connections._connect
    with pytest.MonkeyPatch.context() as patch:

        def remember(*arguments: Any, **more: Any) -> SqliteConnection:
            closed.append(connect(*arguments, **more))
            return closed[-1]

        patch.setattr(connections, "_connect", remember)
        with pytest.raises(LogMismatch) as raised:
            open_connection(str(other), "durable", busy_seconds=0.0)
    advice = (
        f"If this copy is the right one, remove {other}-wal and {other}-shm, "
        "or put it in place with `keyfold restore`."
    )
    assert_same(raised.value, LogMismatch(str(other), advice))
    assert (other.read_bytes(), other.with_name("other.db-wal").read_bytes()) == (content, log)
    (refused,) = closed
    with pytest.raises(apsw.ConnectionClosedError):
        refused.execute("SELECT 1")


def test_another_programs_database_gets_no_metadata(path: str) -> None:
    raw: Any = apsw.Connection(path)
    raw.execute("CREATE TABLE theirs (x)")
    with pytest.raises(FileNotKeyfold) as raised:
        connections._create_metadata(raw, path)
    assert_same(raised.value, FileNotKeyfold(path, ANOTHERS))
    assert not raw.in_transaction
    assert raw.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    raw.close()


def test_another_programs_database_is_refused_whatever_its_header_said(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw: Any = apsw.Connection(path)
    raw.execute("CREATE TABLE theirs (x)")
    raw.close()

    def pass_all(*_: object) -> None:
        """As if it was created after its header was read."""

    monkeypatch.setattr(connections, "check_header", pass_all)
    with pytest.raises(FileNotKeyfold) as raised:
        open_connection(path, "durable", busy_seconds=0.0)
    assert_same(raised.value, FileNotKeyfold(path, ANOTHERS))


def test_a_file_is_checked_through_its_file_layer(path: str) -> None:
    with faulty_vfs() as vfs:
        first = open_connection(path, "durable", busy_seconds=5.0, vfs=vfs.name)
        first.execute("INSERT INTO metadata VALUES ('a', 'b', 'c')")
        asked: list[object] = []

        def note(*given: object) -> None:
            asked.append(given[-1])

        with pytest.MonkeyPatch.context() as patch:
            for name in ("check_header", "_check_log"):
                patch.setattr(connections, name, note)
            second = open_connection(path, "durable", busy_seconds=5.0, vfs=vfs.name)
        assert asked == [vfs.name, vfs.name]
        for each in (second, first):
            each.close()
