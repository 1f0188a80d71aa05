"""File targets, which appear only once they are complete; they are written in resumable parts.

Part files are in a folder beside the target, `FILE.parts`. When a job resumes, each part is cut
back to the length in the checkpoint. At the end the parts are joined, and the result is renamed
to the target's path.
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
from keyfold.transfer._checkpoints import flush, raising_file_failed
from keyfold.transfer._json_sources import JsonSource, md5_of, open_json_source, to_line
from keyfold.transfer._sources import ItemSource
from keyfold.transfer._targets import ClassifiedItem, WriteResult

_JOINED = "joined"


class PartFiles:
    """The part files from which a file or a folder is joined."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.with_name(path.name + ".parts")
        self.joined = self.folder / _JOINED
        self._files: dict[str, IO[bytes]] = {}
        self._lock = threading.Lock()

    def check_free(self) -> None:
        """Raise FileTaken if the target, or its folder of parts, exists."""
        for existing in (self.path, self.folder):
            if existing.exists():
                raise FileTaken(str(existing))

    def begin(self, lengths: Mapping[str, int]) -> None:
        """Cut every part back to its recorded length, and delete parts without one."""
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
        """Append to a part, and return its new length."""
        with raising_file_failed(self.folder / name):
            with self._lock:
                file = self._files.get(name)
                if file is None:
                    file = self._files[name] = (self.folder / name).open("ab")
            file.write(data)
            flush(file.fileno(), file.flush)
            return file.tell()

    def names(self) -> list[str]:
        """Return the names of the part files, in order."""
        return sorted(file.name for file in self.folder.iterdir() if file.name != _JOINED)

    def publish(self, join: Callable[[Path], None], *, is_repeated: bool) -> None:
        """Call `join` to build the result from the parts, and rename it to the target's path."""
        self.close()
        if is_repeated and self.path.exists() and not self.joined.exists():
            return  # an earlier run had already renamed it
        if self.path.exists():
            raise FileTaken(str(self.path))
        with raising_file_failed(self.path):
            self.remove_joined()
            join(self.joined)
            self.joined.rename(self.path)
            _flush_folder(self.path.parent)

    def remove_joined(self) -> None:
        """Delete a joined file or folder that an interrupted run left."""
        if self.joined.is_dir():
            shutil.rmtree(self.joined)
        self.joined.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the part files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def clean_up(self) -> None:
        """Delete the part files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def join_files(target: Path, parts: Sequence[Path], *, header: bytes = b"") -> None:
    """Write a header and the parts, in order, to a file."""
    with target.open("wb") as joined:
        joined.write(header)
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
    """Return the name of a segment's part, padded so that parts sort like segments.

    >>> part_name("7")
    'part-00007'
    """
    return f"part-{segment.zfill(5)}"


class FileTarget(ABC):
    """A file or a folder that is joined from part files; `form` names its format."""

    # A file has whatever the table has; see `Target`.
    keeps_guards = True

    def __init__(self, path: Path, form: str) -> None:
        self.parts = PartFiles(path)
        self._form = form

    def describe(self) -> dict[str, Any]:
        """Return the path and the format."""
        return {"target": str(self.parts.path.absolute()), "form": self._form}

    def check_free(self) -> None:
        """Raise FileTaken if the target, or its folder of parts, exists."""
        self.parts.check_free()

    def begin(self, lengths: Mapping[str, int]) -> None:
        """Create the folder of parts, and cut existing parts back to their recorded lengths."""
        self.parts.begin(lengths)

    def finish(self, *, is_repeated: bool) -> None:
        """Join the parts, and rename the result to the target's path."""
        self.parts.publish(self.join, is_repeated=is_repeated)

    def close(self) -> None:
        """Close the part files."""
        self.parts.close()

    def clean_up(self) -> None:
        """Delete the part files."""
        self.parts.clean_up()

    @abstractmethod
    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> WriteResult:
        """Append a batch to the segment's part files."""

    @abstractmethod
    def join(self, joined: Path) -> None:
        """Build the file or folder from the parts."""

    @abstractmethod
    def read_back(self) -> ItemSource:
        """Return a source that reads the file or folder."""


class LinesTarget(FileTarget):
    """One file with an item per line, plain or gzip."""

    def __init__(self, path: Path, *, is_compressed: bool) -> None:
        super().__init__(path, "gzip lines" if is_compressed else "lines")
        self._is_compressed = is_compressed

    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> WriteResult:
        """Append the lines of a batch."""
        if not items:
            return WriteResult(items)
        name, data = part_name(segment), b"".join(to_line(each.item) for each in items)
        if self._is_compressed:
            # One gzip member per batch, so that the part can be cut after any batch.
            data = gzip.compress(data, mtime=0)
        return WriteResult(items, lengths={name: self.parts.append(name, data)})

    def join(self, joined: Path) -> None:
        """Concatenate the parts."""
        parts = [self.parts.folder / name for name in self.parts.names()]
        # An empty file is not valid gzip: without parts, write an empty member.
        needs_member = self._is_compressed and not parts
        join_files(joined, parts, header=gzip.compress(b"", mtime=0) if needs_member else b"")

    def read_back(self) -> ItemSource:
        """Return a source that reads the file."""
        return JsonSource(self.parts.path, [self.parts.path], None)


class ExportTarget(FileTarget):
    """A folder in the layout of DynamoDB's exports to S3."""

    def __init__(self, path: Path, *, table_arn: str) -> None:
        super().__init__(path, "export")
        self._table_arn = table_arn

    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> WriteResult:
        """Append the lines of a batch; a segment without items gets a data file, too."""
        name, data = part_name(segment), b"".join(to_line(each.item) for each in items)
        compressed = gzip.compress(data, mtime=0)
        return WriteResult(items, lengths={name: self.parts.append(name, compressed)})

    def join(self, joined: Path) -> None:
        """Write the data files and the manifests."""
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
        """Return a source that reads the folder."""
        return open_json_source(self.parts.path)


def _write_manifest(file: Path, data: bytes) -> None:
    """Write a manifest, and its MD5 beside it, as DynamoDB does."""
    file.write_bytes(data)
    file.with_suffix(".checksum").write_text(md5_of(file))
    for written in (file, file.with_suffix(".checksum")):
        with written.open("rb") as stream:
            flush(stream.fileno())
