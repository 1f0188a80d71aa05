"""Snapshots: read-only views of the rows that do not change while others write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import apsw

from keyfold.engine.storage.connections import translate
from keyfold.engine.storage.protocol import StorageReader
from keyfold.engine.storage.view import View
from keyfold.errors import EngineForked, KeyfoldError

T = TypeVar("T")


class HeldSnapshot:
    """The rows as of the time this was created, read through a dedicated connection.

    Each read acquires the lock separately, so that a fork waits for one read and not for all.
    """

    def __init__(self, view: View, path: str) -> None:
        self._view, self._path = view, path
        self.lock = threading.Lock()
        self._is_inherited = False
        self._fault: KeyfoldError | None = None
        try:
            view.begin("BEGIN")
            # A transaction sees the file as of its first read, so one is made at once.
            view.list_records("", limit=1)
        except BaseException:
            view.close()
            raise

    def read(self, work: Callable[[StorageReader], T]) -> T:
        with self.lock:
            if self._is_inherited:
                raise EngineForked(self._path)
            if self._fault is not None:
                raise self._fault
            try:
                return work(self._view)
            except apsw.Error as error:
                raise translate(error, self._path) from error

    def fail(self, fault: KeyfoldError) -> None:
        """Make every later read raise `fault`."""
        self._fault = fault

    def disown(self) -> View:
        """Stop using the connection, in a process that inherited it by a fork; return its view."""
        self.lock = threading.Lock()
        self._is_inherited = True
        return self._view

    def close(self) -> None:
        """End the transaction and close the connection."""
        with self.lock:
            if not self._is_inherited:
                self._view.close()
