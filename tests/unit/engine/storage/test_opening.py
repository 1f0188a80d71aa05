"""Opening files: valid, foreign, missing, damaged and inaccessible ones."""

from __future__ import annotations

import os
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from keyfold.engine import Engine
from keyfold.errors import (
    EngineClosed,
    FileDamaged,
    FileNewer,
    FileNotKeyfold,
    FileOlder,
    FileUnreachable,
    KeyfoldError,
    OptionInvalid,
)
from tests.unit.engine.storage.folders import contents, unchanged
from tests.unit.engine.storage.programs import run_program
from tests.unit.engine.storage.tables import create, get, names, put


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "things.db"


@pytest.fixture
def filled(path: Path) -> Path:
    """Return a file with data that was closed cleanly."""
    with Engine.open(path) as engine:
        create(engine)
        for number in range(40):
            put(engine, f"thing-{number}", text={"S": "x" * 500})
    return path


def test_a_new_file_is_created_and_can_be_reopened(path: Path) -> None:
    with Engine.open(path) as engine:
        create(engine)
        put(engine, "one")
    with Engine.open(path) as engine:
        assert names(engine) == {"one"}
    assert contents(path.parent).keys() == {path.name}, "a closed file has no log beside it"


def test_an_empty_file_is_treated_as_a_new_one(path: Path) -> None:
    path.touch()
    with Engine.open(path) as engine:
        create(engine)
        assert engine.verify() == []


