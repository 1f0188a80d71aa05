"""Copies of whole database files: backups while a file is in use, and putting them back."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, cast

import apsw

from keyfold.engine.storage import SqliteStorage, require_file
from keyfold.engine.storage.connections import (
    SqliteConnection,
    check_header,
    open_connection,
    translated,
)
from keyfold.engine.storage.epochs import new_epoch, write_epoch
from keyfold.engine.verify import verify
from keyfold.errors import BackupFailed, FileFailed, FileInUse, FileTaken, KeyfoldError

# 4 MB: a slice takes a few milliseconds, after which an interrupt is noticed.
_SLICE_PAGES = 1_024
_BUSY_SECONDS = 5.0
_OWNER_MODE = 0o600


class FileCopy(NamedTuple):
    """A copy that was made of a database file."""

    path: Path
    size_bytes: int


def backup_file(
    file: str | os.PathLike[str], target: str | os.PathLike[str], *, overwrite: bool = False
) -> FileCopy:
    """Copy a database file, which may be in use, to `target`, and verify the copy.

    The copy has the state of one moment. Writers go on meanwhile, in any process. `target` appears
    only once the copy is complete, checked and on the disk. It replaces an earlier file only with
    `overwrite`.

    Raises FileTaken, FileInUse, BackupFailed if the copy is damaged, or another file error.
    """
    source, goal = Path(file), _resolve(target)
    require_file(source)
    with _file_errors(goal):
        if goal.exists() and (not overwrite or goal.samefile(source)):
            raise FileTaken(str(target))
        return _copy(source, goal, force=False)


def restore_file(
    backup: str | os.PathLike[str], file: str | os.PathLike[str], *, force: bool = False
) -> FileCopy:
    """Put a copy of `backup` in the place of `file`, which may exist; verify it before.

    The write-ahead log of the old file is removed with it. A file that is open in a process, or
    that is not a Keyfold database, is replaced only with `force`: processes that have it open then
    raise FileReplaced, until they open it again. `backup` is not changed.

    Raises FileInUse, FileNotKeyfold, BackupFailed if the backup is damaged, or another file error.
    """
    source, goal = Path(backup), _resolve(file)
    require_file(source)
    with _file_errors(goal):
        if goal.exists() and goal.samefile(source):
            raise FileTaken(str(file))
        if goal.exists() and not force:
            check_header(str(goal), None)
            with _hold_exclusively(goal):
                # Fails before the work of copying, and is repeated after it.
                pass
        return _copy(source, goal, force=force)


@contextmanager
def _file_errors(path: Path) -> Generator[None]:
    """Raise the errors of the operating system as FileFailed."""
    try:
        yield
    except OSError as error:
        if isinstance(error, KeyfoldError):
            raise
        raise FileFailed(str(path), error.strerror or str(error)) from error


def _resolve(path: str | os.PathLike[str]) -> Path:
    # SQLite follows links, and has the log beside the file itself. So is the copy put there.
    return Path(os.path.realpath(path))


def _copy(source: Path, target: Path, *, force: bool) -> FileCopy:
    connection = _open_source(source)
    try:
        with _new_file(target) as partial:
            _copy_pages(connection, source, partial)
            _check_copy(source, partial)
            # The file keeps its mode, and a new one gets that of its source. Its owner may write it,
            # even if the source is a backup that nobody may.
            mode = (target if target.exists() else source).stat().st_mode & 0o777
            partial.chmod(mode | _OWNER_MODE)
            _sync(partial)
            _put_in_place(partial, target, force=force)
            return FileCopy(target, target.stat().st_size)
    finally:
        connection.close()


def _open_source(source: Path) -> SqliteConnection:
    """Return a connection to a file to copy, which may be read-only if it has no log."""
    real_path = _resolve(source)
    may_write = os.access(real_path, os.W_OK) and os.access(real_path.parent, os.W_OK)
    log = _beside(real_path, "-wal")
    if may_write or (log.exists() and log.stat().st_size > 0):
        return open_connection(str(source), "durable", busy_seconds=_BUSY_SECONDS)
    check_header(str(source), None)
    with translated(str(source)):
        # Without files beside it, which SQLite could not create.
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        opened = apsw.Connection(f"{real_path.as_uri()}?immutable=1", flags=flags)
    return cast(SqliteConnection, opened)


@contextmanager
def _new_file(target: Path) -> Generator[Path]:
    """Create an empty file beside `target`, which only its owner may read; remove it at the end."""
    partial = target.with_name(f".{target.name}.{os.urandom(4).hex()}.partial")
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield partial
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            _beside(partial, ending).unlink(missing_ok=True)


def _copy_pages(connection: SqliteConnection, source: Path, partial: Path) -> None:
    """Copy all pages as of one moment, and give the copy an epoch of its own."""
    with translated(str(partial)):
        copied = cast(SqliteConnection, apsw.Connection(str(partial)))
        try:
            # The file is synced once, at the end.
            copied.execute("PRAGMA synchronous = OFF")
            with translated(str(source)):
                # A transaction of our own: without it, every write of another process would make
                # SQLite begin the copy again.
                connection.execute("BEGIN")
                connection.execute("SELECT 1 FROM metadata LIMIT 1").fetchall()
            try:
                with copied.backup("main", connection, "main") as backup:
                    while not backup.done:
                        backup.step(_SLICE_PAGES)
            finally:
                connection.execute("ROLLBACK")
            # Without a log, so that the copy is one file.
            copied.execute("PRAGMA journal_mode = DELETE")
            copied.execute("BEGIN IMMEDIATE")
            write_epoch(copied, new_epoch())
            copied.execute("COMMIT")
        finally:
            copied.close()


def _check_copy(source: Path, partial: Path) -> None:
    storage = SqliteStorage(str(partial), "process")
    try:
        problems = verify(storage)
    finally:
        storage.close()
    if problems:
        more = f"; and {len(problems) - 1} more problems" if len(problems) > 1 else ""
        raise BackupFailed(str(source), f"{problems[0]}{more}")


def _put_in_place(partial: Path, target: Path, *, force: bool) -> None:
    """Rename a complete copy to `target`, and remove the log of the file that it replaces.

    After a crash at any point, either the old file is there with its log, or the new one with or
    without the old log, which is refused because of its epoch; putting it in place again helps.
    """
    with ExitStack() as locks:
        if not force and target.exists():
            locks.enter_context(_hold_exclusively(target))
        # Nobody can open the new file before the old log is gone.
        locks.enter_context(_hold_exclusively(partial))
        # A journal has no epoch: it would be rolled back into the new file.
        _beside(target, "-journal").unlink(missing_ok=True)
        partial.replace(target)
        _sync_folder(target.parent)
        for ending in ("-wal", "-shm"):
            _beside(target, ending).unlink(missing_ok=True)
        _sync_folder(target.parent)


@contextmanager
def _hold_exclusively(path: Path) -> Generator[None]:
    """Lock a file so that nobody can use it; raise FileInUse if somebody has it open."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_MAIN_DB
    with translated(str(path)):
        # SQLite's own locks: whoever has a file in WAL mode open holds a shared one.
        file = apsw.VFSFile("", str(path), [flags, 0])
    try:
        try:
            file.xLock(apsw.SQLITE_LOCK_SHARED)
            file.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
        except apsw.BusyError:
            advice = "Stop the processes that use it, such as servers"
            raise FileInUse(str(path), f"a process has it open. {advice}") from None
        yield
    finally:
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):
        # Windows has no way to sync a folder.
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
