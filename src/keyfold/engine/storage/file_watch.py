"""Noticing that a database file was deleted, replaced or truncated while it is open."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

from keyfold.engine.storage.connections import APPLICATION_ID, HEADER_BYTES, SqliteConnection
from keyfold.engine.storage.epochs import (
    Epoch,
    FileStart,
    LogFile,
    belongs,
    find_epoch_page,
    new_epoch,
    read_epoch,
    read_file_start,
    write_epoch,
)
from keyfold.engine.storage.protocol import Durability
from keyfold.errors import FileReplaced

# A check costs a few microseconds, nothing beside a durable commit, but a tenth of another one.
_PAUSE_SECONDS: dict[Durability, float] = {"durable": 0.0, "process": 0.005}

# Not Path.stat, which takes twice as long.
_stat = os.stat

_OVERWRITTEN = "it was overwritten with another copy"

_FileId = tuple[int, int]


class _KnownEpoch(NamedTuple):
    """What is known of a file's epoch. Threads that hold no lock see all of it, or none."""

    # The first bytes of the log in which the epoch was read.
    log_start: bytes
    # None if it cannot be read.
    epoch: Epoch | None
    # Whether the log has an epoch of its own, so that this one holds as long as the log does.
    is_stamped: bool
    # The epoch that was last found in the file itself.
    file_epoch: Epoch | None = None


