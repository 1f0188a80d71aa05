"""Files of DynamoDB JSON, one item per line: plain, gzip, or a folder that DynamoDB exported.

A line is `{"Item": {...}}`, as in DynamoDB's exports, or a bare item.
"""

from __future__ import annotations

import gzip
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import md5
from pathlib import Path
from typing import IO, Any, cast

import orjson

from keyfold.errors import ServiceError, SourceUnreadable
from keyfold.transfer._entities import Reject
from keyfold.transfer._sources import Estimate, SourceBatch
from keyfold.values import Item, item_size_bytes, normalise_item, to_json

_BATCH_ITEMS = 500
_BATCH_BYTES = 1 << 20
# An item has at most 400 KB, and JSON escapes one byte as at most six characters.
_LONGEST_LINE = 4 << 20
_GZIP = b"\x1f\x8b"
_MANIFEST = "manifest-files.json"
_SUMMARY = "manifest-summary.json"
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")


def to_line(item: Item) -> bytes:
    """Return an item as a line of a file."""
    return b'{"Item":' + to_json(item) + b"}\n"


def read_line(line: bytes) -> Item | Reject:
    """Return the item of a line, in the engine's form, or a reject with the reason.

    >>> read_line(b'{"Item": {"pk": {"S": "a"}, "n": {"N": "1.0"}}}')
    {'pk': {'S': 'a'}, 'n': {'N': '1'}}
    >>> read_line(b'{"pk": {"S": "a"}}')
    {'pk': {'S': 'a'}}
    >>> read_line(b"pk,sk").reason
    'the line is not JSON: ...'
    """
    try:
        read: Any = orjson.loads(line)
    except ValueError as error:
        return Reject(f"the line is not JSON: {error}", line=line.decode(errors="replace"))
    if not isinstance(read, dict):
        return Reject("the line is not a JSON object", line=line.decode(errors="replace"))
    item = _unwrap(cast(dict[str, Any], read))
    try:
        return normalise_item(item)[0]
    except ServiceError as error:
        return Reject(error.message, item)


def _unwrap(read: dict[str, Any]) -> dict[str, Any]:
    """Return the item in a line's JSON; lines of rejects files have a reason beside it."""
    inner: Any = read.get("Item")
    if read.keys() <= {"Item", "reason"} and isinstance(inner, dict):
        members = cast(dict[str, Any], inner)
        # A bare item whose only attribute is called Item has a value there, not attributes.
        if all(isinstance(each, dict) for each in members.values()):
            return members
    return read


class LinesSource:
    """Files with one item per line; each file is a segment."""

    def __init__(self, path: Path, files: Sequence[Path], expected_items: int | None) -> None:
        self._path = path
        self._files = {file.name: file for file in files}
        self.segments = tuple(self._files)
        self._expected_items = expected_items
        self._estimate = Estimate(sum(file.stat().st_size for file in files))

    @property
    def expected_items(self) -> int | None:
        """The number of items: from a manifest, or an estimate from what was read so far."""
        return self._expected_items or self._estimate.items

    def describe(self) -> dict[str, Any]:
        """Return what identifies this source, with file sizes that reveal a changed file."""
        sizes = {name: file.stat().st_size for name, file in self._files.items()}
        return {"source": str(self._path.absolute()), "file_sizes": sizes}

    def read(self, segment: str, position: Any) -> Iterator[SourceBatch]:
        """Yield a file's batches from a byte offset on, counted in uncompressed bytes."""
        file = self._files[segment]
        try:
            with file.open("rb") as raw, open_lines(raw) as stream:
                stream.seek(position or 0)
                began = raw.tell()
                for batch in _read_batches(stream, file, position or 0):
                    self._estimate.add(len(batch.items), raw.tell() - began)
                    began = raw.tell()
                    yield batch
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise SourceUnreadable(str(file), f"its gzip data is damaged: {error}") from None
        except OSError as error:
            raise SourceUnreadable(str(file), f"it cannot be read: {error.strerror}") from None


