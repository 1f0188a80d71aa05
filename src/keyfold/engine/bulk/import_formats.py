"""Reading the files of an import or a bulk operation: DynamoDB JSON and CSV, compressed or not."""

from __future__ import annotations

import csv
import gzip
import importlib
import importlib.util
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple, TypedDict, cast

import orjson

from keyfold.engine.tables.table import KeyTypes
from keyfold.errors import ValidationException
from keyfold.values import MAX_ITEM_BYTES


class FormatBody(TypedDict):
    """How to read the input files."""

    format: str
    compression: str
    delimiter: str
    # The names of the columns; None if the first line of each file has them.
    header: list[str] | None


class Record(NamedTuple):
    """One record: its size in the file, and its item as in the API, or what is wrong with it."""

    size_bytes: int
    item: dict[str, Any] | str
    # All members of a DynamoDB JSON record: its item, and any others.
    members: Mapping[str, Any] = MappingProxyType({})


_DECODER = json.JSONDecoder()
_SPACES = re.compile(r"[ \t\r\n]*")

# Errors that reading a file in the wrong format or compression can raise.
_UNREADABLE = (OSError, EOFError, ValueError, zlib.error, csv.Error)


def has_zstd() -> bool:
    """Return whether this Python can read ZSTD."""
    try:
        return importlib.util.find_spec("compression.zstd") is not None
    except ModuleNotFoundError:
        return False


def check_readable(kind: str, compression: str, others: str) -> None:
    """Raise for an unsupported format or compression; `others` names the supported formats."""
    if kind == "ION":
        raise ValidationException(f"InputFormat ION is not supported here; use {others}")
    if compression == "ZSTD" and not has_zstd():
        raise ValidationException(
            "InputCompressionType ZSTD is not supported by this version of Python; use GZIP or NONE"
        )


def read_records(path: Path, form: FormatBody, types: KeyTypes) -> Iterator[Record]:
    """Return an iterator over the records of a file.

    If the file becomes unreadable, the last record says so. `types` has the types of the key
    attributes, since CSV has only text.
    """
    try:
        with _open(path, form["compression"]) as file:
            if form["format"] == "CSV":
                yield from _read_csv(file, form, types)
            else:
                yield from _read_json(file)
    except _UNREADABLE as error:
        yield Record(0, f"the file cannot be read any further: {error}")


def _open(path: Path, compression: str) -> IO[bytes]:
    if compression == "GZIP":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if compression == "ZSTD":
        return importlib.import_module("compression.zstd").open(path, "rb")
    return path.open("rb")


def _read_json(file: IO[bytes]) -> Iterator[Record]:
    for line in file:
        if not line.strip():
            continue
        try:
            yield _read_record(len(line), orjson.loads(line))
        except orjson.JSONDecodeError as error:
            yield from _read_joined(line, error)


def _read_record(size_bytes: int, parsed: object) -> Record:
    members = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
    item = members.get("Item")
    if isinstance(item, dict):
        return Record(size_bytes, cast("dict[str, Any]", item), members)
    return Record(size_bytes, 'it is not an object with an "Item"')


def _read_joined(line: bytes, error: orjson.JSONDecodeError) -> Iterator[Record]:
    """Read the records of a line on which several follow each other without newlines between.

    If there is just one, it is not JSON, with the given error.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError:
        yield Record(len(line), f"it is not JSON: {error}")
        return
    start = 0
    while start < len(text):
        try:
            parsed, end = _DECODER.raw_decode(text, _start_of_value(text, start))
        except (ValueError, RecursionError) as fault:
            reason = error if start == 0 else fault
            yield Record(len(text[start:].encode()), f"it is not JSON: {reason}")
            return
        end = _start_of_value(text, end)
        yield _read_record(len(text[start:end].encode()), parsed)
        start = end


def _start_of_value(text: str, start: int) -> int:
    found = _SPACES.match(text, start)
    assert found is not None  # it matches no spaces, too
    return found.end()


def _read_csv(file: IO[bytes], form: FormatBody, types: KeyTypes) -> Iterator[Record]:
    # The limit is process-wide; an attribute may be as long as an item.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_ITEM_BYTES))
    lines = _Lines(file)
    rows = csv.reader(lines, delimiter=form["delimiter"])
    header = form["header"]
    if header is None:
        header = next(rows, None) or []
        lines.take_size()
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            # Only this record is invalid: the next line begins another.
            yield Record(lines.take_size(), f"it is not CSV: {error}")
            continue
        size = lines.take_size()
        if not row:
            continue
        if not _is_text("".join(row)):
            yield Record(size, "it is not UTF-8")
            continue
        if len(row) != len(header):
            yield Record(size, f"it has {len(row)} fields, but the header has {len(header)}")
            continue
        item: dict[str, Any] = {}
        for name, text in zip(header, row, strict=True):
            kind = types.get(name)
            # A key cannot be empty: an item without a value for it is left out of that index.
            if kind is None or text:
                item[name] = {kind or "S": text}
        yield Record(size, item)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Lines:
    """The lines of a file as text, and the number of bytes read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size_bytes = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self._file):
            self._size_bytes += len(line)
            # Spreadsheets put a byte order mark before the first line.
            # Invalid UTF-8 becomes surrogates, by which `_is_text` rejects that record alone.
            yield line.decode("utf-8" if number else "utf-8-sig", errors="surrogateescape")

    def take_size(self) -> int:
        """Return the number of bytes read since the last call."""
        size, self._size_bytes = self._size_bytes, 0
        return size
