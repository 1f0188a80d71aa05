"""Opening a database file: checks of its format, SQLite's settings, and translation of errors."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, Self, cast

import apsw

from keyfold.engine.storage.epochs import (
    belongs,
    ensure_epoch,
    find_epoch_page,
    has_epoch,
    read_epoch,
    read_file_start,
)
from keyfold.engine.storage.protocol import Durability, RowsChanged
from keyfold.errors import (
    EngineClosed,
    FileBusy,
    FileDamaged,
    FileFailed,
    FileNewer,
    FileNotKeyfold,
    FileOlder,
    FileUnreachable,
    KeyfoldError,
    LogMismatch,
)

Binding = bytes | int | float | str | None


class Cursor(Protocol):
    """The part of apsw's cursor that is used here; apsw's own types need Python 3.12."""

    def execute(self, statements: str, bindings: tuple[Binding, ...] = ..., /) -> Cursor: ...
    def fetchall(self) -> list[tuple[Any, ...]]: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def close(self) -> None: ...


class Backup(Protocol):
    """The part of apsw's backup (a copy from one connection to another) that is used here."""

    def step(self, npages: int = ..., /) -> bool: ...
    @property
    def done(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> bool | None: ...


class SqliteConnection(Protocol):
    """The part of apsw's connection that is used here."""

    def backup(
        self, databasename: str, sourceconnection: Any, sourcedatabasename: str, /
    ) -> Backup: ...

    def cursor(self) -> Cursor: ...
    def execute(self, statements: str, bindings: tuple[Binding, ...] = ..., /) -> Cursor: ...
    def changes(self) -> int: ...
    @property
    def in_transaction(self) -> bool: ...
    def config(self, op: int, /, *args: int) -> int: ...
    def readonly(self, name: str, /) -> bool: ...
    def wal_autocheckpoint(self, n: int, /) -> None: ...
    def wal_checkpoint(self, dbname: str | None = ..., mode: int = ...) -> tuple[int, int]: ...
    def set_wal_hook(self, callable: Callable[[Any, str, int], int] | None, /) -> None: ...  # noqa: A002 - apsw's name
    def set_busy_handler(self, callable: Callable[[int], bool] | None, /) -> None: ...  # noqa: A002
    def create_scalar_function(
        self,
        name: str,
        callable: Callable[[bytes], bool] | None,  # noqa: A002
        numargs: int = ...,
        /,
    ) -> None: ...
    def close(self, force: bool = ..., /) -> None: ...  # noqa: FBT001 - apsw's signature


# "KYFD": distinguishes our files from other SQLite databases, also for the `file` command.
APPLICATION_ID = 0x4B594644
# The format of a file. Formats 1 and 2 ordered partitions by another hash.
FORMAT = 3

MMAP_BYTES = 2_147_418_112
# Small on purpose: pages are read by mmap, and a large cache makes commits slower.
CACHE_KIB = 8_192

HEADER_BYTES = 100
_JOURNAL_START = bytes.fromhex("d9d505f920a163d7")

_CREATE_METADATA = """
CREATE TABLE metadata (kind TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL,
                       PRIMARY KEY (kind, name)) WITHOUT ROWID
"""


def open_connection(
    path: str, durability: Durability, *, busy_seconds: float, vfs: str | None = None
) -> SqliteConnection:
    """Open `path` for reading and writing; create the file if it does not exist.

    Raises one of the file errors, without having changed the file, if it is not a Keyfold
    database or cannot be used.
    """
    with translated(path):
        if durability != "memory":
            try:
                check_header(path, vfs)
            except OSError as error:
                if isinstance(error, KeyfoldError):
                    raise
                raise FileUnreachable(path, error.strerror or "it cannot be read") from error
        connection = _connect(path, busy_seconds=busy_seconds, vfs=vfs)
        try:
            if durability != "memory":
                # If the file is rejected by the checks below, its log must stay as it was.
                keeps_log = int(_has_log_or_journal(path))
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps_log)
                _check_file(connection, path)
                if keeps_log:
                    _check_log(connection, path, vfs)
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            _create_metadata(connection, path)
            _configure(connection, durability, BusyWait(busy_seconds))
        except BaseException:
            connection.close(True)  # noqa: FBT003 - apsw's signature
            raise
    return connection


def open_reader(path: str, *, busy_seconds: float, vfs: str | None = None) -> SqliteConnection:
    """Open another connection to a file that is already open, for reads or checkpoints."""
    with translated(path):
        connection = _connect(path, busy_seconds=busy_seconds, vfs=vfs)
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        _set_up_file(connection)
    return connection


