"""Copies of whole files: backups while a file is in use, and restores."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from keyfold.engine import Engine, backup_file, restore_file
from keyfold.engine.storage import checkpoints
from keyfold.errors import (
    BackupFailed,
    FileFailed,
    FileInUse,
    FileNotKeyfold,
    FileReplaced,
    FileTaken,
    FileUnreachable,
    LogMismatch,
)
from tests.unit.engine.storage.folders import unchanged
from tests.unit.engine.storage.tables import create, get, names, put

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a closed file with one item."""
    path = tmp_path / "shop.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        put(engine, "first")
    return path


def read(path: Path) -> set[str]:
    with Engine.open(path, upkeep_seconds=None) as engine:
        assert engine.verify() == []
        return names(engine)


def kill_after(path: Path, *items: str) -> None:
    """Write items in a process that is killed, so that they are only in the log."""
    program = (
        "import os, sys\n"
        "from keyfold.engine import Engine\n"
        "from tests.unit.engine.storage.tables import put\n"
        "engine = Engine.open(sys.argv[1], upkeep_seconds=None)\n"
        "for name in sys.argv[2:]: put(engine, name)\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path), *items], cwd=ROOT, check=True)
    assert path.with_name(path.name + "-wal").stat().st_size > 0


def test_a_backup_has_what_is_only_in_the_log(path: Path, tmp_path: Path) -> None:
    with Engine.open(path, upkeep_seconds=None) as engine:
        put(engine, "second")
        copy = backup_file(path, tmp_path / "copy.db")
        put(engine, "third")
    assert copy == (tmp_path / "copy.db", (tmp_path / "copy.db").stat().st_size)
    assert {file.name for file in tmp_path.iterdir()} == {"shop.db", "copy.db"}
    assert read(tmp_path / "copy.db") == {"first", "second"}
    assert read(path) == {"first", "second", "third"}


def test_a_backup_is_of_one_moment_while_others_write(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keyfold.engine.file_copies._SLICE_PAGES", 1)
    stop = threading.Event()
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        written: list[str] = []

        def write() -> None:
            while not stop.is_set():
                name = f"{len(written):06}"
                put(engine, name, text={"S": "x" * 500})
                written.append(name)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(3):
                backup_file(path, tmp_path / f"copy-{number}.db")
        finally:
            stop.set()
            writer.join()
    for number in range(3):
        found = sorted(read(tmp_path / f"copy-{number}.db") - {"first"})
        # A beginning of what was written: nothing later is there without all that was before.
        assert found == [f"{place:06}" for place in range(len(found))]


def test_an_existing_target_is_kept_unless_asked(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    backup_file(path, target)
    with unchanged(tmp_path), pytest.raises(FileTaken):
        backup_file(path, target)
    with Engine.open(path, upkeep_seconds=None) as engine:
        put(engine, "second")
    backup_file(path, target, overwrite=True)
    assert read(target) == {"first", "second"}
    with unchanged(tmp_path), pytest.raises(FileTaken):
        backup_file(path, path, overwrite=True)


def test_a_restore_replaces_the_file_and_its_log(path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    backup_file(path, backup)
    kill_after(path, "second", "third")
    before = backup.read_bytes()
    restore_file(backup, path)
    assert {file.name for file in tmp_path.iterdir()} == {"shop.db", "backup.db"}
    assert read(path) == {"first"}
    assert backup.read_bytes() == before


def test_a_restore_needs_no_file_in_place(path: Path, tmp_path: Path) -> None:
    restore_file(path, tmp_path / "new.db")
    assert read(tmp_path / "new.db") == {"first"}
    # A log without its file is that of something else.
    (tmp_path / "other.db-wal").write_bytes(b"left over")
    restore_file(path, tmp_path / "other.db")
    assert read(tmp_path / "other.db") == {"first"}


def test_a_backup_put_in_place_by_hand_beside_a_log_is_refused(path: Path, tmp_path: Path) -> None:
    kill_after(path, "second")
    backup = tmp_path / "backup.db"
    backup_file(path, backup)
    kill_after(path, "third")
    path.write_bytes(backup.read_bytes())
    with pytest.raises(LogMismatch):
        Engine.open(path)
    restore_file(backup, path)
    assert read(path) == {"first", "second"}


def test_a_file_in_use_is_replaced_only_by_force(path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    backup_file(path, backup)
    with Engine.open(path, upkeep_seconds=None) as engine:
        put(engine, "second")
        with pytest.raises(FileInUse, match=r"has it open.*\[file-in-use\]"):
            restore_file(backup, path)
        with pytest.raises(FileInUse):
            backup_file(backup, path, overwrite=True)
        put(engine, "third")
        assert get(engine, "third") is not None
        restore_file(backup, path, force=True)
        with pytest.raises(FileReplaced):
            put(engine, "fourth")
    assert read(path) == {"first"}


IN_USE = """
import sys
from keyfold.engine import Engine
with Engine.open(sys.argv[1], upkeep_seconds=None) as engine:
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_file_that_another_process_has_open_is_in_use(path: Path, tmp_path: Path) -> None:
    backup_file(path, tmp_path / "backup.db")
    other = subprocess.Popen(
        [sys.executable, "-c", IN_USE, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(FileInUse):
            restore_file(tmp_path / "backup.db", path)
    restore_file(tmp_path / "backup.db", path)


def test_a_file_of_another_kind_is_replaced_only_by_force(path: Path, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear reader, " * 1_000)
    with unchanged(tmp_path), pytest.raises(FileNotKeyfold):
        restore_file(path, letter)
    restore_file(path, letter, force=True)
    assert read(letter) == {"first"}


def test_a_damaged_backup_is_refused_and_nothing_changes(path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    backup_file(path, backup)
    content = bytearray(backup.read_bytes())
    place = content.index(b'{"pk":{"S":"first"}}')
    content[place : place + 4] = b"oops"
    backup.write_bytes(content)
    with unchanged(tmp_path), pytest.raises(BackupFailed, match=r"row .* cannot be read"):
        restore_file(backup, path)
    with unchanged(tmp_path), pytest.raises(BackupFailed):
        backup_file(backup, tmp_path / "other.db")


@pytest.mark.parametrize("content", [None, b"", b"Dear reader, " * 1_000])
def test_a_source_must_be_a_database(tmp_path: Path, content: bytes | None) -> None:
    source = tmp_path / "source.db"
    if content is not None:
        source.write_bytes(content)
    for copy in (backup_file, restore_file):
        with unchanged(tmp_path), pytest.raises((FileUnreachable, FileNotKeyfold)):
            copy(source, tmp_path / "target.db")


def test_a_missing_folder_is_an_error(path: Path, tmp_path: Path) -> None:
    for copy in (backup_file, restore_file):
        with pytest.raises(FileFailed, match="No such file"):
            copy(path, tmp_path / "nowhere" / "copy.db")


class Crash(Exception):
    pass


def crash(*_: object, **__: object) -> None:
    raise Crash


@pytest.mark.parametrize(
    ("place", "is_replaced"),
    [
        ("keyfold.engine.file_copies._copy_pages", False),
        ("keyfold.engine.file_copies._check_copy", False),
        ("keyfold.engine.file_copies._sync", False),
        ("pathlib.Path.replace", False),
        ("keyfold.engine.file_copies._sync_folder", True),
    ],
)
def test_a_restore_that_ends_halfway_mixes_nothing(
    path: Path, tmp_path: Path, place: str, is_replaced: bool
) -> None:
    backup = tmp_path / "backup.db"
    backup_file(path, backup)
    kill_after(path, "second")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, crash)
        with pytest.raises(Crash):
            restore_file(backup, path)
    assert not [file for file in tmp_path.iterdir() if "partial" in file.name]
    if is_replaced:
        with pytest.raises(LogMismatch):
            Engine.open(path)
    else:
        assert read(path) == {"first", "second"}
    restore_file(backup, path)
    assert read(path) == {"first"}


def test_copies_keep_the_mode_of_a_file(path: Path, tmp_path: Path) -> None:
    path.chmod(0o640)
    backup_file(path, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    restore_file(tmp_path / "copy.db", path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_is_followed(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with Engine.open(link, upkeep_seconds=None) as engine:
        put(engine, "second")
        checkpoints._checkpoint(engine._storage._connection)
        put(engine, "third")
        backup_file(link, tmp_path / "copy.db")
    restore_file(tmp_path / "copy.db", link)
    assert link.is_symlink()
    assert read(path) == {"first", "second", "third"}


def test_the_copies_of_a_read_only_folder_fail(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    copies: list[Callable[..., object]] = [backup_file, restore_file]
    for copy in copies:
        with unchanged(tmp_path), pytest.raises(FileFailed, match="Permission denied"):
            copy(path, tmp_path / "copy.db")


def test_a_read_only_backup_can_be_restored(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    backup_file(path, kept / "monday.db")
    (kept / "monday.db").chmod(0o444)

    def refuse(*_: object) -> bool:
        # Root may write everything, so the answer is given here.
        return False

    monkeypatch.setattr(os, "access", refuse)
    with unchanged(kept):
        restore_file(kept / "monday.db", tmp_path / "new.db")
    monkeypatch.undo()
    assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o644
    assert read(tmp_path / "new.db") == {"first"}