class FileWatch:
    """Compares a file, its log and the log's index with those that were opened.

    The caller holds the lock that excludes other commits, except for `find_fault`.
    """

    def __init__(
        self,
        path: str,
        vfs: str | None,
        connection: SqliteConnection,
        durability: Durability,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._vfs = path, vfs
        self._monotonic = monotonic
        self._pause_seconds = _PAUSE_SECONDS[durability]
        # SQLite resolves links, and puts the log beside the file itself.
        self._real_path = real_path = os.path.realpath(path)
        self._beside = (f"{real_path}-wal", f"{real_path}-shm")
        # When the file was changed, as last seen. Only checkpoints change it.
        status = _stat(real_path)
        self._changed_at, self._size_bytes = status.st_mtime_ns, status.st_size
        # This read opens the log and its index.
        self._epoch_page = find_epoch_page(connection)
        # Changes with every commit of other connections.
        self._data_version = _read_data_version(connection)
        self._ids = {name: _file_id(_stat(name)) for name in (real_path, *self._beside)}
        self._log = LogFile(self._beside[0], vfs)
        # The log is read first, here and below: should another process begin a new one meanwhile,
        # nothing is known of that one.
        log_start = self._log.read_start()
        self._known = self._know(log_start, read_epoch(connection))
        # The time from which `check` is due.
        self.due_at = 0.0

    def check(self, connection: SqliteConnection) -> None:
        """Raise FileReplaced if the file, or one beside it, is not the one that was opened."""
        if self._pause_seconds:
            self.due_at = self._monotonic() + self._pause_seconds
        status = self._check_ids()
        if status.st_mtime_ns != self._changed_at or status.st_size != self._size_bytes:
            self._check_content(connection, status)

    def find_fault(self) -> FileReplaced | None:
        """Return the error of `check`, as far as it can be found without a transaction."""
        known = self._known
        try:
            status = self._check_ids()
            if status.st_mtime_ns != self._changed_at or status.st_size != self._size_bytes:
                start = self._read_file()
                # Read last: if the log is the same now, it was when the file was read.
                if known.is_stamped and self._log.read_start() == known.log_start:
                    self._check_known(start, known)
        except FileReplaced as fault:
            return fault
        except (apsw.Error, OSError):
            # Unreadable for another reason, which the next read or write reports.
            return None
        return None

    def stamp_log(self, connection: SqliteConnection) -> None:
        """Write a new epoch if the log, to which the caller has just committed, has none."""
        try:
            if self._log.read_start() != self._known.log_start or not self._known.is_stamped:
                self._stamp(connection)
        except apsw.Error:
            # Busy, or the disk fails: the next commit tries again. Without an epoch, a log is
            # replayed all the same.
            return

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def _check_ids(self) -> os.stat_result:
        """Raise FileReplaced if a name leads to another file; return the status of the main file."""
        ids = self._ids
        try:
            status = _stat(self._real_path)
            if _file_id(status) != ids[self._real_path]:
                raise self._fault("it was replaced by another file")
            for name in self._beside:
                if _file_id(_stat(name)) != ids[name]:
                    raise self._fault(f"{Path(name).name} was replaced by another file")
        except (FileNotFoundError, NotADirectoryError) as error:
            name = error.filename
            subject = "it" if name == self._real_path else Path(name).name
            raise self._fault(f"{subject} was deleted or moved") from error
        return status

    def _check_content(self, connection: SqliteConnection, status: os.stat_result) -> None:
        """Check a file that was changed: by a checkpoint, or by something else."""
        # First without SQLite: reading what was cut off, through a memory map, ends the process.
        known, start = self._known, self._read_file()
        data_version = _read_data_version(connection)
        if self._log.read_start() == known.log_start:
            if known.is_stamped:
                self._check_known(start, known)
            elif not known.log_start and data_version == self._data_version:
                # There is no log: nobody has written anything.
                self._require_epoch(start, known.epoch)
        connection.execute("BEGIN")
        try:
            log_start = self._log.read_start()
            shown, start = read_epoch(connection), self._read_file()
        finally:
            connection.execute("ROLLBACK")
        if not belongs(start.epoch, shown):
            raise self._fault(_OVERWRITTEN)
        self._known = self._know(log_start, shown, start.epoch)
        self._data_version = data_version
        self._changed_at, self._size_bytes = status.st_mtime_ns, status.st_size

    def _read_file(self) -> FileStart:
        if _stat(self._real_path).st_size < HEADER_BYTES:
            raise self._fault("it was truncated")
        start = read_file_start(self._real_path, self._vfs, self._epoch_page, APPLICATION_ID)
        if not start.is_ours:
            raise self._fault("its header was overwritten")
        # The size is read after the header, since a checkpoint may be extending the file. Only
        # VACUUM makes a file shorter, and its header then says so.
        size_bytes = _stat(self._real_path).st_size
        if size_bytes < self._size_bytes and size_bytes < start.size_bytes:
            raise self._fault("it was truncated")
        return start

    def _check_known(self, start: FileStart, known: _KnownEpoch) -> None:
        """Compare the file with the known epoch, which holds as long as the log is the same."""
        if not belongs(start.epoch, known.epoch):
            raise self._fault(_OVERWRITTEN)
        if known.file_epoch == known.epoch:
            # A checkpoint has copied the log's epoch: nothing can bring the one before back.
            self._require_epoch(start, known.epoch)

    def _require_epoch(self, start: FileStart, epoch: Epoch | None) -> None:
        if None not in (start.epoch, epoch) and start.epoch != epoch:
            raise self._fault(_OVERWRITTEN)

    def _stamp(self, connection: SqliteConnection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            log_start, shown = self._log.read_start(), read_epoch(connection)
            # Another process may have done it meanwhile. A damaged epoch is left to `verify`.
            if shown is not None and not self._log.has_epoch(log_start, shown, self._epoch_page):
                # No epoch in this log so far: the one that SQLite shows is the file's own.
                shown = new_epoch(shown.number, self._log.find_salts(log_start))
                write_epoch(connection, shown)
                connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        # If the epoch itself began a new log, the next commit finds out.
        self._known = _KnownEpoch(log_start, shown, is_stamped=True)

    def _know(
        self, log_start: bytes, epoch: Epoch | None, file_epoch: Epoch | None = None
    ) -> _KnownEpoch:
        is_stamped = epoch is None or self._log.has_epoch(log_start, epoch, self._epoch_page)
        return _KnownEpoch(log_start, epoch, is_stamped, file_epoch)

    def _fault(self, fact: str) -> FileReplaced:
        return FileReplaced(self._path, fact)


def _read_data_version(connection: SqliteConnection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchall()[0][0])


def _file_id(status: os.stat_result) -> _FileId:
    return status.st_dev, status.st_ino
