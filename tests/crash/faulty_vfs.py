"""A file system that fails when it is told to: SQLite's own, with faults put in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import apsw

from keyfold.engine import Durability, Engine
from keyfold.engine.storage import SqliteStorage

_numbers = count()

Fault = Callable[[str, str], None]


@dataclass
class FaultyVfs:
    """Counts every call that reaches the disk, and calls `fault` before it happens.

    `fault` is given the kind of call (read, write, sync, truncate, open, delete) and the
    file's ending (db, wal, journal); it may raise, or wait.
    """

    fault: Fault | None = None
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    name: str = field(default_factory=lambda: f"faulty-{next(_numbers)}")

    def note(self, call: str, path: str | None) -> None:
        ending = "db" if path is None else path.rpartition("-")[2]
        ending = ending if ending in ("wal", "journal", "shm") else "db"
        self.calls.append((call, ending))
        if self.fault is not None:
            self.fault(call, ending)

    def count(self, call: str) -> int:
        return sum(each == call for each, _ in self.calls)


class _Vfs(apsw.VFS):
    def __init__(self, faulty: FaultyVfs) -> None:
        super().__init__(faulty.name, "")
        self._faulty = faulty

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._faulty.note("open", path)
        return _File(self._faulty, path, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self._faulty.note("delete", filename)
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(
        self,
        faulty: FaultyVfs,
        path: str | None,
        name: str | apsw.URIFilename | None,
        flags: list[int],
    ) -> None:
        super().__init__("", name, flags)
        self._faulty, self._path = faulty, path

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._faulty.note("read", self._path)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._faulty.note("write", self._path)
        super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType] - apsw's own Buffer

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._faulty.note("sync", self._path)
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._faulty.note("truncate", self._path)
        super().xTruncate(newsize)


@contextmanager
def faulty_vfs() -> Generator[FaultyVfs]:
    """A file system without faults so far, known to SQLite until the end."""
    faulty = FaultyVfs()
    registered = _Vfs(faulty)
    try:
        yield faulty
    finally:
        faulty.fault = None
        registered.unregister()


@dataclass
class NthCall:
    """Fails the nth call of some kinds: that one alone, or all from then on."""

    kinds: frozenset[str]
    place: int
    error: type[apsw.Error]
    lasts: bool = False
    seen: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, call: str, ending: str) -> None:
        if call not in self.kinds:
            return
        with self._lock:
            self.seen += 1
            fails = self.seen >= self.place if self.lasts else self.seen == self.place
        if fails:
            raise self.error(f"injected into {call} of {ending}")

    @property
    def has_failed(self) -> bool:
        return self.seen >= self.place


def open_on(
    faulty: FaultyVfs,
    path: Path,
    *,
    durability: Durability = "durable",
    clock: Callable[[], float],
) -> Engine:
    """Open an engine whose file goes through the faulty file system."""
    return open_on_storage(path, SqliteStorage(str(path), durability, vfs=faulty.name), clock=clock)


def open_on_storage(path: Path, storage: SqliteStorage, *, clock: Callable[[], float]) -> Engine:
    """Open an engine on a storage that was made for it, without any upkeep of its own."""
    return Engine._on_storage(
        str(path),
        storage,
        clock=clock,
        new_id=lambda: "00000000-0000-0000-0000-000000000000",
        grace_seconds=0.0,
        upkeep_seconds=None,
        region="us-east-1",
        account="000000000000",
    )
