"""Running an export: first collect the rows to export, then write the files.

The rows are collected in a row set that only the export uses: the table at one point in time, or
its changes between two. They are then written to the bucket file by file, each recorded when it
is complete, and the manifests last. If the process is killed, the next one continues from what
was recorded; a file that is written twice is the same both times.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NotRequired, TypedDict, cast

import orjson

from keyfold.clocks import Clock
from keyfold.engine.bulk.buckets import BucketFailed, Buckets
from keyfold.engine.bulk.work_records import EXPORTS, WorkBody, read_work, write_work
from keyfold.engine.metadata import parse_record
from keyfold.engine.recovery.copy_job import RowsBody, read_batch, row_writer, to_rows
from keyfold.engine.recovery.rewind_job import (
    EXPORT_JOB_RECORD,
    NO_LIMIT,
    RewindBody,
    rewind_batch,
    size_of,
)
from keyfold.engine.storage import RowChange, Storage, StorageWriter
from keyfold.engine.tables.catalog import read_body
from keyfold.engine.tables.table import EngineTable, Unreadable, build_table

# The size of one data file before compression.
FILE_BYTES = 32 << 20
_BATCH_CHANGES = 100
_NAME_CHARACTERS = 26


class ChangesBody(TypedDict):
    """The changes still to be collected: from the one following `after` up to `until`."""

    table: str
    log: int
    after: int
    until: int


class ExportJob(TypedDict):
    """The remaining work of an export. Until the rows are collected, it has `rewind` or `changes`."""

    rows: RowsBody
    rewind: NotRequired[RewindBody]
    changes: NotRequired[ChangesBody]
    # Set once the rows are collected: the key to write from, as hex; None after the last row.
    next: NotRequired[str | None]
    # The manifest entries of the files written so far.
    files: list[dict[str, Any]]


def begin_exporting(writer: StorageWriter, id_: str, job: ExportJob) -> None:
    """Store an export as a job to be run."""
    _write(writer, id_, job)


def export_batch(storage: Storage, buckets: Buckets, clock: Clock, id_: str) -> bool:
    """Run the next batch of an export; return whether it was the last."""
    job, export = storage.read(
        lambda reader: (reader.get_record(EXPORT_JOB_RECORD, id_), read_work(reader, EXPORTS, id_))
    )
    if job is None or export is None:
        # Another process finished it.
        return True
    known = _parse(id_, job)
    if "next" not in known:
        storage.write(lambda writer: _collect(writer, id_))
        return False
    try:
        if known["next"] is not None:
            _write_file(storage, buckets, export, known)
            return False
        described: dict[str, Any] = {
            "ExportStatus": "COMPLETED",
            "EndTime": clock(),
            "ExportManifest": f"{_folder_of(export)}/manifest-summary.json",
        }
        _write_manifests(buckets, export, known, described)
    except BucketFailed as failure:
        facts = {"ExportStatus": "FAILED", "FailureCode": failure.code}
        described = {**facts, "FailureMessage": failure.message, "EndTime": clock()}
    storage.write(lambda writer: _finish(writer, id_, described))
    return True


def _collect(writer: StorageWriter, id_: str) -> None:
    """Collect a batch of the rows to export."""
    record = writer.get_record(EXPORT_JOB_RECORD, id_)
    if record is None:
        return
    job = _parse(id_, record)
    rows = to_rows(job["rows"])
    write_row = row_writer(writer, rows)
    if "next" in job:
        # Another process has collected the rest.
        return
    if "rewind" in job:
        is_last = rewind_batch(
            writer, job["rewind"], write_row, lambda key: writer.delete(rows, key)
        )
    else:
        assert "changes" in job  # without `rewind`
        is_last = _collect_changes(writer, job["changes"], job["rows"])
    if is_last:
        job["next"] = ""
        # The table is no longer needed.
        job.pop("rewind", None)
        job.pop("changes", None)
    _write(writer, id_, job)


def _collect_changes(writer: StorageWriter, changes: ChangesBody, target: RowsBody) -> bool:
    """Merge a batch of changes into one row per item: its first old and its last new image."""
    body = read_body(writer, changes["table"])
    if body is None or body.get("log") != changes["log"]:
        raise Unreadable(f"table {changes['table']}, which is being exported,")
    table, rows = build_table(body), to_rows(target)
    until = min(changes["until"], changes["after"] + _BATCH_CHANGES)
    found = writer.read_changes(
        changes["log"],
        after=changes["after"],
        until=until,
        limit=_BATCH_CHANGES,
        max_bytes=NO_LIMIT,
    )
    for change in found:
        row = writer.get(rows, change.key)
        merged = _merge(table, None if row is None else orjson.loads(row[0]), change)
        writer.put(rows, change.key, orjson.dumps(merged), _size_of_change(change), ())
    changes["after"] = until
    return until >= changes["until"]


def _merge(table: EngineTable, before: dict[str, Any] | None, change: RowChange) -> dict[str, Any]:
    image = orjson.loads(change.new or change.old or b"")
    merged: dict[str, Any] = {
        "Metadata": {"WriteTimestampMicros": {"N": str(round(change.at * 1_000_000))}},
        "Keys": table.key_of(image),
    }
    if before is not None and "OldImage" in before:
        merged["OldImage"] = before["OldImage"]
    elif before is None and change.old is not None:
        merged["OldImage"] = orjson.loads(change.old)
    if change.new is not None:
        merged["NewImage"] = image
    return merged


def _size_of_change(change: RowChange) -> int:
    return sum(size_of(image) for image in (change.old, change.new) if image is not None)


def _write_file(storage: Storage, buckets: Buckets, export: WorkBody, job: ExportJob) -> None:
    """Write one data file, and record it in the job."""
    bucket = export["description"]["S3Bucket"]
    start = job.get("next")
    low: bytes | None = bytes.fromhex(start or "")
    to_line = _line_maker(export)
    lines: list[bytes] = []
    length = size = 0
    if start == "":
        buckets.write(bucket, f"{_folder_of(export)}/_started", b"")
    while low is not None and length < FILE_BYTES:
        begin = low
        rows, low = storage.read(lambda reader: read_batch(reader, to_rows(job["rows"]), begin))  # noqa: B023 - run at once
        sized_lines = [(to_line(value), value_size) for _, value, value_size in rows]
        lines += [line for line, _ in sized_lines if line]
        size += sum(value_size for line, value_size in sized_lines if line)
        length = sum(map(len, lines))
    content = gzip.compress(b"".join(lines), mtime=0)
    key = _data_key(export, len(job["files"]))
    buckets.write(bucket, key, content)
    digest = hashlib.md5(content, usedforsecurity=False)
    written = {
        "itemCount": len(lines),
        "md5Checksum": base64.b64encode(digest.digest()).decode(),
        "etag": f"{digest.hexdigest()}-1",
        "dataFileS3Key": key,
    }
    rest = None if low is None else low.hex()

    def record_file(writer: StorageWriter) -> None:
        record = writer.get_record(EXPORT_JOB_RECORD, export["id"])
        current = None if record is None else _parse(export["id"], record)
        if current is not None and current.get("next") == start:
            current["next"] = rest
            current["files"] = [*current["files"], written]
            _write(writer, export["id"], current)
            body = read_work(writer, EXPORTS, export["id"])
            assert body is not None  # its job is still there
            described = body["description"]
            described["BilledSizeBytes"] += size
            described["ItemCount"] += len(lines)
            write_work(writer, EXPORTS, body)

    storage.write(record_file)


def _line_maker(export: WorkBody) -> Callable[[bytes], bytes]:
    """Return a function from a row to its line, which is empty if the row is not exported."""
    specification = export["description"].get("IncrementalExportSpecification")
    if specification is None:
        return lambda value: b'{"Item":' + value + b"}\n"
    wants_old = specification["ExportViewType"] == "NEW_AND_OLD_IMAGES"

    def make(value: bytes) -> bytes:
        change = orjson.loads(value)
        if "OldImage" not in change and "NewImage" not in change:
            # The item was created and deleted between the two times.
            return b""
        if not wants_old:
            change.pop("OldImage", None)
        return orjson.dumps(change) + b"\n"

    return make


def _folder_of(export: WorkBody) -> str:
    prefix = (export["description"].get("S3Prefix") or "").removesuffix("/")
    return f"{prefix}/AWSDynamoDB/{export['id']}" if prefix else f"AWSDynamoDB/{export['id']}"


def _data_key(export: WorkBody, number: int) -> str:
    digest = hashlib.sha256(f"{export['id']} {number}".encode()).digest()
    name = base64.b32encode(digest).decode().lower()[:_NAME_CHARACTERS]
    folder = _folder_of(export)
    if "IncrementalExportSpecification" in export["description"]:
        # Incremental exports share one folder of data files.
        folder = folder.rpartition("/")[0]
    return f"{folder}/data/{name}.json.gz"


def _write_manifests(
    buckets: Buckets, export: WorkBody, job: ExportJob, described: dict[str, Any]
) -> None:
    folder = _folder_of(export)
    files = b"".join(orjson.dumps(file) + b"\n" for file in job["files"])
    summary = orjson.dumps(_summarise({**export["description"], **described}, folder))
    # The summary comes last: if it exists, so does everything else.
    for name, content in (("manifest-files", files), ("manifest-summary", summary)):
        digest = hashlib.md5(content, usedforsecurity=False).digest()
        bucket = export["description"]["S3Bucket"]
        buckets.write(bucket, f"{folder}/{name}.checksum", base64.b64encode(digest))
        buckets.write(bucket, f"{folder}/{name}.json", content)


def _summarise(described: dict[str, Any], folder: str) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "version": "2023-08-01",
        "exportArn": described["ExportArn"],
        "startTime": to_iso(described["StartTime"]),
        "endTime": to_iso(described["EndTime"]),
        "tableArn": described["TableArn"],
        "tableId": described["TableId"],
        "s3Bucket": described["S3Bucket"],
        "s3Prefix": described.get("S3Prefix"),
        "s3SseAlgorithm": described.get("S3SseAlgorithm"),
        "s3SseKmsKeyId": described.get("S3SseKmsKeyId"),
        "manifestFilesS3Key": f"{folder}/manifest-files.json",
        "billedSizeBytes": described["BilledSizeBytes"],
        "itemCount": described["ItemCount"],
        "outputFormat": described["ExportFormat"],
        "exportType": described["ExportType"],
    }
    specification = described.get("IncrementalExportSpecification")
    if specification is None:
        summary["exportTime"] = to_iso(described["ExportTime"])
    else:
        summary["exportFromTime"] = to_iso(specification["ExportFromTime"])
        summary["exportToTime"] = to_iso(specification["ExportToTime"])
        summary["outputView"] = specification["ExportViewType"]
    return summary


def to_iso(seconds: float) -> str:
    """Return a time in the format of the manifests.

    >>> to_iso(1_700_000_000.25)
    '2023-11-14T22:13:20.250Z'
    """
    time = datetime.fromtimestamp(seconds, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _finish(writer: StorageWriter, id_: str, described: dict[str, Any]) -> None:
    record, export = writer.get_record(EXPORT_JOB_RECORD, id_), read_work(writer, EXPORTS, id_)
    if record is None or export is None:
        return
    writer.drop_rows(to_rows(_parse(id_, record)["rows"]))
    writer.set_record(EXPORT_JOB_RECORD, id_, None)
    write_work(writer, EXPORTS, {**export, "description": {**export["description"], **described}})


def _parse(id_: str, record: bytes) -> ExportJob:
    fields = frozenset({"rows", "files"})
    return cast(ExportJob, parse_record(EXPORT_JOB_RECORD, id_, record, fields))


def _write(writer: StorageWriter, id_: str, job: ExportJob) -> None:
    writer.set_record(EXPORT_JOB_RECORD, id_, orjson.dumps(job))