def copy_memory(connection: SqliteConnection) -> SqliteConnection:
    """Copy an in-memory database; return a connection to the copy."""
    copied = cast(SqliteConnection, apsw.Connection(":memory:"))
    with copied.backup("main", connection, "main") as backup:
        while not backup.done:
            backup.step()
    return copied


def _connect(path: str, *, busy_seconds: float, vfs: str | None) -> SqliteConnection:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    opened = apsw.Connection(path, flags=flags, vfs=vfs, statementcachesize=256)
    connection = cast(SqliteConnection, opened)
    connection.set_busy_handler(BusyWait(busy_seconds))
    # Without this, SQLite prepares a statement again whenever the value of its LIMIT changes.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


class BusyWait:
    """A busy handler that polls often, so that a busy writer cannot starve others.

    SQLite's own handler backs off to a tenth of a second, during which another process commits
    hundreds of times.
    """

    __slots__ = ("_deadline", "_seconds", "impatient", "is_over")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = 0.0
        # The thread that must not block, such as that of an event loop; the others wait.
        self.impatient: int | None = None
        # Whether no thread waits any longer.
        self.is_over = False

    def __call__(self, attempt: int) -> bool:
        now = time.monotonic()
        if attempt == 0:
            self._deadline = now + self._seconds
        elif now >= self._deadline:
            return False
        if self.is_over or self.impatient == threading.get_ident():
            return False
        time.sleep(random.uniform(0.0002, 0.002))  # noqa: S311 - jitter, not a secret
        return True


def require_file(path: str | os.PathLike[str]) -> None:
    """Raise FileUnreachable if the file does not exist, FileNotKeyfold if it is empty.

    Opening would create a database in either case, which callers that only read do not want.
    """
    # The methods of Path raise an error if the folder may not be searched.
    if not os.path.exists(path):  # noqa: PTH110
        raise FileUnreachable(str(path), "there is no such file")
    if os.path.isfile(path) and os.path.getsize(path) == 0:  # noqa: PTH113, PTH202
        raise FileNotKeyfold(str(path), "it is empty")


def check_header(path: str, vfs: str | None) -> None:
    """Raise one of the file errors unless the file is a Keyfold database, empty, or missing.

    This runs before SQLite opens the file: merely opening and closing another program's database
    could fold its log into it. The header is read through SQLite's own file layer, since closing
    a file descriptor of ours would drop the locks that this process may hold on the file.
    """
    file = Path(path)
    if not file.exists():
        return
    if not file.is_file():
        raise FileUnreachable(path, "it is not a file")
    size = file.stat().st_size
    if size == 0 or _was_empty(path):
        return
    header = b"" if size < HEADER_BYTES else _read_header(path, vfs)
    if not header.startswith(b"SQLite format 3\0"):
        raise FileNotKeyfold(path, "it is not a Keyfold database")

    def number_at(offset: int) -> int:
        return int.from_bytes(header[offset : offset + 4], "big")

    application_id, version = number_at(68), number_at(60)
    if application_id == 0 and number_at(40) == 0 and not _has_log_or_journal(path):
        # A database without a schema is still empty. One with a log or a journal may not be, and
        # is not ours: our files have the application id in the header before they have a log.
        return
    if application_id != APPLICATION_ID:
        raise FileNotKeyfold(path, "it is another program's SQLite database")
    _check_version(path, version)


def _check_version(path: str, version: int) -> None:
    # A file that is still empty has format 0.
    if version not in (0, FORMAT):
        error = FileNewer if version > FORMAT else FileOlder
        raise error(path, f"it has format {version}, this version reads {FORMAT}")


def _was_empty(path: str) -> bool:
    """Return whether a journal shows that the file had no pages when its last change began.

    A power loss while a file is being created leaves it half written beside such a journal, with
    which SQLite empties it again.
    """
    try:
        with Path(_beside(path, "-journal")).open("rb") as file:
            start = file.read(20)
    except FileNotFoundError:
        return False
    return start[:8] == _JOURNAL_START and start[16:20] == bytes(4)


def _has_log_or_journal(path: str) -> bool:
    return _size_of(_beside(path, "-wal")) > 0 or _size_of(_beside(path, "-journal")) > 0


def _beside(path: str, ending: str) -> str:
    """Return the name of a file that SQLite puts beside a database: it follows links first."""
    return os.path.realpath(path) + ending


def _size_of(path: str) -> int:
    """Return the length of a file that another process may be creating or removing."""
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return 0


def _read_header(path: str, vfs: str | None) -> bytes:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB
    # At this level, SQLite does not follow links.
    file = apsw.VFSFile(vfs or "", os.path.realpath(path), [flags, 0])
    try:
        return bytes(file.xRead(HEADER_BYTES, 0))
    finally:
        file.xClose()


