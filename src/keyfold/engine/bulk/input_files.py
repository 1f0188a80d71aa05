"""Reading the files of a bucket record by record, continuing where an earlier batch ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypedDict

from keyfold.engine.bulk.buckets import BucketFailed, Buckets
from keyfold.engine.bulk.import_formats import FormatBody, Record, read_records
from keyfold.engine.tables.table import KeyTypes, TableBody


class SourceBody(TypedDict):
    """The files that a job reads, and the position reached: a file's key, and records read of it."""

    bucket: str
    prefix: str
    form: FormatBody
    key: str
    records: int


class InputRecord(NamedTuple):
    """A record, with the key of its file and its number in the file, counted from 1."""

    key: str
    number: int
    record: Record


class InputFiles:
    """The input files of jobs, which stay open from one batch to the next.

    With `needs_files`, there must be at least one. With `stops_at_malformed`, a record that is not
    an item ends its file, if that is DynamoDB JSON.
    """

    def __init__(
        self, buckets: Buckets, *, needs_files: bool = True, stops_at_malformed: bool = False
    ) -> None:
        self._buckets = buckets
        self._needs_files, self._stops_at_malformed = needs_files, stops_at_malformed
        self._streams: dict[str, tuple[SourceBody, Iterator[InputRecord]]] = {}

    def take(self, id_: str, source: SourceBody, body: TableBody) -> Iterator[InputRecord]:
        """Return the remaining records, from the file that is already open if there is one.

        The caller gives the iterator back once the records it took are written. Raises
        BucketFailed if there is no bucket, or if there must be files and there are none.
        """
        known = self._streams.pop(id_, None)
        if known is not None and known[0] == source:
            return known[1]
        keys = self._list_keys(source)
        types: KeyTypes = {
            each["AttributeName"]: each["AttributeType"] for each in body["definitions"]
        }
        return self._read(source, keys, types)

    def give_back(self, id_: str, source: SourceBody, stream: Iterator[InputRecord]) -> None:
        """Keep the iterator over the remaining records for the next batch."""
        self._streams[id_] = (source, stream)

    def drop(self, id_: str) -> None:
        """Close the file that a job left open."""
        self._streams.pop(id_, None)

    def size_bytes(self, source: SourceBody) -> int:
        """Return the total size of the files. Raises BucketFailed, as `take` does."""
        keys = self._list_keys(source)
        paths = (self._buckets.path_of(source["bucket"], key) for key in keys)
        return sum(path.stat().st_size for path in paths if path.exists())

    def _list_keys(self, source: SourceBody) -> list[str]:
        keys = self._buckets.list_keys(source["bucket"], source["prefix"])
        if not keys and self._needs_files:
            message = "No objects were found with the specified prefix"
            raise BucketFailed("S3NoSuchKey", message)
        return keys

    def _read(self, source: SourceBody, keys: list[str], types: KeyTypes) -> Iterator[InputRecord]:
        ends_at_malformed = self._stops_at_malformed and source["form"]["format"] != "CSV"
        for key in keys:
            if key < source["key"]:
                continue
            done = source["records"] if key == source["key"] else 0
            path = self._buckets.path_of(source["bucket"], key)
            for number, record in enumerate(read_records(path, source["form"], types), start=1):
                if number > done:
                    yield InputRecord(key, number, record)
                if ends_at_malformed and isinstance(record.item, str):
                    break