def open_lines(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of a file's lines, decompressed if it is gzip."""
    is_compressed = raw.read(len(_GZIP)) == _GZIP
    raw.seek(0)
    return cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if is_compressed else raw


def _read_batches(stream: IO[bytes], file: Path, position: int) -> Iterator[SourceBatch]:
    items: list[Item] = []
    rejects: list[Reject] = []
    size_bytes = began = 0
    while line := stream.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            fact = f"the line at byte {position} is longer than any item can be"
            raise SourceUnreadable(str(file), fact)
        position += len(line)
        if not line.isspace():
            read = read_line(line.removeprefix(b"\xef\xbb\xbf"))
            if isinstance(read, Reject):
                rejects.append(read)
            else:
                items.append(read)
                size_bytes += item_size_bytes(read)
        if len(items) + len(rejects) >= _BATCH_ITEMS or position - began >= _BATCH_BYTES:
            yield SourceBatch(items, position, size_bytes, rejects=rejects)
            items, rejects, size_bytes, began = [], [], 0, position
    yield SourceBatch(items, position, size_bytes, is_last=True, rejects=rejects)


def open_lines_source(path: Path) -> LinesSource:
    """Return the source for a file of lines, a folder of such files, or a DynamoDB export.

    Raises SourceUnreadable.
    """
    if not path.exists():
        raise SourceUnreadable(str(path), "no such file or folder")
    if path.is_file():
        return LinesSource(path, [path], None)
    export = find_export(path)
    if export is not None:
        return _open_export(path, export)
    files = sorted(file for file in path.iterdir() if file.name.endswith(_SUFFIXES))
    if not files:
        fact = f"the folder has no {_MANIFEST}, and no files that end in {', '.join(_SUFFIXES)}"
        raise SourceUnreadable(str(path), fact)
    return LinesSource(path, files, None)


def find_export(path: Path) -> Path | None:
    """Return the folder of an export's manifests: `path`, or one below it; None if there is none.

    Raises SourceUnreadable if there are several.
    """
    found = [path] if (path / _MANIFEST).is_file() else []
    found += sorted(file.parent for file in path.glob(f"AWSDynamoDB/*/{_MANIFEST}"))
    if len(found) > 1:
        listed = ", ".join(folder.name for folder in found)
        raise SourceUnreadable(str(path), f"it has several exports: {listed}", "Name one.")
    return found[0] if found else None


def _open_export(path: Path, folder: Path) -> LinesSource:
    summary = _read_manifest(folder / _SUMMARY)[0] if (folder / _SUMMARY).is_file() else {}
    form = summary.get("outputFormat", "DYNAMODB_JSON")
    if form != "DYNAMODB_JSON":
        fact = f"its format is {form}"
        raise SourceUnreadable(str(path), fact, "Export the table as DYNAMODB_JSON.")
    if "INCREMENTAL" in str(summary.get("exportType", "")):
        fact = "it is an incremental export, which has changes instead of items"
        raise SourceUnreadable(str(path), fact, "Name a full export.")
    files: list[Path] = []
    for entry in _read_manifest(folder / _MANIFEST):
        file = folder / "data" / Path(str(entry.get("dataFileS3Key", ""))).name
        if not file.is_file():
            fact = f"its manifest lists {file.name}, which is not in {file.parent}"
            raise SourceUnreadable(str(path), fact)
        wanted = entry.get("md5Checksum")
        if wanted is not None and wanted != md5_of(file):
            raise SourceUnreadable(str(file), "its MD5 differs from the manifest's")
        files.append(file)
    counted = summary.get("itemCount")
    return LinesSource(path, files, counted if isinstance(counted, int) and counted else None)


def _read_manifest(file: Path) -> list[dict[str, Any]]:
    lines = [line for line in file.read_bytes().splitlines() if line.strip()]
    try:
        return [cast(dict[str, Any], orjson.loads(line)) for line in lines]
    except ValueError:
        pass
    # A summary may be one JSON object, formatted over several lines.
    try:
        return [orjson.loads(file.read_bytes())]
    except ValueError as error:
        raise SourceUnreadable(str(file), f"it is not JSON: {error}") from None


def md5_of(file: Path) -> str:
    """Return a file's MD5 in base64, as in the manifests of DynamoDB's exports."""
    digest = md5(usedforsecurity=False)
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return b64encode(digest.digest()).decode()