def _check_file(connection: SqliteConnection, path: str) -> None:
    if connection.readonly("main"):
        raise FileUnreachable(path, "it is read-only, or its folder is")
    # The log may hold a newer version than the header.
    _check_version(path, _pragma(connection, "user_version"))
    # While pages are only in the write-ahead log, a short file is normal.
    if _size_of(_beside(path, "-wal")) > 0:
        return
    expected = _pragma(connection, "page_count") * _pragma(connection, "page_size")
    actual = Path(path).stat().st_size
    if actual < expected:
        raise FileDamaged(path, f"it has {actual:,} bytes and should have {expected:,}")


def _check_log(connection: SqliteConnection, path: str, vfs: str | None) -> None:
    """Raise LogMismatch if the log beside a file certainly belongs to another state of it."""
    # One transaction for both reads: no other process can begin a log meanwhile.
    connection.execute("BEGIN")
    try:
        if not has_epoch(connection):
            return
        real_path = os.path.realpath(path)
        start = read_file_start(real_path, vfs, find_epoch_page(connection), APPLICATION_ID)
        if not belongs(start.epoch, read_epoch(connection)):
            advice = f"If this copy is the right one, remove {path}-wal and {path}-shm"
            raise LogMismatch(path, f"{advice}, or put it in place with `keyfold restore`.")
    finally:
        connection.execute("ROLLBACK")


def _create_metadata(connection: SqliteConnection, path: str) -> None:
    if _pragma(connection, "application_id") == APPLICATION_ID and has_epoch(connection):
        return
    # This happens before the file has a write-ahead log, so that the header identifies it as
    # ours from the start.
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have created the metadata while this one waited for the lock.
    if _pragma(connection, "application_id") != APPLICATION_ID:
        if connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall():
            connection.execute("ROLLBACK")
            raise FileNotKeyfold(path, "it is another program's SQLite database")
        connection.execute(_CREATE_METADATA)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    ensure_epoch(connection)
    connection.execute("COMMIT")


def _configure(
    connection: SqliteConnection, durability: Durability, wait: Callable[[int], bool]
) -> None:
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    connection.execute("PRAGMA temp_store = MEMORY")
    if durability == "memory":
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        return
    _use_log(connection, wait)
    level = "FULL" if durability == "durable" else "NORMAL"
    connection.execute(f"PRAGMA synchronous = {level}")
    _set_up_file(connection)
    if sys.platform == "darwin":
        # On macOS, fsync alone leaves the data in the drive's cache.
        connection.execute(f"PRAGMA fullfsync = {int(durability == 'durable')}")


def _set_up_file(connection: SqliteConnection) -> None:
    """Apply the settings that every connection to a file needs."""
    connection.execute(f"PRAGMA mmap_size = {MMAP_BYTES}")
    connection.wal_autocheckpoint(0)
    if sys.platform == "darwin":
        connection.execute("PRAGMA checkpoint_fullfsync = 1")


def _use_log(connection: SqliteConnection, wait: Callable[[int], bool]) -> None:
    """Switch to a write-ahead log, retrying while another process does the same."""
    attempt = 0
    while True:
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchall() == [("wal",)]:
                return
        except apsw.BusyError:
            # SQLite does not call the busy handler for this statement.
            if not wait(attempt):
                raise
        else:
            if not wait(attempt):
                raise apsw.BusyError
        attempt += 1


def _pragma(connection: SqliteConnection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchall()[0][0])


@contextmanager
def translated(path: str) -> Generator[None]:
    """Raise SQLite's errors as errors of ours, as `translate` maps them."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error, path) from error


def translate(error: apsw.Error, path: str) -> KeyfoldError | RowsChanged:
    """Return the error of ours that an SQLite error stands for."""
    detail = str(error).partition(": ")[2] or str(error)
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return FileBusy(path, "another process kept it locked for too long")
        case apsw.ConnectionClosedError() | apsw.CursorClosedError():
            return EngineClosed(path)
        case apsw.CantOpenError():
            return FileUnreachable(path, "its folder is missing or may not be written")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return FileUnreachable(path, "it is read-only, or its folder is")
        case apsw.CorruptError() | apsw.NotADBError():
            return FileDamaged(path, detail)
        case apsw.FullError():
            return FileFailed(path, "the disk is full")
        case apsw.IOError():
            return FileFailed(path, f"the disk failed ({detail})")
        case apsw.SchemaChangeError():
            # The statement was prepared before another process changed the table.
            return RowsChanged()
        case apsw.SQLError() if "no such table" in str(error) or "no such index" in str(error):
            return RowsChanged()
        case _:
            return FileFailed(path, detail)
