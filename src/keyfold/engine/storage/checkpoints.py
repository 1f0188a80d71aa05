"""Checkpoints of SQLite's write-ahead log, on a background thread so that commits do not stall."""

from __future__ import annotations

import threading
from collections.abc import Callable

import apsw

from keyfold.engine.storage.connections import SqliteConnection

START_PAGES = 1_000
# Under constant writing, a checkpoint that runs beside the writers never catches up with them.
# Past this size one commit waits for the checkpoint, after which the log restarts from its
# beginning.
CATCH_UP_PAGES = 16_000


class Checkpointer:
    """Copies the log into the file on a background thread, once the log is long enough.

    SQLite reports the length of the log to a hook that runs at each commit; having it always set
    would cost half a microsecond per commit. So it is set for one commit now and then, after
    roughly `START_PAGES // 4` written pages.
    """

    def __init__(
        self, connect: Callable[[], SqliteConnection], find_fault: Callable[[], object | None]
    ) -> None:
        """Open connections by `connect`; do nothing to a file for which `find_fault` returns one."""
        self._connect = connect
        self._find_fault = find_fault
        self._requested = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopping = False
        # The number of written pages at which `check_log` is due.
        self.due_pages = 0
        self._is_hook_set = False
        self._log_pages: int | None = None
        # Held while a checkpoint is running.
        self.lock = threading.Lock()

    def check_log(self, connection: SqliteConnection, written_pages: int) -> None:
        """Measure the log, or start a checkpoint if it was measured and is long.

        The caller has just committed, and holds the lock that excludes other commits.
        """
        if not self._is_hook_set:
            self._is_hook_set = True
            connection.set_wal_hook(self._note_commit)
        elif self._log_pages is not None:
            self._checkpoint_if_long(connection, self._log_pages)
            connection.set_wal_hook(None)
            self._is_hook_set, self._log_pages = False, None
            self.due_pages = written_pages + START_PAGES // 4

    def _note_commit(self, connection: object, database: str, pages: int) -> int:  # noqa: ARG002 - SQLite's signature
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _checkpoint_if_long(self, connection: SqliteConnection, log_pages: int) -> None:
        if log_pages >= CATCH_UP_PAGES:
            # The thread is nearly always running a checkpoint by now, and two at once get in
            # each other's way.
            with self.lock:
                _checkpoint(connection)
        elif log_pages >= START_PAGES:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="keyfold-checkpoints", daemon=True
                )
                self._thread.start()
            self._requested.set()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopping = True
        self._requested.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        connection = self._connect()
        try:
            while True:
                self._requested.wait()
                # Cleared before `_stopping` is read, so that no request to stop is lost.
                self._requested.clear()
                if self._stopping:
                    return
                with self.lock:
                    # Someone may have put another file in place since the commit.
                    if self._find_fault() is None:
                        _checkpoint(connection)
        finally:
            connection.close()


def _checkpoint(connection: SqliteConnection) -> None:
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error:
        # Busy, or the disk is full: the log is complete without a checkpoint, and the next one
        # is due soon. A failing disk raises an error in the next write, which has a caller.
        return
