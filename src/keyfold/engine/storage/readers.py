"""Connections for long reads, so that neither writes nor short reads wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from keyfold.engine.storage.view import View

T = TypeVar("T")

# As many as a server has threads for operations that may take long.
MOST_READERS = 8


class _PooledReader:
    """A connection that one thread uses at a time."""

    __slots__ = ("lock", "view")

    def __init__(self, view: View) -> None:
        self.view = view
        # Held by the thread that is inside SQLite.
        self.lock = threading.Lock()


class ReaderPool:
    """Connections for reading: opened when they are needed, and kept for the next read."""

    def __init__(self, open_view: Callable[[], View]) -> None:
        self._open_view = open_view
        # Held while a connection is opened or taken: a fork holds it, and then that of each reader.
        self.lock = threading.Lock()
        self._readers: list[_PooledReader] = []
        self._free = threading.Semaphore(MOST_READERS)

    def run(self, work: Callable[[View], T]) -> T:
        """Run `work` on a connection that nobody else uses; wait while all are in use."""
        with self._free:
            reader = self._take()
            try:
                return work(reader.view)
            finally:
                reader.lock.release()

    def _take(self) -> _PooledReader:
        with self.lock:
            for reader in self._readers:
                if reader.lock.acquire(blocking=False):
                    return reader
            reader = _PooledReader(self._open_view())
            reader.lock.acquire()
            self._readers.append(reader)
            return reader

    def locks(self) -> Iterator[threading.Lock]:
        """Yield the locks that a thread holds while it is inside SQLite."""
        yield self.lock
        yield from [reader.lock for reader in self._readers]

    def disown(self) -> list[View]:
        """Forget the connections, in a process that inherited them by a fork; return their views."""
        views = [reader.view for reader in self._readers]
        self.lock, self._readers = threading.Lock(), []
        self._free = threading.Semaphore(MOST_READERS)
        return views

    def close(self) -> None:
        """Close the connections, once nobody uses them. The caller lets nobody begin to read."""
        with self.lock:
            for reader in self._readers:
                with reader.lock:
                    reader.view.close()
            self._readers.clear()
