"""Forks: no thread is inside SQLite while a process forks, and the child cannot use what it inherits."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from keyfold.engine.loading import IMPORTING
from keyfold.errors import EngineForked


class ForkedStorage(Protocol):
    """The part of a storage that is used here."""

    def locks(self) -> Iterator[threading.Lock]:
        """Yield the locks that a thread holds while it is inside SQLite."""
        ...

    def disown(self) -> None:
        """Make the storage unusable in the child of a fork."""
        ...


# The storages that are open in this process.
OPEN_STORAGES: weakref.WeakSet[ForkedStorage] = weakref.WeakSet()

# The identities of files that were open when this process was forked. SQLite's tables still say
# that this process holds their locks, which it does not: a new connection would take none.
_INHERITED: set[tuple[int, int]] = set()
_held_for_fork: list[threading.Lock] = []


def check_not_inherited(path: str) -> None:
    """Raise EngineForked for a file that was open when this process was forked."""
    if _INHERITED:
        with suppress(OSError):
            if _identity(path) in _INHERITED:
                raise EngineForked(path)


def note_inherited(path: str) -> None:
    """Note that a file was open when this process was forked."""
    with suppress(OSError):
        _INHERITED.add(_identity(path))


def _identity(path: str) -> tuple[int, int]:
    status = Path(path).stat()
    return status.st_dev, status.st_ino


def _acquire_all_locks() -> None:
    """Wait until no thread is inside SQLite: SQLite's locks would stay taken in the child."""
    for storage in list(OPEN_STORAGES):
        for lock in storage.locks():
            lock.acquire()
            _held_for_fork.append(lock)
    # Last, since a thread inside SQLite may still have to import a module.
    IMPORTING.acquire()
    _held_for_fork.append(IMPORTING)


def _release_all_locks() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release()


def _disown_all() -> None:
    _held_for_fork.clear()
    IMPORTING.release()
    for storage in list(OPEN_STORAGES):
        storage.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_acquire_all_locks, after_in_parent=_release_all_locks, after_in_child=_disown_all
    )
