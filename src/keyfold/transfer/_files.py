"""Files that appear whole or not at all, and are written in parts that a job can go on with.

Parts lie in a folder beside the file, `FILE.parts`. Each is cut back to the length that the
checkpoint vouches for when a job goes on; in the end they are joined, and what they make is
renamed into its place.
"""

from __future__ import annotations

import gzip
import os
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import orjson

from keyfold.errors import FileTaken, FileUnreachable
from keyfold.transfer._checkpoints import flush, told_as_failed
from keyfold.transfer._lines import LinesSource, md5_of, open_lines_source, to_line
from keyfold.transfer._sources import ItemSource
from keyfold.transfer._targets import ClassifiedItem, Written

_JOINED = "joined"


class Parts:
    """The parts of what is to become a file or a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.with_name(path.name + ".parts")
        self.joined = self.folder / _JOINED
        self._files: dict[str, IO[bytes]] = {}
        self._lock = threading.Lock()

    def check_free(self) -> None:
        """Raise FileTaken for a file that is there, or parts of one."""
        for taken in (self.path, self.folder):
            if taken.exists():
                raise FileTaken(str(taken))

    def begin(self, lengths: Mapping[str, int]) -> None:
        """Cut every part back to what is vouched for, and remove those that are not."""
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise FileUnreachable(str(self.path), error.strerror or str(error)) from None
        for file in self.folder.iterdir():
            if file.is_file() and file.name not in lengths:
                file.unlink()
        for name, length in lengths.items():
            with (self.folder / name).open("ab") as file:
                file.truncate(length)

    def append(self, name: str, data: bytes) -> int:
        """Write to the end of a part, and return how long it is then."""
        with told_as_failed(self.folder / name):
            with self._lock:
                file = self._files.get(name)
                if file is None:
                    file = self._files[name] = (self.folder / name).open("ab")
            file.write(data)
            flush(file.fileno(), file.flush)
            return file.tell()

    def names(self) -> list[str]:
        """Return the names of the parts that there are, in order."""
        return sorted(file.name for file in self.folder.iterdir() if file.name != _JOINED)

    def place(self, join: Callable[[Path], None], *, is_repeated: bool) -> None:
        """Let `join` make what the parts become, and rename it into its place."""
        self.close()
        if is_repeated and self.path.exists() and not self.joined.exists():
            return  # an earlier run had come so far
        if self.path.exists():
            raise FileTaken(str(self.path))
        with told_as_failed(self.path):
            self.remove_joined()
            join(self.joined)
            self.joined.rename(self.path)
            _flush_folder(self.path.parent)

    def remove_joined(self) -> None:
        """Remove what an earlier run began to join."""
        if self.joined.is_dir():
            shutil.rmtree(self.joined)
        self.joined.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the parts."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def clean_up(self) -> None:
        """Remove the parts."""
        shutil.rmtree(self.folder, ignore_errors=True)


def join_files(target: Path, parts: Sequence[Path], *, heading: bytes = b"") -> None:
    """Write parts one after another into a file."""
    with target.open("wb") as joined:
        joined.write(heading)
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, joined, 1 << 20)
        flush(joined.fileno(), joined.flush)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def part_name(segment: str) -> str:
    """Return the name of a segment's part, such that parts sort as segments do.

    >>> part_name("7")
    'part-00007'
    """
    return f"part-{segment.zfill(5)}"


class FileTarget(ABC):
    """A file or a folder that is joined from parts; `form` names its format."""

    def __init__(self, path: Path, form: str) -> None:
        self.parts = Parts(path)
        self._form = form

    def describe(self) -> dict[str, Any]:
        """Return what tells this target from another."""
        return {"target": str(self.parts.path.absolute()), "form": self._form}

    def check_free(self) -> None:
        """Refuse a file that is there."""
        self.parts.check_free()

    def begin(self, lengths: Mapping[str, int]) -> None:
        """Make room for parts, and cut those that are there back."""
        self.parts.begin(lengths)

    def finish(self, *, is_repeated: bool) -> None:
        """Join the parts, and put what they make into its place."""
        self.parts.place(self.join, is_repeated=is_repeated)

    def close(self) -> None:
        """Close the parts."""
        self.parts.close()

    def clean_up(self) -> None:
        """Remove the parts."""
        self.parts.clean_up()

    @abstractmethod
    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> Written:
        """Write a batch to the ends of the segment's parts."""

    @abstractmethod
    def join(self, joined: Path) -> None:
        """Make the file or folder from the parts."""

    @abstractmethod
    def read_back(self) -> ItemSource:
        """Return what was made."""


class LinesTarget(FileTarget):
    """One file of lines, plain or gzip."""

    def __init__(self, path: Path, *, is_compressed: bool) -> None:
        super().__init__(path, "gzip lines" if is_compressed else "lines")
        self._is_compressed = is_compressed

    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> Written:
        """Write the lines of a batch."""
        if not items:
            return Written(items)
        name, data = part_name(segment), b"".join(to_line(each.item) for each in items)
        if self._is_compressed:
            # A member of its own, so that the part may be cut after it.
            data = gzip.compress(data, mtime=0)
        return Written(items, lengths={name: self.parts.append(name, data)})

    def join(self, joined: Path) -> None:
        """Write one part after another."""
        parts = [self.parts.folder / name for name in self.parts.names()]
        # Without a member, a file would not be one of gzip's.
        is_bare = self._is_compressed and not parts
        join_files(joined, parts, heading=gzip.compress(b"", mtime=0) if is_bare else b"")

    def read_back(self) -> ItemSource:
        """Return the file."""
        return LinesSource(self.parts.path, [self.parts.path], None)


class ExportTarget(FileTarget):
    """A folder in the layout of DynamoDB's exports to S3."""

    def __init__(self, path: Path, *, table_arn: str) -> None:
        super().__init__(path, "export")
        self._table_arn = table_arn

    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> Written:
        """Write the lines of a batch; a segment without items has a data file, too."""
        name, data = part_name(segment), b"".join(to_line(each.item) for each in items)
        compressed = gzip.compress(data, mtime=0)
        return Written(items, lengths={name: self.parts.append(name, compressed)})

    def join(self, joined: Path) -> None:
        """Lay the data files out, and write the manifests."""
        (joined / "data").mkdir(parents=True)
        listed: list[bytes] = []
        total = 0
        for name in self.parts.names():
            file = joined / "data" / f"{name}.json.gz"
            join_files(file, [self.parts.folder / name])
            with gzip.open(file, "rb") as lines:
                count = sum(1 for _ in lines)
            total += count
            key = f"{self.parts.path.name}/data/{file.name}"
            entry = {"itemCount": count, "md5Checksum": md5_of(file), "dataFileS3Key": key}
            listed.append(orjson.dumps(entry))
        _write_manifest(joined / "manifest-files.json", b"".join(line + b"\n" for line in listed))
        summary = {
            "version": "2020-06-30",
            "tableArn": self._table_arn,
            "manifestFilesS3Key": f"{self.parts.path.name}/manifest-files.json",
            "itemCount": total,
            "outputFormat": "DYNAMODB_JSON",
        }
        _write_manifest(joined / "manifest-summary.json", orjson.dumps(summary))

    def read_back(self) -> ItemSource:
        """Return the folder."""
        return open_lines_source(self.parts.path)


def _write_manifest(file: Path, data: bytes) -> None:
    """Write a manifest, and its MD5 beside it, as DynamoDB does."""
    file.write_bytes(data)
    file.with_suffix(".checksum").write_text(md5_of(file))
    for written in (file, file.with_suffix(".checksum")):
        with written.open("rb") as stream:
            flush(stream.fileno())
