"""Storage in SQLite: one file for several processes, with group commit for waiting threads."""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, NoReturn, TypeVar

import apsw

from keyfold.clocks import Clock
from keyfold.engine.storage.checkpoints import Checkpointer
from keyfold.engine.storage.connections import (
    BusyWait,
    SqliteConnection,
    copy_memory,
    open_connection,
    open_reader,
    translate,
)
from keyfold.engine.storage.file_watch import FileWatch
from keyfold.engine.storage.forks import OPEN_STORAGES, check_not_inherited, note_inherited
from keyfold.engine.storage.protocol import (
    Durability,
    Entries,
    Holds,
    Page,
    Row,
    RowSet,
    SharingFailed,
    Span,
    StorageReader,
    StorageWriter,
)
from keyfold.engine.storage.readers import ReaderPool
from keyfold.engine.storage.snapshots import HeldSnapshot
from keyfold.engine.storage.view import View
from keyfold.errors import (
    EngineClosed,
    EngineForked,
    FileBusy,
    FileDamaged,
    FileFailed,
    FileReplaced,
    KeyfoldError,
)

T = TypeVar("T")

_log = logging.getLogger("keyfold.engine")


class _Ticket:
    """One unit of work that waits for a commit, and its outcome."""

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

    One connection does all writes, and reads when it is free. A thread that finds it in use, such
    as by a commit that waits for the disk, reads through a second connection. Long reads take
    connections of a pool.
    """

    def __init__(
        self,
        path: str,
        durability: Durability,
        *,
        busy_seconds: float = 5.0,
        vfs: str | None = None,
    ) -> None:
        check_not_inherited(path)
        self._path = path
        self.durability: Durability = durability
        self._busy_seconds = busy_seconds
        self._vfs = vfs
        self._connection = open_connection(path, durability, busy_seconds=busy_seconds, vfs=vfs)
        self._busy_wait = BusyWait(busy_seconds)
        self._connection.set_busy_handler(self._busy_wait)
        self._view = View(self._connection)
        # The thread whose writes currently share one commit.
        self._sharing: int | None = None
        # Whether a read transaction is open that several reads share.
        self._is_view_held = False
        self._must_roll_back = False
        self._mutex = threading.Lock()
        # Normally the lock above. Once this storage is unusable, it raises the reason.
        self._lock: threading.Lock | _UnusableLock = self._mutex
        self._is_closed = False
        # Reads during a commit take turns, so that a fork can wait until no thread is inside
        # SQLite.
        self._secondary_lock = threading.Lock()
        self._readers = ReaderPool(self._open_pooled)
        self._waiting: deque[_Ticket] = deque()
        self._in_file = durability != "memory"
        self._secondary_view: View | None = None
        self._snapshots: list[HeldSnapshot] = []
        self._checkpointer = Checkpointer(self._open_reader, self._find_fault)
        self._watch: FileWatch | None = None
        if self._in_file:
            self._watch = self._open_watch()
        else:
            # A database in memory has no log.
            self._checkpointer.due_pages = sys.maxsize
        OPEN_STORAGES.add(self)

    def get(self, rows: RowSet, key: bytes) -> Row | None:
        lock = self._lock
        if lock.acquire(not self._in_file):
            try:
                return self._view.get(rows, key)
            except apsw.Error as error:
                raise self._translate(error) from error
            finally:
                lock.release()
        return self._read_secondary(lambda reader: reader.get(rows, key))

    def read_span(self, rows: RowSet, span: Span, *, limit: int, max_bytes: int) -> Page:
        lock = self._lock
        if lock.acquire(not self._in_file):
            try:
                return self._view.read_span(rows, span, limit=limit, max_bytes=max_bytes)
            except apsw.Error as error:
                raise self._translate(error) from error
            finally:
                lock.release()
        return self._read_secondary(
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
                raise self._translate(error) from error
            finally:
                lock.release()
        return None

    def put(
        self,
        rows: RowSet,
        key: bytes,
        value: bytes,
        size: int,
        entries: Entries,
        holds: Holds | None = None,
    ) -> bool:
        lock = self._lock
        if not lock.acquire(False):  # noqa: FBT003 - a lock's signature
            # Another thread is committing: wait in the queue, to share the next commit.
            return self.write(lambda writer: writer.put(rows, key, value, size, entries, holds))
        # Each statement is a transaction, and at most one of them writes: no BEGIN is needed.
        try:
            if self._is_view_held:
                self._end_held_view()
            watch, view = self._watch, self._view
            if watch is not None and monotonic() >= watch.due_at:
                self._check_file()
                is_put = view.put(rows, key, value, size, entries, holds)
                self._after_commit(is_watched=True)
                return is_put
            is_put = view.put(rows, key, value, size, entries, holds)
            if view.written_pages >= self._checkpointer.due_pages:
                self._checkpointer.check_log(self._connection, view.written_pages)
        except apsw.Error as error:
            raise self._translate(error) from error
        finally:
            lock.release()
        return is_put

    def read(self, work: Callable[[StorageReader], T], *, is_long: bool = False) -> T:
        lock = self._lock
        if is_long and self._in_file:
            return self._run_long_read(work)
        if lock.acquire(not self._in_file):
            try:
                if self._is_view_held:
                    self._end_held_view()
                return self._run_read(self._view, work)
            finally:
                lock.release()
        return self._read_secondary(work)

    def write(self, work: Callable[[StorageWriter], T]) -> T:
        lock = self._lock
        if not self._waiting and lock.acquire(False):  # noqa: FBT003 - a lock's signature
            try:
                return self._write_alone(work)
            finally:
                lock.release()
        if self._sharing == threading.get_ident():
            return self._write_shared(work)
        if self._in_file and self._busy_wait.impatient == threading.get_ident():
            # Another thread may be waiting for another process, or wants this one to commit for it.
            raise FileBusy(self._path, "another thread is writing")
        ticket = _Ticket(work)
        self._waiting.append(ticket)
        try:
            with lock:
                if not ticket.is_done:
                    self._commit_waiting()
        except BaseException:
            # Interrupted while waiting: the work has no caller any more and must not run later.
            with suppress(ValueError):
                self._waiting.remove(ticket)
            raise
        if ticket.error is not None:
            raise ticket.error
        return ticket.result

    @contextmanager
    def hold_snapshot(self) -> Generator[HeldSnapshot]:
        # A database in memory has only one connection, so its snapshot is a copy, page by page.
        with self._lock:
            try:
                connection = self._open_reader() if self._in_file else copy_memory(self._connection)
                snapshot = HeldSnapshot(View(connection), self._path)
            except apsw.Error as error:
                raise self._translate(error) from error
            self._snapshots.append(snapshot)
        try:
            yield snapshot
        finally:
            snapshot.close()
            with suppress(ValueError):
                self._snapshots.remove(snapshot)

    @contextmanager
    def shared_commit(self) -> Generator[None]:
        if not self._in_file:
            # A commit in memory is too cheap to be worth sharing.
            yield
            return
        view, lock = self._view, self._lock
        if not lock.acquire(self._busy_wait.impatient != threading.get_ident()):
            raise FileBusy(self._path, "another thread is writing")
        try:
            try:
                is_watched = self._before_write()
                try:
                    view.begin("BEGIN IMMEDIATE")
                    self._sharing, self._must_roll_back = threading.get_ident(), False
                    yield
                    if self._must_roll_back:
                        raise SharingFailed
                    view.commit()
                finally:
                    self._sharing = None
                    view.roll_back()
                self._after_commit(is_watched=is_watched)
            finally:
                lock.release()
        except apsw.Error as error:
            raise self._translate(error) from error

    def hold_view(self) -> None:
        lock = self._lock
        # An unusable storage raises its error in the reads themselves.
        if not self._in_file or isinstance(lock, _UnusableLock):
            return
        if not lock.acquire(False):  # noqa: FBT003 - a lock's signature
            return
        try:
            if not self._is_view_held:
                self._view.begin("BEGIN")
                self._is_view_held = True
        except apsw.Error as error:
            raise self._translate(error) from error
        finally:
            lock.release()

    def release_view(self) -> None:
        if self._is_view_held:
            with self._mutex:
                self._end_held_view()

    def _end_held_view(self) -> None:
        self._is_view_held = False
        self._view.roll_back()

    def use_clock(self, clock: Clock) -> None:
        self._view.clock = clock

    @contextmanager
    def without_waiting(self) -> Generator[None]:
        self._busy_wait.impatient = threading.get_ident()
        try:
            yield
        finally:
            self._busy_wait.impatient = None

    def close(self) -> None:
        if self._is_closed:
            return
        # Whoever waits for another process gets FileBusy now.
        self._busy_wait.is_over = True
        self._checkpointer.stop()
        with self._mutex, self._secondary_lock:
            self._is_closed = True
            self._find_fault()
            self._lock = _UnusableLock(EngineClosed(self._path))
            OPEN_STORAGES.discard(self)
            self._readers.close()
            if self._watch is not None:
                self._watch.close()
            if self._secondary_view is not None:
                self._secondary_view.close()
            while self._snapshots:
                self._snapshots.pop().close()
            # Closed last: SQLite folds the log into the file when the last connection closes.
            self._view.close()

    def locks(self) -> Iterator[threading.Lock]:
        """Return all locks of this storage; a thread inside SQLite holds at least one of them."""
        yield self._mutex
        # No snapshot can be added meanwhile: that needs the first lock, which the caller holds.
        yield from [snapshot.lock for snapshot in self._snapshots]
        yield from (self._secondary_lock, self._checkpointer.lock)
        yield from self._readers.locks()

    def disown(self) -> None:
        """Make this storage unusable, in a process that inherited it by a fork.

        SQLite's connections must be neither used nor closed there, so they are kept from
        ever being freed.
        """
        self._is_closed = True
        self._lock = _UnusableLock(EngineForked(self._path))
        # The old locks are held by threads that this process does not have.
        self._secondary_lock = threading.Lock()
        self._checkpointer.lock = threading.Lock()
        note_inherited(self._path)
        import ctypes  # noqa: PLC0415 - needed only here, and the import takes two milliseconds

        views = [snapshot.disown() for snapshot in self._snapshots] + self._readers.disown()
        self._snapshots.clear()
        for each in (self._view, self._secondary_view, self._watch, *views):
            if each is not None:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))

    def check_file(self) -> None:
        """Raise FileReplaced if the file was deleted, replaced or truncated since it was opened."""
        if self._find_fault() is not None or isinstance(self._lock, _UnusableLock):
            self._lock.acquire()

    def _open_watch(self) -> FileWatch:
        try:
            return FileWatch(self._path, self._vfs, self._connection, self.durability)
        except BaseException as error:
            self._view.close()
            if isinstance(error, apsw.Error):
                raise translate(error, self._path) from error
            if isinstance(error, FileNotFoundError):
                raise FileReplaced(self._path, "it was deleted or moved") from error
            raise

    def _before_write(self) -> bool:
        """Check the file, if that is due; return whether it was. The caller holds the lock."""
        if self._is_view_held:
            self._end_held_view()
        watch = self._watch
        if watch is None or monotonic() < watch.due_at:
            return False
        self._check_file()
        return True

    def _after_commit(self, *, is_watched: bool) -> None:
        """Do what is due after a commit, before it is acknowledged. The caller holds the lock."""
        if is_watched and self._watch is not None:
            self._watch.stamp_log(self._connection)
        if self._view.written_pages >= self._checkpointer.due_pages:
            self._checkpointer.check_log(self._connection, self._view.written_pages)

    def _check_file(self) -> None:
        assert self._watch is not None  # only files are checked
        try:
            self._watch.check(self._connection)
        except FileReplaced as fault:
            self._give_up(fault)
            raise

    def _find_fault(self) -> FileReplaced | None:
        """Return an error if the file is certainly not the one that was opened.

        Any thread may call this, with or without the lock.
        """
        if self._watch is None or isinstance(self._lock, _UnusableLock):
            return None
        fault = self._watch.find_fault()
        if fault is not None:
            self._give_up(fault)
        return fault

    def _give_up(self, fault: FileReplaced) -> None:
        """Make everything raise `fault` until the storage is closed, and never touch the file."""
        if isinstance(self._lock, _UnusableLock):
            return
        # Closing would fold the log into whatever the file is now.
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._lock = _UnusableLock(fault)
        for snapshot in list(self._snapshots):
            snapshot.fail(fault)
        _log.error("%s", fault)

    def _translate(self, error: apsw.Error) -> Exception:
        """Return the error of ours that an SQLite error stands for."""
        translated = translate(error, self._path)
        if isinstance(translated, FileDamaged | FileFailed):
            # A file that was replaced looks damaged.
            return self._find_fault() or translated
        return translated

    def _write_alone(self, work: Callable[[StorageWriter], T]) -> T:
        """Run and commit `work` when no other thread waits; the caller holds the lock."""
        view = self._view
        try:
            is_watched = self._before_write()
            try:
                view.begin("BEGIN IMMEDIATE")
                result = work(view)
                view.commit()
            except BaseException:
                # BaseException: no transaction may stay open after an interrupt either.
                view.roll_back()
                raise
            self._after_commit(is_watched=is_watched)
        except apsw.Error as error:
            raise self._translate(error) from error
        return result

    def _write_shared(self, work: Callable[[StorageWriter], T]) -> T:
        """Run `work` in the shared transaction that this thread has open."""
        view = self._view
        before = view.written_pages
        try:
            if self._must_roll_back:
                raise SharingFailed
            return work(view)
        except BaseException as error:
            if view.written_pages != before or not view.is_in_transaction:
                # It has written something, or SQLite rolled back, as it does when a disk fails.
                self._must_roll_back = True
                raise SharingFailed from error
            if isinstance(error, apsw.Error):
                raise self._translate(error) from error
            raise

    def _commit_waiting(self) -> None:
        """Run all waiting work in one transaction; the caller holds the lock."""
        batch: list[_Ticket] = []
        while self._waiting:
            batch.append(self._waiting.popleft())
        try:
            # Raises an error if the storage was closed while these waited, or its file replaced.
            if isinstance(self._lock, _UnusableLock):
                self._lock.acquire()
            is_watched = self._before_write()
        except KeyfoldError as error:
            for ticket in batch:
                ticket.finish(error)
            return
        try:
            failed = self._run_together(batch)
            if failed:
                # One failed after it had written. Its writes were rolled back, and those of the
                # others with them: each of the others runs again in a separate transaction.
                for ticket in batch:
                    if ticket is not failed:
                        self._run_together([ticket])
            self._after_commit(is_watched=is_watched)
        except BaseException:
            # This thread was interrupted: put unfinished work back, for other threads to run.
            self._waiting.extendleft(ticket for ticket in reversed(batch) if not ticket.is_done)
            raise

    def _run_together(self, batch: list[_Ticket]) -> _Ticket | None:
        """Run and commit `batch`; return the ticket whose failure prevented that, if any."""
        view = self._view
        is_committing = False
        try:
            view.begin("BEGIN IMMEDIATE")
            for ticket in batch:
                before = view.written_pages
                ticket.error = None
                try:
                    ticket.result = ticket.work(view)
                except Exception as error:  # noqa: BLE001 - any error is raised in its caller
                    ticket.error = error
                    if isinstance(error, apsw.Error):
                        ticket.error = self._translate(error)
                    if view.written_pages != before or not view.is_in_transaction:
                        # It has written something, or SQLite rolled back, as it does when a disk
                        # fails.
                        ticket.finish(None)
                        return ticket
            is_committing = True
            view.commit()
        except apsw.Error as error:
            view.roll_back()
            for ticket in batch:
                ticket.finish(self._translate(error))
        finally:
            if is_committing and not view.is_in_transaction:
                # In `finally`, since an interrupt may come right after the commit: committed
                # work must not run again.
                for ticket in batch:
                    ticket.finish(None)
            view.roll_back()
        return None

    def _read_secondary(self, work: Callable[[StorageReader], T]) -> T:
        with self._secondary_lock:
            if isinstance(self._lock, _UnusableLock):
                self._lock.acquire()
            if self._secondary_view is None:
                self._secondary_view = View(self._open_reader())
            return self._run_read(self._secondary_view, work)

    def _run_long_read(self, work: Callable[[StorageReader], T]) -> T:
        """Run `work` on a connection of the pool, so that nobody else waits for it."""
        try:
            return self._readers.run(lambda view: self._run_checked(view, work))
        except apsw.Error as error:
            raise self._translate(error) from error

    def _open_pooled(self) -> View:
        if isinstance(self._lock, _UnusableLock):
            self._lock.acquire()
        return View(self._open_reader())

    def _run_checked(self, view: View, work: Callable[[StorageReader], T]) -> T:
        """Run a long read, unless the storage has become unusable while it waited."""
        if isinstance(self._lock, _UnusableLock):
            self._lock.acquire()
        return self._run_read(view, work)

    def _run_read(self, view: View, work: Callable[[StorageReader], T]) -> T:
        try:
            try:
                view.begin("BEGIN")
                return work(view)
            finally:
                view.roll_back()
        except apsw.Error as error:
            raise self._translate(error) from error
        except UnicodeDecodeError as error:
            raise FileDamaged(self._path, "a name is not valid UTF-8") from error

    def _open_reader(self) -> SqliteConnection:
        return open_reader(self._path, busy_seconds=self._busy_seconds, vfs=self._vfs)


class _UnusableLock:
    """Replaces the lock of a closed or inherited storage; raises an error when acquired."""

    def __init__(self, error: KeyfoldError) -> None:
        self._error = error

    def acquire(self, blocking: bool = True) -> NoReturn:  # noqa: ARG002, FBT001, FBT002 - a lock's signature
        # A new error each time: one that is raised again and again collects tracebacks.
        raise type(self._error)(*self._error.args)

    def release(self) -> None:
        """Nothing was acquired."""

    __enter__ = acquire

    def __exit__(self, *exception: object) -> None:
        """Nothing was acquired."""
