"""A file system that knows what a loss of power would leave of its files.

What was synced is on the disk. Of what was written since, any part may be there, sector
by sector, and any part may not.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import apsw

SECTOR_BYTES = 512

_numbers = count()

Image = dict[str, bytes]


class Disk:
    """The files of one folder: what is on the disk, and what is only on its way."""

    def __init__(self) -> None:
        self.name = f"power-{next(_numbers)}"
        self.lock = threading.RLock()
        self.after_call: Callable[[], None] | None = None
        self._synced: dict[str, bytearray] = {}
        self._pending: dict[str, list[tuple[int, bytes]]] = {}

    def opened(self, name: str) -> None:
        with self.lock:
            if name not in self._synced:
                file = Path(name)
                self._synced[name] = bytearray(file.read_bytes() if file.exists() else b"")
                self._pending[name] = []

    def wrote(self, name: str, offset: int, data: bytes) -> None:
        with self.lock:
            self._pending[name].append((offset, data))
            self._called()

    def truncated(self, name: str, size: int) -> None:
        with self.lock:
            # Files here are cut only after what they held is safe elsewhere.
            self._settle(name)
            del self._synced[name][size:]
            self._called()

    def synced(self, name: str) -> None:
        with self.lock:
            self._settle(name)
            self._called()

    def deleted(self, name: str) -> None:
        with self.lock:
            self._synced.pop(name, None)
            self._pending.pop(name, None)
            self._called()

    def _settle(self, name: str) -> None:
        for offset, data in self._pending[name]:
            _write(self._synced[name], offset, data)
        self._pending[name].clear()

    def _called(self) -> None:
        if self.after_call is not None:
            self.after_call()

    def image(self, chance: random.Random) -> Image:
        """Return what would be found after a loss of power now."""
        with self.lock:
            return {
                Path(name).name: bytes(self._left_of(name, chance))
                for name in self._synced
                if not name.endswith("-shm")
            }

    def _left_of(self, name: str, chance: random.Random) -> bytearray:
        content = bytearray(self._synced[name])
        likelihood = chance.choice([0.0, 0.5, 0.9, 1.0])
        for offset, data in self._pending[name]:
            for start in range(0, len(data), SECTOR_BYTES):
                if chance.random() < likelihood:
                    _write(content, offset + start, data[start : start + SECTOR_BYTES])
        return content


def _write(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class _Vfs(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        super().__init__(disk.name, "")
        self._disk = disk

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is not None:
            self._disk.opened(path)
        return _File(self._disk, path, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self._disk.deleted(filename)


class _File(apsw.VFSFile):
    def __init__(
        self,
        disk: Disk,
        path: str | None,
        name: str | apsw.URIFilename | None,
        flags: list[int],
    ) -> None:
        super().__init__("", name, flags)
        self._disk, self._path = disk, path

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType] - apsw's own Buffer
        if self._path is not None:
            self._disk.wrote(self._path, offset, bytes(data))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        if self._path is not None:
            self._disk.synced(self._path)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        if self._path is not None:
            self._disk.truncated(self._path, newsize)


@contextmanager
def power_vfs() -> Generator[Disk]:
    """A disk that is known to SQLite until the end."""
    disk = Disk()
    registered = _Vfs(disk)
    try:
        yield disk
    finally:
        disk.after_call = None
        registered.unregister()
