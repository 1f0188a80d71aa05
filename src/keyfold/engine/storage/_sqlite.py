"""Rows in SQLite: one file, several processes, commits shared by those who wait."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import apsw

from keyfold.engine._loading import IMPORTING
from keyfold.engine.storage._checkpoints import Checkpointer
from keyfold.engine.storage._connections import (
    BusyWait,
    Durability,
    SqliteConnection,
    copy_memory,
    open_connection,
    open_reader,
    translate,
)
from keyfold.engine.storage._protocol import (
    Page,
    Row,
    RowSet,
    SharingFailed,
    Span,
    StorageReader,
    StorageWriter,
)
from keyfold.engine.storage._snapshots import HeldMoment
from keyfold.engine.storage._view import Entries, View
from keyfold.errors import EngineClosed, EngineForked, FileDamaged, KeyfoldError

T = TypeVar("T")


class _Ticket:
    """One piece of work that waits for a commit, and what came of it."""

    __slots__ = ("error", "is_done", "result", "work")

    def __init__(self, work: Callable[[StorageWriter], Any]) -> None:
        self.work = work
        self.is_done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def finish(self, error: BaseException | None) -> None:
        if not self.is_done:
            self.error = error or self.error
            self.is_done = True


class SqliteStorage:
    """Storage in an SQLite file, or in memory.

    One connection does all writing, and the reading of whoever finds it free. A thread that
    finds it taken, by a commit that waits for the disk, reads by a second one.
    """

    def __init__(
        self,
        path: str,
        durability: Durability,
        *,
        busy_seconds: float = 5.0,
        vfs: str | None = None,
    ) -> None:
        _check_not_inherited(path)
        self._path = path
        self.durability: Durability = durability
        self._busy_seconds = busy_seconds
        self._vfs = vfs
        self._connection = open_connection(path, durability, busy_seconds=busy_seconds, vfs=vfs)
        self._busy_wait = BusyWait(busy_seconds)
        self._connection.set_busy_handler(self._busy_wait)
        self._view = View(self._connection)
        # The thread whose writes share one commit at the moment.
        self._sharing: int | None = None
        # Whether a transaction is open in which several reads share one view of the file.
        self._is_holding = False
        self._is_spoiled = False
        self._lock: threading.Lock | _ForkedLock = threading.Lock()
        # Who may read beside a commit: one at a time, so that a fork finds nobody inside SQLite.
        self._shared_lock = threading.Lock()
        # Who may read at length: one at a time too.
        self._apart = threading.Lock()
        self._waiting: deque[_Ticket] = deque()
        self._in_file = durability != "memory"
        self._side: View | None = None
        self._moments: list[HeldMoment] = []
        self._checkpointer = Checkpointer(self._open_reader)
        if not self._in_file:
            # Memory has no log.
            self._checkpointer.due_pages = sys.maxsize
        _OPEN.add(self)

    def get(self, rows: RowSet, key: bytes) -> Row | None:
        lock = self._lock
        if lock.acquire(not self._in_file):
            try:
                return self._view.get(rows, key)
            except apsw.Error as error:
                raise translate(error, self._path) from error
            finally:
                lock.release()
        return self._read_shared(lambda reader: reader.get(rows, key))

    def read_span(self, rows: RowSet, span: Span, *, limit: int, max_bytes: int) -> Page:
        lock = self._lock
        if lock.acquire(not self._in_file):
            try:
                return self._view.read_span(rows, span, limit=limit, max_bytes=max_bytes)
            except apsw.Error as error:
                raise translate(error, self._path) from error
            finally:
                lock.release()
        return self._read_shared(
            lambda reader: reader.read_span(rows, span, limit=limit, max_bytes=max_bytes)
        )

    def read_values(
        self, rows: RowSet, span: Span, *, limit: int, max_bytes: int
    ) -> list[bytes] | None:
        lock = self._lock
        if lock.acquire(not self._in_file):
            try:
                return self._view.read_values(rows, span, limit=limit, max_bytes=max_bytes)
            except apsw.Error as error:
                raise translate(error, self._path) from error
            finally:
                lock.release()
        return None

    def put(self, rows: RowSet, key: bytes, value: bytes, size: int, entries: Entries) -> None:
        lock = self._lock
        if not lock.acquire(False):  # noqa: FBT003 - a lock's signature
            # Somebody commits: wait in the queue, to share the next commit with the others.
            self.write(lambda writer: writer.put(rows, key, value, size, entries))
            return
        # Each statement commits by itself, and the last decides alone: no BEGIN is needed.
        try:
            if self._is_holding:
                self._let_go()
            view = self._view
            view.put(rows, key, value, size, entries)
            if view.written_pages >= self._checkpointer.due_pages:
                self._checkpointer.look(self._connection, view.written_pages)
        except apsw.Error as error:
            raise translate(error, self._path) from error
        finally:
            lock.release()

    def put_if(
        self,
        rows: RowSet,
        key: bytes,
        value: bytes,
        size: int,
        entries: Entries,
        holds: Callable[[bytes | None], bool],
    ) -> bool:
        lock = self._lock
        if not lock.acquire(False):  # noqa: FBT003 - a lock's signature
            return self.write(lambda writer: writer.put_if(rows, key, value, size, entries, holds))
        try:
            if self._is_holding:
                self._let_go()
            view = self._view
            is_put = view.put_if(rows, key, value, size, entries, holds)
            if view.written_pages >= self._checkpointer.due_pages:
                self._checkpointer.look(self._connection, view.written_pages)
        except apsw.Error as error:
            raise translate(error, self._path) from error
        finally:
            lock.release()
        return is_put

    def read(self, work: Callable[[StorageReader], T], *, is_long: bool = False) -> T:
        lock = self._lock
        if is_long and self._in_file:
            return self._read_apart(work)
        if lock.acquire(not self._in_file):
            try:
                if self._is_holding:
                    self._let_go()
                return self._read_once(self._view, work)
            finally:
                lock.release()
        return self._read_shared(work)

    def write(self, work: Callable[[StorageWriter], T]) -> T:
        lock = self._lock
        if not self._waiting and lock.acquire(False):  # noqa: FBT003 - a lock's signature
            try:
                return self._write_alone(work)
            finally:
                lock.release()
        if self._sharing == threading.get_ident():
            return self._write_shared(work)
        ticket = _Ticket(work)
        self._waiting.append(ticket)
        try:
            with lock:
                if not ticket.is_done:
                    self._commit_waiting()
        except BaseException:
            # An interrupt while it waited: work that nobody waits for must not be done later.
            with suppress(ValueError):
                self._waiting.remove(ticket)
            raise
        if ticket.error is not None:
            raise ticket.error
        return ticket.result

    @contextmanager
    def hold_moment(self) -> Generator[HeldMoment]:
        # Memory has one connection, so its moment is a copy: pages, copied as they are.
        with self._lock:
            if self._is_holding:
                self._let_go()
            try:
                connection = self._open_reader() if self._in_file else copy_memory(self._connection)
                moment = HeldMoment(View(connection), self._path)
            except apsw.Error as error:
                raise translate(error, self._path) from error
            self._moments.append(moment)
        try:
            yield moment
        finally:
            moment.close()
            with suppress(ValueError):
                self._moments.remove(moment)

    @contextmanager
    def shared_commit(self) -> Generator[None]:
        if not self._in_file:
            # A commit to memory costs nothing that would be worth sharing.
            yield
            return
        view = self._view
        try:
            with self._lock:
                if self._is_holding:
                    self._let_go()
                try:
                    view.begin("BEGIN IMMEDIATE")
                    self._sharing, self._is_spoiled = threading.get_ident(), False
                    yield
                    if self._is_spoiled:
                        raise SharingFailed
                    view.commit()
                finally:
                    self._sharing = None
                    view.roll_back()
                if view.written_pages >= self._checkpointer.due_pages:
                    self._checkpointer.look(self._connection, view.written_pages)
        except apsw.Error as error:
            raise translate(error, self._path) from error

    def hold_view(self) -> None:
        lock = self._lock
        if not self._in_file or not lock.acquire(False):  # noqa: FBT003 - a lock's signature
            return
        try:
            if not self._is_holding:
                self._view.begin("BEGIN")
                self._is_holding = True
        except apsw.Error as error:
            raise translate(error, self._path) from error
        finally:
            lock.release()

    def release_view(self) -> None:
        if self._is_holding:
            with self._lock:
                self._let_go()

    def _let_go(self) -> None:
        self._is_holding = False
        self._view.roll_back()

    def use_clock(self, clock: Callable[[], float]) -> None:
        self._view.clock = clock

    @contextmanager
    def without_waiting(self) -> Generator[None]:
        self._busy_wait.is_allowed = False
        try:
            yield
        finally:
            self._busy_wait.is_allowed = True

    def check_structure(self) -> list[str]:
        return self.read(lambda reader: reader.check_structure(), is_long=True)

    def close(self) -> None:
        lock = self._lock
        if isinstance(lock, _ForkedLock):
            return
        self._checkpointer.stop()
        with lock, self._shared_lock, self._apart:
            self._lock = _ForkedLock(EngineClosed(self._path))
            _OPEN.discard(self)
            if self._side is not None:
                self._side.close()
            while self._moments:
                self._moments.pop().close()
            # Last, so that closing folds the log into the file.
            self._view.close()

    def locks(self) -> Iterator[threading.Lock]:
        """Return the locks that whoever is inside SQLite for this storage holds one of."""
        if not isinstance(self._lock, _ForkedLock):
            yield self._lock
        # Whoever has taken the first one keeps new moments from being held.
        yield from [moment.lock for moment in self._moments]
        yield from (self._shared_lock, self._apart, self._checkpointer.lock)

    def disown(self) -> None:
        """Leave everything alone, in a process that inherited this by a fork.

        SQLite's connections must be neither used nor closed there, so they are kept from
        ever being freed.
        """
        self._lock = _ForkedLock(EngineForked(self._path))
        # These are held by threads that this process does not have.
        self._shared_lock, self._apart = threading.Lock(), threading.Lock()
        self._checkpointer.lock = threading.Lock()
        with suppress(OSError):
            _INHERITED.add(_identity(self._path))
        import ctypes  # noqa: PLC0415 - for this alone, and it takes two milliseconds

        moments = [moment.disown() for moment in self._moments]
        self._moments.clear()
        for view in (self._view, self._side, *moments):
            if view is not None:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(view))

    def _write_alone(self, work: Callable[[StorageWriter], T]) -> T:
        """Do one piece of work that nobody else waits with; the caller holds the lock."""
        view = self._view
        try:
            if self._is_holding:
                self._let_go()
            try:
                view.begin("BEGIN IMMEDIATE")
                result = work(view)
                view.commit()
            except BaseException:
                # After an interrupt too, no transaction may stay open.
                view.roll_back()
                raise
            if view.written_pages >= self._checkpointer.due_pages:
                self._checkpointer.look(self._connection, view.written_pages)
        except apsw.Error as error:
            raise translate(error, self._path) from error
        return result

    def _write_shared(self, work: Callable[[StorageWriter], T]) -> T:
        """Do one piece of work in the transaction that this thread has open."""
        view = self._view
        before = view.written_pages
        try:
            if self._is_spoiled:
                raise SharingFailed
            return work(view)
        except BaseException as error:
            if view.written_pages != before or not view.is_in_transaction:
                # It left traces, or SQLite has undone everything: a failing disk does that.
                self._is_spoiled = True
                raise SharingFailed from error
            if isinstance(error, apsw.Error):
                raise translate(error, self._path) from error
            raise

    def _commit_waiting(self) -> None:
        """Do all the work that waits, in one transaction; the caller holds the lock."""
        batch: list[_Ticket] = []
        while self._waiting:
            batch.append(self._waiting.popleft())
        if isinstance(self._lock, _ForkedLock):
            # Closed while these waited.
            for ticket in batch:
                ticket.finish(EngineClosed(self._path))
            return
        try:
            spoiled = self._run_together(batch)
            if spoiled:
                # One failed after it had written. Its traces went with the transaction, and the
                # others' work too: each is done again by itself.
                for ticket in batch:
                    if ticket is not spoiled:
                        self._run_together([ticket])
            if self._view.written_pages >= self._checkpointer.due_pages:
                self._checkpointer.look(self._connection, self._view.written_pages)
        except BaseException:
            # An interrupt of this thread: what is not done goes back for the others to do.
            self._waiting.extendleft(ticket for ticket in reversed(batch) if not ticket.is_done)
            raise

    def _run_together(self, batch: list[_Ticket]) -> _Ticket | None:
        """Run and commit `batch`; return the ticket that spoiled it, if one did."""
        view = self._view
        is_committing = False
        if self._is_holding:
            self._let_go()
        try:
            view.begin("BEGIN IMMEDIATE")
            for ticket in batch:
                before = view.written_pages
                ticket.error = None
                try:
                    ticket.result = ticket.work(view)
                except Exception as error:  # noqa: BLE001 - whatever it is, its caller gets it
                    ticket.error = error
                    if isinstance(error, apsw.Error):
                        ticket.error = translate(error, self._path)
                    if view.written_pages != before or not view.is_in_transaction:
                        # It left traces, or SQLite has undone everything: a failing disk does
                        # that.
                        ticket.finish(None)
                        return ticket
            is_committing = True
            view.commit()
        except apsw.Error as error:
            view.roll_back()
            for ticket in batch:
                ticket.finish(translate(error, self._path))
        finally:
            if is_committing and not view.is_in_transaction:
                # Also when an interrupt comes right after the commit: what is done is done, and
                # must not be done again.
                for ticket in batch:
                    ticket.finish(None)
            view.roll_back()
        return None

    def _read_shared(self, work: Callable[[StorageReader], T]) -> T:
        with self._shared_lock:
            if isinstance(self._lock, _ForkedLock):
                self._lock.acquire()
            if self._side is None:
                self._side = View(self._open_reader())
            return self._read_once(self._side, work)

    def _read_apart(self, work: Callable[[StorageReader], T]) -> T:
        """Run a long read by a connection of its own, so that nobody waits for it."""
        with self._apart:
            if isinstance(self._lock, _ForkedLock):
                self._lock.acquire()
            view = View(self._open_reader())
            try:
                return self._read_once(view, work)
            finally:
                view.close()

    def _read_once(self, view: View, work: Callable[[StorageReader], T]) -> T:
        try:
            try:
                view.begin("BEGIN")
                return work(view)
            finally:
                view.roll_back()
        except apsw.Error as error:
            raise translate(error, self._path) from error
        except UnicodeDecodeError as error:
            raise FileDamaged(self._path, "a name cannot be read") from error

    def _open_reader(self) -> SqliteConnection:
        return open_reader(self._path, busy_seconds=self._busy_seconds, vfs=self._vfs)


class _ForkedLock:
    """Stands in for the lock of a storage that may not be used any more."""

    def __init__(self, error: KeyfoldError) -> None:
        self._error = error

    def acquire(self, blocking: bool = True) -> NoReturn:  # noqa: ARG002, FBT001, FBT002 - a lock's signature
        raise self._error

    def release(self) -> None:
        """Nothing was acquired."""

    __enter__ = acquire

    def __exit__(self, *exception: object) -> None:
        """Nothing was acquired."""


_OPEN: weakref.WeakSet[SqliteStorage] = weakref.WeakSet()


# Files that were open when this process was forked off. SQLite still has their locks in its
# tables, though this process does not hold them: a new connection would go without.
_INHERITED: set[tuple[int, int]] = set()


def _identity(path: str) -> tuple[int, int]:
    status = Path(path).stat()
    return status.st_dev, status.st_ino


def _check_not_inherited(path: str) -> None:
    if _INHERITED:
        with suppress(OSError):
            if _identity(path) in _INHERITED:
                raise EngineForked(path)


_held_for_fork: list[threading.Lock] = []


def _wait_for_quiet() -> None:
    """Wait until no thread is inside SQLite: its own locks would stay taken in the child."""
    for storage in list(_OPEN):
        for lock in storage.locks():
            lock.acquire()
            _held_for_fork.append(lock)
    # Last, since whoever is inside SQLite may yet have to import.
    IMPORTING.acquire()
    _held_for_fork.append(IMPORTING)


def _go_on() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release()


def _disown_all() -> None:
    _held_for_fork.clear()
    IMPORTING.release()
    for storage in list(_OPEN):
        storage.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_quiet, after_in_parent=_go_on, after_in_child=_disown_all)
