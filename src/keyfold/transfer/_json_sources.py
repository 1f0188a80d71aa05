"""Files of items as JSON: lines or documents, plain or gzip, or a folder that DynamoDB exported.

An item is `{"Item": {...}}`, as in DynamoDB's exports, or a bare object.
"""

from __future__ import annotations

import gzip
import zlib
from base64 import b64encode
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import md5
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast

import orjson

from keyfold.errors import SourceUnreadable
from keyfold.transfer._entities import Reject
from keyfold.transfer._json_documents import LONGEST_VALUE, ValueTooLong, has_lines, split_values
from keyfold.transfer._json_items import check_item, reject_text, unwrap
from keyfold.transfer._sources import Estimate, SourceBatch
from keyfold.values import Item, item_size_bytes, to_json

_BATCH_ITEMS = 500
_BATCH_BYTES = 1 << 20
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
    'it is not JSON: ...'
    """
    try:
        read: Any = orjson.loads(line)
    except ValueError as error:
        return reject_text(f"it is not JSON: {error}", line)
    if not isinstance(read, dict):
        return reject_text("it is not a JSON object", line)
    return check_item(unwrap(cast(dict[str, Any], read)))


ReadItem = Callable[[bytes], Item | Reject]
"""Returns the item of a JSON object, or a reject with the reason."""

JsonForm = Literal["lines", "json"]
"""A file has an item per line, or is a JSON document."""


class _FileText(NamedTuple):
    """The text of an item, where reading resumes after it, and the line that it begins in.

    `problem` says why the text is not an item, if that is known already.
    """

    text: bytes
    position: list[int]
    line: int
    problem: str | None = None


class JsonSource:
    """Files of items as JSON; each file is a segment.

    `form` is the form of all files; without it, each file's content tells.
    """

    def __init__(
        self,
        path: Path,
        files: Sequence[Path],
        expected_items: int | None,
        *,
        read_item: ReadItem = read_line,
        form: JsonForm | None = "lines",
    ) -> None:
        self._path = path
        self._files = {file.name: file for file in files}
        self.segments = tuple(self._files)
        self._expected_items = expected_items
        self._estimate = Estimate(sum(file.stat().st_size for file in files))
        self._read_item, self._form = read_item, form

    @property
    def expected_items(self) -> int | None:
        """The number of items: from a manifest, or an estimate from what was read so far."""
        return self._expected_items or self._estimate.items

    def describe(self) -> dict[str, Any]:
        """Return what identifies this source, with file sizes that reveal a changed file."""
        sizes = {name: file.stat().st_size for name, file in self._files.items()}
        return {"source": str(self._path.absolute()), "file_sizes": sizes}

    def read(self, segment: str, position: Any) -> Iterator[SourceBatch]:
        """Yield a file's batches from a position on."""
        file = self._files[segment]
        try:
            with file.open("rb") as raw, _open_decompressed(raw) as stream:
                texts = self._split(stream, file, position)
                began = raw.tell()
                for batch in _make_batches(texts, self._read_item, position):
                    self._estimate.add(len(batch.items), raw.tell() - began)
                    began = raw.tell()
                    yield batch
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise SourceUnreadable(str(file), f"its gzip data is damaged: {error}") from None
        except UnicodeDecodeError as error:
            raise SourceUnreadable(str(file), f"it is not UTF-8: {error.reason}") from None
        except OSError as error:
            raise SourceUnreadable(str(file), f"it cannot be read: {error.strerror}") from None

    def _split(self, stream: IO[bytes], file: Path, position: Any) -> Iterator[_FileText]:
        is_lines = self._form == "lines"
        if self._form is None:
            is_lines = has_lines(stream)
            stream.seek(0)
        return (_split_lines if is_lines else _split_document)(stream, file, position)


def _open_decompressed(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of a file's lines, decompressed if it is gzip."""
    is_compressed = raw.read(len(_GZIP)) == _GZIP
    raw.seek(0)
    return cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if is_compressed else raw


def _split_lines(stream: IO[bytes], file: Path, position: Any) -> Iterator[_FileText]:
    """Yield the lines of a file; positions are in uncompressed bytes, and in lines."""
    offset, number = position or (0, 0)
    stream.seek(offset)
    while line := stream.readline(LONGEST_VALUE):
        if len(line) == LONGEST_VALUE:
            fact = f"line {number + 1} is longer than any item can be"
            raise SourceUnreadable(str(file), fact)
        offset += len(line)
        number += 1
        yield _FileText(line.removeprefix(BOM_UTF8), [offset, number], number)


def _split_document(stream: IO[bytes], file: Path, position: Any) -> Iterator[_FileText]:
    """Yield the values of a JSON document; a position is a number of values."""
    (done,) = position or (0,)
    try:
        for number, value in enumerate(split_values(stream), start=1):
            if number > done:
                yield _FileText(value.text.encode(), [number], value.line, value.problem)
    except ValueTooLong as error:
        fact = f"the value in line {error} is longer than any item can be"
        raise SourceUnreadable(str(file), fact) from None


def _make_batches(
    texts: Iterable[_FileText], read_item: ReadItem, position: Any
) -> Iterator[SourceBatch]:
    items: list[Item] = []
    rejects: list[Reject] = []
    size_bytes = read_bytes = 0
    for text, position, line, problem in texts:  # noqa: PLR1704 - the last one is the batch's
        read_bytes += len(text)
        if problem is not None:
            rejects.append(Reject(f"line {line}: {problem}", line=text.decode()))
        elif not text.isspace():
            read = read_item(text)
            if isinstance(read, Reject):
                rejects.append(replace(read, reason=f"line {line}: {read.reason}"))
            else:
                items.append(read)
                size_bytes += item_size_bytes(read)
        if len(items) + len(rejects) >= _BATCH_ITEMS or read_bytes >= _BATCH_BYTES:
            yield SourceBatch(items, position, size_bytes, rejects=rejects)
            items, rejects, size_bytes, read_bytes = [], [], 0, 0
    yield SourceBatch(items, position, size_bytes, is_last=True, rejects=rejects)


def open_json_source(
    path: Path, *, read_item: ReadItem = read_line, form: JsonForm | None = "lines"
) -> JsonSource:
    """Return the source for a file of items as JSON, a folder of such files, or a DynamoDB export.

    Raises SourceUnreadable.
    """
    if not path.exists():
        raise SourceUnreadable(str(path), "no such file or folder")
    if path.is_file():
        return JsonSource(path, [path], None, read_item=read_item, form=form)
    export = find_export(path)
    if export is not None:
        return _open_export(path, export)
    files = sorted(file for file in path.iterdir() if file.name.endswith(_SUFFIXES))
    if not files:
        fact = f"the folder has no {_MANIFEST}, and no files that end in {', '.join(_SUFFIXES)}"
        raise SourceUnreadable(str(path), fact)
    return JsonSource(path, files, None, read_item=read_item, form=form)


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


def _open_export(path: Path, folder: Path) -> JsonSource:
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
    return JsonSource(path, files, counted if isinstance(counted, int) and counted else None)


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
