"""Keeping the write-ahead log short without stalling commits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import apsw

from keyfold.engine.storage._connections import Connection

START_PAGES = 1_000
# Under constant writing a checkpoint beside the writers never catches up with them. Past this
# size one commit waits for it, which lets the log start again from its beginning.
CATCH_UP_PAGES = 16_000


class Checkpointer:
    """Copies the log into the file on a thread of its own, once there is enough of it."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self.log_pages = 0
        # Held while a checkpoint is under way.
        self.lock = threading.Lock()

    def note_commit(self, connection: object, database: str, pages: int) -> int:  # noqa: ARG002 - SQLite's signature
        """Be told by SQLite, after each commit, how long the log is."""
        self.log_pages = pages
        if pages >= START_PAGES and not self._wanted.is_set():
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="keyfold-checkpoints", daemon=True
                )
                self._thread.start()
            self._wanted.set()
        return apsw.SQLITE_OK

    def catch_up(self, connection: Connection) -> None:
        """Copy the rest of an overlong log; the caller holds off other commits."""
        if self.log_pages >= CATCH_UP_PAGES:
            # The thread is nearly always at it by now, and two at once get in each other's way.
            with self.lock:
                _checkpoint(connection)
            self.log_pages = 0

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


def _checkpoint(connection: Connection) -> None:
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error:
        # Busy, or the disk is full: the log is whole without it, and the next commit asks again.
        # A failing disk shows itself to the next writer, who can be told.
        return
