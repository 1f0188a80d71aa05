"""Carrying out an import: files of a bucket into a new table, a batch of records at a time.

Each batch is a short transaction that also notes the file and the record it came to, so that
whoever goes on after a killed process neither misses a record nor counts one twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import islice
from typing import Any, cast

import orjson

from keyfold.engine._buckets import BucketFailed, Buckets
from keyfold.engine._catalog import TABLE_RECORD, read_body
from keyfold.engine._import_records import IMPORT_JOB_RECORD, ImportBody, read_import, write_import
from keyfold.engine._input_files import InputFiles, InputRecord, SourceBody
from keyfold.engine._records import parse_record
from keyfold.engine._restore_job import finish_filling
from keyfold.engine._tables import EngineTable, TableBody, build_table
from keyfold.engine._writes import PutAction, check_item_size, make_put
from keyfold.engine.storage import Storage, StorageWriter
from keyfold.errors import ServiceError
from keyfold.values import normalise_item

BATCH_RECORDS = 100

_log = logging.getLogger("keyfold.imports")


class ImportJob(SourceBody):
    """What is left of an import: the table, and the rest of the files."""

    table: str


class Importer:
    """Carries out the imports of one file."""

    def __init__(self, storage: Storage, clock: Callable[[], float], buckets: Buckets) -> None:
        self._storage, self._clock = storage, clock
        self._inputs = InputFiles(buckets)

    def import_batch(self, id_: str) -> bool:
        """Import some records; return whether they were the last."""
        record, imported = self._storage.read(
            lambda reader: (reader.get_record(IMPORT_JOB_RECORD, id_), read_import(reader, id_))
        )
        if record is None or imported is None:
            # Another process finished it.
            self._inputs.drop(id_)
            return True
        job = _parse(id_, record)
        body = self._storage.read(lambda reader: read_body(reader, job["table"]))
        assert body is not None  # it cannot be deleted before it is whole
        try:
            stream = self._inputs.take(id_, job, body)
        except BucketFailed as error:
            failure = error
            self._storage.write(lambda writer: self._fail(writer, id_, failure))
            return True
        steps = list(islice(stream, BATCH_RECORDS))
        left: ImportJob = {**job}
        if steps:
            left["key"], left["records"] = steps[-1].key, steps[-1].records
        table = build_table(body)
        puts, faults = _make_puts(table, steps)
        is_last = len(steps) < BATCH_RECORDS

        def work(writer: StorageWriter) -> bool:
            if writer.get_record(IMPORT_JOB_RECORD, id_) != record:
                # Another process was here.
                return False
            for key, put in puts:
                writer.put(table.rows, key, put.value, put.size, put.entries)
            counted = _count(imported, steps, len(puts))
            if is_last:
                self._finish(writer, counted, body)
            else:
                write_import(writer, counted)
                _write(writer, id_, left)
            return True

        if not self._storage.write(work):
            return False
        if faults:
            _log.warning(
                "import %s: %d of %d records were not imported, the first one because %s",
                id_,
                len(faults),
                len(steps),
                faults[0],
            )
        if not is_last:
            self._inputs.give_back(id_, left, stream)
        return is_last

    def _finish(self, writer: StorageWriter, imported: ImportBody, body: TableBody) -> None:
        finish_filling(writer, body)
        self._end(writer, imported, {"ImportStatus": "COMPLETED"})

    def _fail(self, writer: StorageWriter, id_: str, failure: BucketFailed) -> None:
        """Say why an import failed. The table that nothing came into goes."""
        imported, record = read_import(writer, id_), writer.get_record(IMPORT_JOB_RECORD, id_)
        if imported is None or record is None:
            return
        job = _parse(id_, record)
        body = read_body(writer, job["table"])
        assert body is not None  # it cannot be deleted before it is whole
        writer.drop_rows(build_table(body).rows)
        writer.set_record(TABLE_RECORD, job["table"], None)
        facts = {"FailureCode": failure.code, "FailureMessage": failure.message}
        self._end(writer, imported, {"ImportStatus": "FAILED", **facts})

    def _end(self, writer: StorageWriter, imported: ImportBody, facts: dict[str, Any]) -> None:
        described = {**imported["description"], **facts, "EndTime": self._clock()}
        write_import(writer, {**imported, "description": described})
        writer.set_record(IMPORT_JOB_RECORD, imported["id"], None)


def begin_importing(writer: StorageWriter, id_: str, job: ImportJob) -> None:
    """Note that an import is to be carried out."""
    _write(writer, id_, job)


def _make_puts(
    table: EngineTable, steps: list[InputRecord]
) -> tuple[list[tuple[bytes, PutAction]], list[str]]:
    """Return what is to be written, and what is wrong with the rest."""
    puts: list[tuple[bytes, PutAction]] = []
    faults: list[str] = []
    for step in steps:
        raw = step.record.item
        if isinstance(raw, str):
            faults.append(raw)
            continue
        try:
            item, size = normalise_item(raw)
            check_item_size(size)
            puts.append(make_put(table, item, size))
        except ServiceError as error:
            faults.append(error.message or error.type)
    return puts, faults


def _count(imported: ImportBody, steps: list[InputRecord], imported_items: int) -> ImportBody:
    described = dict(imported["description"])
    described["ProcessedItemCount"] += len(steps)
    described["ProcessedSizeBytes"] += sum(step.record.size_bytes for step in steps)
    described["ImportedItemCount"] += imported_items
    described["ErrorCount"] += len(steps) - imported_items
    return {**imported, "description": described}


def _parse(id_: str, record: bytes) -> ImportJob:
    fields = frozenset(ImportJob.__annotations__)
    return cast(ImportJob, parse_record(IMPORT_JOB_RECORD, id_, record, fields))


def _write(writer: StorageWriter, id_: str, job: ImportJob) -> None:
    writer.set_record(IMPORT_JOB_RECORD, id_, orjson.dumps(job))
