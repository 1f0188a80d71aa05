"""Epochs: which write-ahead log belongs to which state of a file.

SQLite replays any valid log that it finds beside a file. If someone copied another state of the
database over the file meanwhile, that mixes the rows of both. So the file has an epoch, a random
number in a one-row table, and every log starts a new one.

A log begins anew once everything in the log before is in the file. Soon after a log has begun, and
before a durable write in it is acknowledged, one transaction writes a new epoch, together with the
previous one. So in the file itself, without its log, there can be only two epochs, whenever the
power fails: the previous one, or the log's own, once a checkpoint has copied it. Any other epoch
is that of another state, and the log does not belong to it.

A log without an epoch of its own is replayed: there, SQLite shows the epoch of the file itself. So
is a log beside a file whose epoch cannot be read, such as after a torn write. The table has a page
of its own, and the row is always the last thing on it. No older row can be left over anywhere on
the page, and the row is in one sector.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Protocol
from zlib import crc32

import apsw

CREATE_EPOCH = "CREATE TABLE epoch (id INTEGER PRIMARY KEY, body BLOB NOT NULL)"

_MAGIC = b"KFEP"
_HEADER_BYTES = 100
_NUMBER_BYTES = 8
_SUM_BYTES = 4
_BODY_BYTES = len(_MAGIC) + 3 * _NUMBER_BYTES + _SUM_BYTES


class Epoch(NamedTuple):
    """The epoch of a file: its number, the number before it, and the salts of the log it is in."""

    number: bytes
    previous: bytes
    log: bytes


def new_epoch(previous: bytes | None = None, log: bytes = bytes(_NUMBER_BYTES)) -> Epoch:
    """Return a new epoch; without a previous one, no log but its own belongs to the file."""
    number = os.urandom(_NUMBER_BYTES)
    return Epoch(number, number if previous is None else previous, log)


def render_epoch(epoch: Epoch) -> bytes:
    """Return an epoch as the bytes that are stored."""
    body = _MAGIC + epoch.number + epoch.previous + epoch.log
    assert len(body) == _BODY_BYTES - _SUM_BYTES
    return body + crc32(body).to_bytes(_SUM_BYTES, "big")


def parse_epoch(body: object) -> Epoch | None:
    """Return the epoch that was stored as these bytes; None if they are no epoch."""
    if not isinstance(body, bytes) or len(body) != _BODY_BYTES or body[:4] != _MAGIC:
        return None
    if crc32(body[:-_SUM_BYTES]).to_bytes(_SUM_BYTES, "big") != body[-_SUM_BYTES:]:
        return None
    return Epoch(body[4:12], body[12:20], body[20:28])


class _Rows(Protocol):
    def fetchall(self) -> list[tuple[Any, ...]]: ...


class EpochConnection(Protocol):
    """The part of a connection to a file that is used here."""

    def execute(self, statements: str, bindings: tuple[bytes, ...] = ..., /) -> _Rows: ...


class FileStart(NamedTuple):
    """What a file itself says, without its log."""

    is_ours: bool
    # The size that the file should have at least, by its header.
    size_bytes: int
    # None if it cannot be read, such as after a torn write.
    epoch: Epoch | None


def ensure_epoch(connection: EpochConnection) -> None:
    """Give a file an epoch if it has none; the caller is in a transaction."""
    if not has_epoch(connection):
        connection.execute(CREATE_EPOCH)
        connection.execute("INSERT INTO epoch VALUES (1, ?)", (render_epoch(new_epoch()),))


def has_epoch(connection: EpochConnection) -> bool:
    """Return whether the file has a table for its epoch."""
    return bool(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'epoch'").fetchall())


def read_epoch(connection: EpochConnection) -> Epoch | None:
    """Return the epoch that SQLite shows, from the log if it has one; None if it is damaged."""
    found = connection.execute("SELECT body FROM epoch WHERE id = 1").fetchall()
    return parse_epoch(found[0][0]) if found else None


def write_epoch(connection: EpochConnection, epoch: Epoch) -> None:
    """Store an epoch; the caller is in a transaction."""
    # An update in place: the row stays at the end of its page.
    connection.execute("UPDATE epoch SET body = ? WHERE id = 1", (render_epoch(epoch),))


def find_epoch_page(connection: EpochConnection) -> int:
    """Return the number of the page that holds the epoch."""
    query = "SELECT rootpage FROM sqlite_schema WHERE name = 'epoch'"
    ((page,),) = connection.execute(query).fetchall()
    return int(page)


def read_file_start(path: str, vfs: str | None, epoch_page: int, application_id: int) -> FileStart:
    """Return what the file itself says, by its header and its epoch.

    Reads through SQLite's file layer: closing a file descriptor of ours would drop the locks that
    this process holds on the file.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB
    file = apsw.VFSFile(vfs or "", path, [flags, 0])
    try:
        header = bytes(file.xRead(_HEADER_BYTES, 0))
        page_bytes = int.from_bytes(header[16:18], "big") or 4_096
        if page_bytes == 1:
            # How SQLite writes 65,536 in two bytes.
            page_bytes = 65_536
        end = epoch_page * page_bytes
        body = bytes(file.xRead(_BODY_BYTES, end - _BODY_BYTES))
    finally:
        file.xClose()
    is_ours = header[:16] == b"SQLite format 3\0" and header[68:72] == application_id.to_bytes(
        4, "big"
    )
    pages = int.from_bytes(header[28:32], "big")
    return FileStart(is_ours, pages * page_bytes, parse_epoch(body))


class LogFile:
    """The write-ahead log beside a file, opened to tell one log from the next."""

    # The header, with the log's salts, and the number of the page in the first frame.
    _START_BYTES = 36
    _SALTS = slice(16, 24)
    _FIRST_PAGE = slice(32, 36)

    def __init__(self, path: str, vfs: str | None) -> None:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_WAL
        self._file = apsw.VFSFile(vfs or "", path, [flags, 0])

    def read_start(self) -> bytes:
        """Return the first bytes of the log, which differ from those of any other log."""
        return bytes(self._file.xRead(self._START_BYTES, 0))

    def has_epoch(self, start: bytes, epoch: Epoch, epoch_page: int) -> bool:
        """Return whether a log has an epoch of its own, given the epoch that SQLite shows.

        Its number is the log's own if it names the log's salts. Or the log began with it: then it
        names the salts of the log before, since they change when a log begins.
        """
        first_page = int.from_bytes(start[self._FIRST_PAGE], "big")
        return epoch.log == start[self._SALTS] or first_page == epoch_page

    def find_salts(self, start: bytes) -> bytes:
        """Return the salts of a log, by its first bytes; zeros if it is empty.

        It is if another process has just emptied it, after a checkpoint.
        """
        return start[self._SALTS].ljust(_NUMBER_BYTES, b"\0")

    def close(self) -> None:
        """Close the log."""
        self._file.xClose()


def belongs(file_epoch: Epoch | None, shown: Epoch | None) -> bool:
    """Return False if a file's log certainly does not belong to it.

    `file_epoch` is the epoch in the file itself, `shown` the one that SQLite shows. Both are read
    in one read transaction, during which no log can begin.
    """
    if file_epoch is None or shown is None:
        return True
    return file_epoch.number in (shown.number, shown.previous)
