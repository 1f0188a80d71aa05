"""What a bulk operation says of the items it did not write, and of itself, in a bucket.

Each is a line, gathered in a row set that only the operation sees. Once the input is done, the
lines are written to files, whose names and bytes follow from their places, so that whoever
writes one again writes the same. The summary comes last: where it is, everything is.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any, TypedDict

import orjson

from keyfold.engine._buckets import Buckets
from keyfold.engine._bulk_records import BulkBody
from keyfold.engine._copy_job import RowsBody, read_batch, to_rows
from keyfold.engine._export_job import FILE_BYTES, to_iso
from keyfold.engine.storage import Storage, StorageWriter

_KEY_BYTES = 8


class ReportsBody(TypedDict):
    """The lines of a report: where they are, how many, and the files that are written."""

    rows: RowsBody
    lines: int
    files: list[dict[str, Any]]


def add_lines(writer: StorageWriter, reports: ReportsBody, lines: list[dict[str, Any]]) -> None:
    """Gather lines. `reports` is changed to what there is then."""
    for line in lines:
        key = reports["lines"].to_bytes(_KEY_BYTES, "big")
        value = orjson.dumps(line) + b"\n"
        writer.put(to_rows(reports["rows"]), key, value, len(value), ())
        reports["lines"] += 1


def write_file(
    storage: Storage, buckets: Buckets, bulk: BulkBody, reports: ReportsBody, start: bytes
) -> tuple[dict[str, Any], bytes | None]:
    """Write one file of lines from `start` on.

    Returns what the summary says of it, and where the next one begins; None after the last.
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
    buckets: Buckets, bulk: BulkBody, reports: ReportsBody, described: dict[str, Any]
) -> None:
    """Write the summary of an operation that is described so. Raises BucketFailed."""
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


def _bucket_of(bulk: BulkBody) -> str:
    return bulk["description"]["OutputS3Configuration"]["S3Bucket"]


def _folder_of(bulk: BulkBody) -> str:
    prefix = bulk["description"]["OutputS3Configuration"].get("S3KeyPrefix") or ""
    return "/".join(part for part in (prefix.removesuffix("/"), "AWSDynamoDB", bulk["id"]) if part)