@pytest.mark.parametrize(
    "name",
    ["a b", "ünïcode ☃", "100%25", "q?mode=ro&x#y", "file:x.db", "line\nbreak", "-wal", "'\"", "~"],
)
def test_a_path_is_used_literally(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Engine.open(name) as engine:
        create(engine)
        assert engine.path == name
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_path_must_name_a_file() -> None:
    with pytest.raises(OptionInvalid, match="path"):
        Engine.open("")
    with pytest.raises(OptionInvalid, match="path"):
        Engine.open("a\0b")


@pytest.mark.parametrize(
    "content",
    [
        b"Dear reader, " * 400,
        b"x",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
        b"SQLite format 3",
        b"SQLite format 3\0" + b"\xff" * 2_000,
        bytes(10_000),
    ],
    ids=["text", "one byte", "image", "magic alone", "magic and rubbish", "zeros"],
)
def test_a_file_of_another_kind_is_refused_and_left_unchanged(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with unchanged(path.parent), pytest.raises((FileNotKeyfold, FileDamaged)) as refused:
        Engine.open(path)
    assert str(path) in str(refused.value)


# More than the cache holds, so that part is in the file and the rest in a journal.
UNFINISHED = """
CREATE TABLE t (x); INSERT INTO t VALUES (1); PRAGMA cache_size = 1; BEGIN;
INSERT INTO t SELECT randomblob(900) FROM (
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i FROM n)
"""

FOREIGN = """
import os, sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute(sys.argv[2]).fetchall()
os._exit(0)
"""


@pytest.mark.parametrize(
    "statements",
    [
        "CREATE TABLE t (x); INSERT INTO t VALUES (1)",
        "PRAGMA user_version = 3; CREATE TABLE metadata (x)",
        "PRAGMA application_id = 77",
        "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)",
        "CREATE TABLE t (x); PRAGMA journal_mode = WAL; INSERT INTO t VALUES (1)",
        UNFINISHED,
    ],
    ids=["tables", "same names", "another id", "all in its log", "log", "unfinished"],
)
def test_another_programs_database_is_refused_and_left_unchanged(
    path: Path, statements: str
) -> None:
    # As if killed: only that program may recover what is in its log or journal.
    run_program(FOREIGN, path, statements)
    with unchanged(path.parent), pytest.raises(FileNotKeyfold, match="another program's"):
        Engine.open(path)


def test_a_newer_format_is_refused_and_left_unchanged(filled: Path) -> None:
    run_program(FOREIGN, filled, "PRAGMA journal_mode = DELETE; PRAGMA user_version = 4")
    with (
        unchanged(filled.parent),
        pytest.raises(FileNewer, match=r"format 4, this version reads 3\. Upgrade") as refused,
    ):
        Engine.open(filled)
    assert refused.value.code == "file-newer"


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_format_is_refused_and_left_unchanged(filled: Path, version: int) -> None:
    run_program(FOREIGN, filled, f"PRAGMA journal_mode = DELETE; PRAGMA user_version = {version}")
    expected = rf"format {version}, this version reads 3\. .*keyfold dump.*keyfold load"
    with unchanged(filled.parent), pytest.raises(FileOlder, match=expected) as refused:
        Engine.open(filled)
    assert refused.value.code == "file-older"


def test_a_newer_format_with_a_log_is_refused_and_left_unchanged(filled: Path) -> None:
    run_program(
        FOREIGN, filled, "PRAGMA user_version = 4; PRAGMA journal_mode = WAL; CREATE TABLE t (x)"
    )
    with unchanged(filled.parent), pytest.raises(FileNewer):
        Engine.open(filled)


def test_a_truncated_file_is_refused_and_left_unchanged(filled: Path) -> None:
    whole = filled.read_bytes()
    (page_size,) = struct.unpack(">H", whole[16:18])
    lengths = {1, 15, 16, 99, 100, 101, page_size - 1, page_size, page_size + 1, len(whole) - 1}
    lengths |= set(range(1, len(whole), len(whole) // 40)) | set(
        range(page_size, len(whole), page_size)
    )
    for length in sorted(lengths):
        filled.write_bytes(whole[:length])
        with unchanged(filled.parent), pytest.raises((FileDamaged, FileNotKeyfold)):
            Engine.open(filled)
    filled.write_bytes(whole)
    with Engine.open(filled) as engine:
        assert len(names(engine)) == 40


def test_a_missing_folder_is_reported_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(FileUnreachable, match="folder is missing"):
        Engine.open(tmp_path / "nowhere" / "things.db")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnreachable, match="not a file"):
        Engine.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


# Permissions do not apply to root, so the program switches to another user first.
UNPRIVILEGED = """
import os, sys
from keyfold.engine import Engine
from keyfold.errors import KeyfoldError
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
try:
    Engine.open(sys.argv[1])
    print("opened")
except KeyfoldError as error:
    print(error.code, error)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are POSIX's")
@pytest.mark.parametrize(
    ("file_mode", "folder_mode"),
    [(0o444, 0o755), (0o444, 0o777), (0o666, 0o555), (0o000, 0o777), (0o666, 0o000)],
)
def test_a_read_only_file_or_folder_is_refused_and_left_unchanged(
    filled: Path, file_mode: int, folder_mode: int
) -> None:
    for folder in list(filled.parents)[:3]:
        # pytest's folders are private; the other user needs access to them.
        if folder.owner() == filled.owner() and folder != filled.parent:
            folder.chmod(folder.stat().st_mode | 0o011)
    with unchanged(filled.parent):
        filled.chmod(file_mode)
        filled.parent.chmod(folder_mode)
        try:
            printed = run_program(UNPRIVILEGED, filled)
        finally:
            filled.parent.chmod(0o755)
            filled.chmod(0o644)
    assert printed.startswith("file-unreachable"), printed
    assert str(filled) in printed


def test_one_file_may_be_opened_twice_in_one_process(filled: Path) -> None:
    with Engine.open(filled) as first, Engine.open(filled) as second:
        put(first, "from the first")
        put(second, "from the second")
        assert get(first, "from the second") is not None
        assert get(second, "from the first") is not None
        second.close()
        put(first, "after")
        assert first.verify() == []
    with pytest.raises(EngineClosed):
        get(second, "after")


def test_a_link_to_a_file_is_followed(filled: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(filled)
    with Engine.open(link) as engine, Engine.open(filled) as other:
        put(engine, "by the link")
        put(other, "by the name")
        assert names(engine) == names(other)
    assert link.is_symlink()


def test_every_file_error_names_the_file_and_has_a_code(path: Path) -> None:
    path.write_text("x")
    with pytest.raises(KeyfoldError) as refused:
        Engine.open(path)
    assert str(refused.value).endswith(f"[{refused.value.code}]")
    assert isinstance(refused.value, OSError)


def test_a_new_file_has_metadata_and_an_epoch(path: Path) -> None:
    Engine.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()
    assert [name for name, _ in found] == ["metadata", "epoch"]
    assert " ".join(found[0][1].split()) == (
        "CREATE TABLE metadata (kind TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL, "
        "PRIMARY KEY (kind, name)) WITHOUT ROWID"
    )
