"""The report of a bulk operation in a bucket: the items it did not write, and a summary.

Each item is a line, collected in a row set that only the operation uses. After the input, the
lines are written to files. Their names and contents depend only on their position, so a process
that writes a file again writes the same one. The summary comes last: if it exists, so does
everything else.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any, TypedDict

import orjson

from keyfold.engine.bulk.buckets import Buckets
from keyfold.engine.bulk.export_job import FILE_BYTES, to_iso
from keyfold.engine.bulk.work_records import WorkBody
from keyfold.engine.recovery.copy_job import RowsBody, read_batch, to_rows
from keyfold.engine.storage import Storage, StorageWriter

_KEY_BYTES = 8


class ReportsBody(TypedDict):
    """The lines of a report: their row set, their number, and the files written so far."""

    rows: RowsBody
    lines: int
    files: list[dict[str, Any]]


def add_lines(writer: StorageWriter, reports: ReportsBody, lines: list[dict[str, Any]]) -> None:
    """Add lines to the collected ones, updating `reports` in place."""
    for line in lines:
        key = reports["lines"].to_bytes(_KEY_BYTES, "big")
        value = orjson.dumps(line) + b"\n"
        writer.put(to_rows(reports["rows"]), key, value, len(value), ())
        reports["lines"] += 1


def write_file(
    storage: Storage, buckets: Buckets, bulk: WorkBody, reports: ReportsBody, start: bytes
) -> tuple[dict[str, Any], bytes | None]:
    """Write one file of lines, beginning with the key `start`.

    Return the summary's entry for the file, and where the next file begins; None after the last.
    Raises BucketFailed.
    """
    low: bytes | None = start
    lines: list[bytes] = []
    length = 0
    while low is not None and length < FILE_BYTES:
        begin = low
        rows, low = storage.read(lambda reader: read_batch(reader, to_rows(reports["rows"]), begin))  # noqa: B023 - run at once
        lines += [value for _, value, _ in rows]
        length = sum(map(len, lines))
    content = b"".join(lines)
    key = f"{_folder_of(bulk)}/data/{len(reports['files']):05d}.json"
    buckets.write(_bucket_of(bulk), key, content)
    digest = hashlib.md5(content, usedforsecurity=False).digest()
    written = {
        "itemCount": len(lines),
        "md5Checksum": base64.b64encode(digest).decode(),
        "dataFileS3Key": key,
    }
    return written, low


def write_summary(
    buckets: Buckets, bulk: WorkBody, reports: ReportsBody, described: dict[str, Any]
) -> None:
    """Write the summary of an operation with this description. Raises BucketFailed."""
    (table,) = described["TableDetails"]
    summary = {
        "bulkOperationArn": described["BulkOperationArn"],
        "bulkOperationStatus": described["BulkOperationStatus"],
        "tableName": table["TableName"],
        "tableId": table["TableId"],
        "startTime": to_iso(described["StartTime"]),
        "endTime": to_iso(described["EndTime"]),
        "processedItemCount": described["ProcessedItemCount"],
        "failedItemCount": described["FailedItemCount"],
        "outputType": described["OutputS3Configuration"]["OutputType"],
        "files": reports["files"],
    }
    key = f"{_folder_of(bulk)}/manifest-summary.json"
    buckets.write(_bucket_of(bulk), key, orjson.dumps(summary))


def _bucket_of(bulk: WorkBody) -> str:
    return bulk["description"]["OutputS3Configuration"]["S3Bucket"]


def _folder_of(bulk: WorkBody) -> str:
    prefix = bulk["description"]["OutputS3Configuration"].get("S3KeyPrefix") or ""
    return "/".join(part for part in (prefix.removesuffix("/"), "AWSDynamoDB", bulk["id"]) if part)
