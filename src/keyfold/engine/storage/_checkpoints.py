"""Keeping the write-ahead log short without stalling commits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import apsw

from keyfold.engine.storage._connections import SqliteConnection

START_PAGES = 1_000
# Under constant writing a checkpoint beside the writers never catches up with them. Past this
# size one commit waits for it, which lets the log start again from its beginning.
CATCH_UP_PAGES = 16_000


class Checkpointer:
    """Copies the log into the file on a thread of its own, once there is enough of it.

    SQLite tells the length of the log with a commit, if it is asked; to ask at each would cost
    half a microsecond of each. So it is asked now and then, after about a number of pages.
    """

    def __init__(self, connect: Callable[[], SqliteConnection]) -> None:
        self._connect = connect
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopping = False
        # After how many written pages `look` is to be called.
        self.due_pages = 0
        self._is_asking = False
        self._log_pages: int | None = None
        # Held while a checkpoint is under way.
        self.lock = threading.Lock()

    def look(self, connection: SqliteConnection, written_pages: int) -> None:
        """See to the log; the caller has just committed, and holds off other commits."""
        if not self._is_asking:
            self._is_asking = True
            connection.set_wal_hook(self._note_commit)
        elif self._log_pages is not None:
            self._tend(connection, self._log_pages)
            connection.set_wal_hook(None)
            self._is_asking, self._log_pages = False, None
            self.due_pages = written_pages + START_PAGES // 4

    def _note_commit(self, connection: object, database: str, pages: int) -> int:  # noqa: ARG002 - SQLite's signature
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _tend(self, connection: SqliteConnection, log_pages: int) -> None:
        if log_pages >= CATCH_UP_PAGES:
            # The thread is nearly always at it by now, and two at once get in each other's way.
            with self.lock:
                _checkpoint(connection)
        elif log_pages >= START_PAGES:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="keyfold-checkpoints", daemon=True
                )
                self._thread.start()
            self._wanted.set()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopping = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        connection = self._connect()
        try:
            while True:
                self._wanted.wait()
                # Cleared before the look at `_stopping`, so that no wish to stop is lost.
                self._wanted.clear()
                if self._stopping:
                    return
                with self.lock:
                    _checkpoint(connection)
        finally:
            connection.close()


def _checkpoint(connection: SqliteConnection) -> None:
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error:
        # Busy, or the disk is full: the log is whole without it, and it is tried again soon.
        # A failing disk shows itself to the next writer, who can be told.
        return
