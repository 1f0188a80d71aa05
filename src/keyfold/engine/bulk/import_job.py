"""Running an import: files of a bucket into a new table, a batch of records at a time.

Each batch is a short transaction that also stores the position reached (file and record), so that
a process that continues after a killed one neither skips a record nor counts one twice.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import islice
from typing import Any, cast

import orjson

from keyfold.api import WriteCheck
from keyfold.clocks import Clock
from keyfold.engine.bulk.buckets import BucketFailed, Buckets
from keyfold.engine.bulk.input_files import InputFiles, InputRecord, SourceBody
from keyfold.engine.bulk.work_records import (
    IMPORT_JOB_RECORD,
    IMPORTS,
    WorkBody,
    read_work,
    write_work,
)
from keyfold.engine.items.write_checks import check_first_put
from keyfold.engine.items.writes import PutAction, check_item_size, make_put
from keyfold.engine.metadata import parse_record
from keyfold.engine.recovery.restore_job import finish_filling
from keyfold.engine.storage import Storage, StorageWriter
from keyfold.engine.tables.catalog import TABLE_RECORD, read_body
from keyfold.engine.tables.table import EngineTable, TableBody, build_table
from keyfold.errors import ServiceError
from keyfold.values import normalise_item

BATCH_RECORDS = 100

_NOT_ALL_IMPORTED = (
    "Some of the items failed validation checks and were not imported. "
    "Please check CloudWatch error logs for more details."
)

_log = logging.getLogger("keyfold.imports")


class ImportJob(SourceBody):
    """The remaining work of an import: the table, and the rest of the files."""

    table: str


class Importer:
    """Runs the imports of one database file."""

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        buckets: Buckets,
        write_checks: Mapping[str, WriteCheck],
    ) -> None:
        self._storage, self._clock = storage, clock
        self._write_checks = write_checks
        # As measured on AWS: see the cases of DescribeImport.
        self._inputs = InputFiles(buckets, needs_files=False, stops_at_malformed=True)

    def import_batch(self, id_: str) -> bool:
        """Import a batch of records; return whether it was the last."""
        record, imported = self._storage.read(
            lambda reader: (
                reader.get_record(IMPORT_JOB_RECORD, id_),
                read_work(reader, IMPORTS, id_),
            )
        )
        if record is None or imported is None:
            # Another process finished it.
            self._inputs.drop(id_)
            return True
        job = _parse(id_, record)
        body = self._storage.read(lambda reader: read_body(reader, job["table"]))
        assert body is not None  # it cannot be deleted while it is being imported
        try:
            stream = self._inputs.take(id_, job, body)
        except BucketFailed as error:
            failure = error
            self._storage.write(lambda writer: self._fail(writer, id_, failure))
            return True
        batch = list(islice(stream, BATCH_RECORDS))
        remaining: ImportJob = {**job}
        if batch:
            remaining["key"], remaining["records"] = batch[-1].key, batch[-1].number
        table = build_table(body)
        puts, faults = _make_puts(table, batch, self._write_checks.get(body["name"]))
        is_last = len(batch) < BATCH_RECORDS

        def work(writer: StorageWriter) -> bool:
            if writer.get_record(IMPORT_JOB_RECORD, id_) != record:
                # Another process has run this batch.
                return False
            for key, put in puts:
                writer.put(table.rows, key, put.value, put.size, put.entries)
            counted = _count(imported, batch, len(puts))
            if is_last:
                self._finish(writer, counted, body)
            else:
                write_work(writer, IMPORTS, counted)
                _write(writer, id_, remaining)
            return True

        if not self._storage.write(work):
            return False
        if faults:
            _log.warning(
                "import %s: %d of %d records were not imported, the first one because %s",
                id_,
                len(faults),
                len(batch),
                faults[0],
            )
        if not is_last:
            self._inputs.give_back(id_, remaining, stream)
        return is_last

    def _finish(self, writer: StorageWriter, imported: WorkBody, body: TableBody) -> None:
        """Record that an import has read all of its files; it fails if some records are missing."""
        finish_filling(writer, body)
        facts = {"ImportStatus": "COMPLETED"}
        if imported["description"]["ErrorCount"]:
            facts = {
                "ImportStatus": "FAILED",
                "FailureCode": "ItemValidationError",
                "FailureMessage": _NOT_ALL_IMPORTED,
            }
        self._end(writer, imported, facts)

    def _fail(self, writer: StorageWriter, id_: str, failure: BucketFailed) -> None:
        """Record why an import failed, and delete its table."""
        imported, record = (
            read_work(writer, IMPORTS, id_),
            writer.get_record(IMPORT_JOB_RECORD, id_),
        )
        if imported is None or record is None:
            return
        job = _parse(id_, record)
        body = read_body(writer, job["table"])
        assert body is not None  # it cannot be deleted while it is being imported
        writer.drop_rows(build_table(body).rows)
        writer.set_record(TABLE_RECORD, job["table"], None)
        facts = {"FailureCode": failure.code, "FailureMessage": failure.message}
        self._end(writer, imported, {"ImportStatus": "FAILED", **facts})

    def _end(self, writer: StorageWriter, imported: WorkBody, facts: dict[str, Any]) -> None:
        described = {**imported["description"], **facts, "EndTime": self._clock()}
        write_work(writer, IMPORTS, {**imported, "description": described})
        writer.set_record(IMPORT_JOB_RECORD, imported["id"], None)


def begin_importing(writer: StorageWriter, id_: str, job: ImportJob) -> None:
    """Store an import as a job to be run."""
    _write(writer, id_, job)


def _make_puts(
    table: EngineTable, batch: list[InputRecord], write_check: WriteCheck | None
) -> tuple[list[tuple[bytes, PutAction]], list[str]]:
    """Return the rows to write, and what is wrong with the other records."""
    puts: list[tuple[bytes, PutAction]] = []
    faults: list[str] = []
    for source in batch:
        raw = source.record.item
        if isinstance(raw, str):
            faults.append(raw)
            continue
        try:
            item, size = normalise_item(raw)
            check_item_size(size)
            row = make_put(table, item, size)
            check_first_put(write_check, item)
            puts.append(row)
        except ServiceError as error:
            faults.append(error.message or error.type)
    return puts, faults


def _count(imported: WorkBody, batch: list[InputRecord], imported_items: int) -> WorkBody:
    described = dict(imported["description"])
    described["ProcessedItemCount"] += len(batch)
    described["ProcessedSizeBytes"] += sum(source.record.size_bytes for source in batch)
    described["ImportedItemCount"] += imported_items
    described["ErrorCount"] += len(batch) - imported_items
    return {**imported, "description": described}


def _parse(id_: str, record: bytes) -> ImportJob:
    fields = frozenset(ImportJob.__annotations__)
    return cast(ImportJob, parse_record(IMPORT_JOB_RECORD, id_, record, fields))


def _write(writer: StorageWriter, id_: str, job: ImportJob) -> None:
    writer.set_record(IMPORT_JOB_RECORD, id_, orjson.dumps(job))
