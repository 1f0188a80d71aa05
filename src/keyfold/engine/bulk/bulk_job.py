"""Running a bulk operation: put the records of input files into a table that is in use.

Each batch is a short transaction that writes items as PutItem does, and stores the position
reached (file and record) and the lines to report. A process that continues after a killed one
therefore neither skips a record nor puts one twice. The report is written after all records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, NotRequired, cast

import orjson

from keyfold.api import WriteCheck
from keyfold.api.shapes import check, check_types
from keyfold.clocks import Clock
from keyfold.engine.bulk.buckets import BucketFailed, Buckets
from keyfold.engine.bulk.bulk_reports import ReportsBody, add_lines, write_file, write_summary
from keyfold.engine.bulk.input_files import InputFiles, InputRecord, SourceBody
from keyfold.engine.bulk.work_records import (
    BULK_JOB_RECORD,
    BULK_OPERATIONS,
    WorkBody,
    read_work,
    write_work,
)
from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.keys import entry_or_none
from keyfold.engine.items.write_checks import check_outcomes
from keyfold.engine.items.writes import (
    ConditionNotMet,
    ItemWrite,
    WriteOutcome,
    check_item_size,
    evaluate_write,
    make_put,
    split_condition,
    store,
)
from keyfold.engine.metadata import parse_record
from keyfold.engine.recovery.copy_job import to_rows
from keyfold.engine.storage import Storage, StorageWriter
from keyfold.engine.tables.catalog import read_body
from keyfold.engine.tables.table import EngineTable, build_table
from keyfold.errors import ServiceError, ValidationException
from keyfold.expressions.parameters import check_expression_use, read_condition
from keyfold.values import item_size_bytes, normalise_item

BATCH_RECORDS = 100

# Members that a record may have beside its item, as in a PutItem request.
_CONDITION = ("ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues")


class BulkJob(SourceBody):
    """The remaining work of a bulk operation: first the input files, then the report."""

    table: str
    table_id: str
    reports: ReportsBody
    # Set after the last record: the key of the next line to report, as hex; None after the last.
    next: NotRequired[str | None]


class _Fault(NamedTuple):
    """The error that a record fails with."""

    code: str
    message: str


class _Plan(NamedTuple):
    """A record, and the write to make for it or the error it fails with."""

    source: InputRecord
    write: ItemWrite | _Fault


class BulkPutter:
    """Runs the bulk operations of one database file."""

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        buckets: Buckets,
        write_checks: Mapping[str, WriteCheck],
    ) -> None:
        self._storage, self._clock, self._buckets = storage, clock, buckets
        self._write_checks = write_checks
        self._inputs = InputFiles(buckets)

    def put_batch(self, id_: str) -> bool:
        """Run the next batch of an operation; return whether it was the last."""
        record, bulk = self._storage.read(
            lambda reader: (
                reader.get_record(BULK_JOB_RECORD, id_),
                read_work(reader, BULK_OPERATIONS, id_),
            )
        )
        if record is None or bulk is None:
            # Another process finished it.
            self._inputs.drop(id_)
            return True
        job = _parse(id_, record)
        try:
            if "next" in job:
                return self._report(record, job, job["next"], bulk)
            if bulk["description"]["BulkOperationStatus"] == "CANCELLING":
                self._inputs.drop(id_)
                self._save_progress(id_, record, {**job, "next": _first_line(job)})
                return False
            return self._put(record, job, bulk)
        except BucketFailed as failure:
            return self._fail(record, job, bulk, failure.code, failure.message)

    def _put(self, record: bytes, job: BulkJob, bulk: WorkBody) -> bool:
        """Put the items of one batch of records; return True only if the operation has failed."""
        id_ = bulk["id"]
        body = self._storage.read(lambda reader: read_body(reader, job["table"]))
        if body is None or body["id"] != job["table_id"]:
            message = f"Requested resource not found: Table: {job['table']} not found"
            return self._fail(record, job, bulk, "ResourceNotFoundException", message)
        # Fail before any item is written if the bucket of the report does not exist.
        self._buckets.check_bucket(bulk["description"]["OutputS3Configuration"]["S3Bucket"])
        total = bulk["description"].get("TotalInputBytes")
        if total is None:
            total = self._inputs.size_bytes(_source_of(job))
        stream = self._inputs.take(id_, _source_of(job), body)
        batch = list(islice(stream, BATCH_RECORDS))
        remaining: BulkJob = {**job}
        if batch:
            remaining["key"], remaining["records"] = batch[-1].key, batch[-1].number
        table = replace(build_table(body), check=self._write_checks.get(body["name"]))
        plans = [_Plan(source, _plan_write(table, source)) for source in batch]
        is_last = len(batch) < BATCH_RECORDS

        def work(writer: StorageWriter) -> bool:
            current = read_work(writer, BULK_OPERATIONS, id_)
            if writer.get_record(BULK_JOB_RECORD, id_) != record or current is None:
                # Another process has run this batch.
                return False
            tally = _Tally(current, job["table"], total)
            for plan in plans:
                tally.add(plan.source, _carry_out(writer, plan))
            if is_last:
                tally.end_input()
            remaining["reports"] = {**job["reports"]}
            add_lines(writer, remaining["reports"], tally.lines)
            if is_last:
                remaining["next"] = _first_line(remaining)
            write_work(writer, BULK_OPERATIONS, {**current, "description": tally.described})
            _write(writer, id_, remaining)
            return True

        if self._storage.write(work) and not is_last:
            self._inputs.give_back(id_, _source_of(remaining), stream)
        return False

    def _report(self, record: bytes, job: BulkJob, start: str | None, bulk: WorkBody) -> bool:
        """Write one file of the report or, after the last one, the summary."""
        reports = job["reports"]
        if start is not None:
            low = bytes.fromhex(start)
            written, rest = write_file(self._storage, self._buckets, bulk, reports, low)
            updated: ReportsBody = {**reports, "files": [*reports["files"], written]}
            after = None if rest is None else rest.hex()
            self._save_progress(bulk["id"], record, {**job, "reports": updated, "next": after})
            return False
        facts: dict[str, Any] = {"EndTime": self._clock(), **_describe_end(bulk["description"])}
        write_summary(self._buckets, bulk, reports, {**bulk["description"], **facts})
        return self._end(record, job, bulk, facts)

    def _save_progress(self, id_: str, record: bytes, job: BulkJob) -> None:
        """Store how far an operation got, unless another process has done so."""

        def work(writer: StorageWriter) -> None:
            if writer.get_record(BULK_JOB_RECORD, id_) == record:
                _write(writer, id_, job)

        self._storage.write(work)

    def _fail(self, record: bytes, job: BulkJob, bulk: WorkBody, code: str, message: str) -> bool:
        self._inputs.drop(bulk["id"])
        facts = {"FailureCode": code, "FailureMessage": message}
        return self._end(record, job, bulk, {"BulkOperationStatus": "FAILED", **facts})

    def _end(self, record: bytes, job: BulkJob, bulk: WorkBody, facts: dict[str, Any]) -> bool:
        """Record how an operation ended; return whether it is over.

        It is not over if it was cancelled since it was read: the next batch records that instead.
        """
        ended = {"EndTime": self._clock(), **facts}

        def work(writer: StorageWriter) -> bool:
            if writer.get_record(BULK_JOB_RECORD, bulk["id"]) != record:
                # Another process has run this batch.
                return False
            if read_work(writer, BULK_OPERATIONS, bulk["id"]) != bulk:
                return False
            described = {**bulk["description"], **ended}
            write_work(writer, BULK_OPERATIONS, {**bulk, "description": described})
            writer.drop_rows(to_rows(job["reports"]["rows"]))
            writer.set_record(BULK_JOB_RECORD, bulk["id"], None)
            return True

        return self._storage.write(work)


def begin_bulk_putting(writer: StorageWriter, id_: str, job: BulkJob) -> None:
    """Store a bulk operation as a job to be run."""
    _write(writer, id_, job)


def _plan_write(table: EngineTable, source: InputRecord) -> ItemWrite | _Fault:
    """Return the write to make for a record, or the error it fails with."""
    raw = source.record.item
    if isinstance(raw, str):
        return _Fault("ValidationException", raw)
    condition = {name: source.record.members.get(name) for name in _CONDITION}
    request = {"TableName": table.name, "Item": raw, **condition}
    try:
        check("PutItem", request)
        try:
            return _make_write(table, request)
        except ServiceError:
            check_types("PutItem", request)
            raise
    except ServiceError as error:
        return _Fault(error.type, error.message or error.type)


def _make_write(table: EngineTable, request: dict[str, Any]) -> ItemWrite:
    check_expression_use("PutItem", request)
    item, size = normalise_item(request["Item"])
    condition = read_condition(request)
    check_item_size(size)
    row_key, put = make_put(table, item, size)
    check_paths(table, condition)
    return ItemWrite(table, row_key, put, *split_condition(condition))


def _carry_out(writer: StorageWriter, plan: _Plan) -> WriteOutcome | ConditionNotMet | _Fault:
    if isinstance(plan.write, _Fault):
        return plan.write
    try:
        outcome = evaluate_write(writer, plan.write)
        check_outcomes(writer, (outcome,))
    except ConditionNotMet as failure:
        return failure
    except ValidationException as error:
        return _Fault(error.type, error.message)
    store(writer, outcome)
    return outcome


class _Tally:
    """The description after a batch, and the lines that the batch adds to the report."""

    def __init__(self, bulk: WorkBody, table: str, total_bytes: int) -> None:
        self.described = dict(bulk["description"])
        self.described["TotalInputBytes"] = total_bytes
        (usage,) = self.described["BulkOperationUsage"] or [{"TableName": table}]
        self._usage: dict[str, Any] = usage
        self.described["BulkOperationUsage"] = [usage]
        self._wanted: list[str] = self.described["OutputS3Configuration"]["OutputType"]
        self.lines: list[dict[str, Any]] = []

    def add(self, source: InputRecord, result: WriteOutcome | ConditionNotMet | _Fault) -> None:
        """Count a record and its result."""
        described = self.described
        described["ProcessedItemCount"] += 1
        # Records of a compressed file can be longer than the file, which is what the total counts.
        read_bytes = described["ProcessedInputBytes"] + source.record.size_bytes
        described["ProcessedInputBytes"] = min(read_bytes, described["TotalInputBytes"])
        match result:
            case WriteOutcome():
                self._charge(result)
            case ConditionNotMet():
                existing = {} if result.item is None else {"ExistingItem": result.item}
                fault = _Fault("ConditionalCheckFailedException", "The conditional request failed")
                self._report("CONDITION_CHECK_FAILURE", source, fault, existing)
            case _Fault():
                described["FailedItemCount"] += 1
                self._report("ERROR", source, result, {})

    def end_input(self) -> None:
        """Count all input as processed, including bytes that belong to no record."""
        self.described["ProcessedInputBytes"] = self.described["TotalInputBytes"]

    def _report(self, kind: str, source: InputRecord, fault: _Fault, more: dict[str, Any]) -> None:
        if kind in self._wanted:
            item = {} if isinstance(source.record.item, str) else {"Item": source.record.item}
            line = {"OutputType": kind, "S3Key": source.key, "Record": source.number}
            error = {"ErrorCode": fault.code, "ErrorMessage": fault.message}
            self.lines.append({**line, **error, **item, **more})

    def _charge(self, outcome: WriteOutcome) -> None:
        """Count the bytes of an item in the table and in each index that holds it."""
        item, table = outcome.new, outcome.write.table
        assert item is not None  # it was put
        self._add("Table", None, "BulkPutBytes", outcome.new_size)
        for index in table.indexes.values():
            if entry_or_none(index.encode, item) is not None:
                heading = f"{'Global' if index.is_global else 'Local'}SecondaryIndexes"
                size = item_size_bytes(index.project(item))
                self._add(heading, index.name, "BulkPutBytes", size)
        for vector in table.vectors.values():
            size = vector.write_bytes(outcome.old, item)
            if size:
                self._add("VectorIndexes", vector.name, "BulkPutVectorBytes", size)

    def _add(self, heading: str, name: str | None, unit: str, size_bytes: int) -> None:
        counts = self._usage.setdefault(heading, {})
        if name is not None:
            counts = counts.setdefault(name, {})
        counts[unit] = counts.get(unit, 0) + size_bytes
        if unit == "BulkPutBytes":
            self._usage[unit] = self._usage.get(unit, 0) + size_bytes


def _describe_end(described: dict[str, Any]) -> dict[str, Any]:
    """Return the final status of an operation whose report is written."""
    if described["BulkOperationStatus"] == "CANCELLING":
        return {
            "BulkOperationStatus": "CANCELLED",
            "FailureCode": "Cancelled",
            "FailureMessage": "The operation was cancelled",
        }
    failed = described["FailedItemCount"]
    return {"BulkOperationStatus": "COMPLETED_WITH_ERRORS" if failed else "COMPLETED"}


def _source_of(job: BulkJob) -> SourceBody:
    """Return only the input part of a job, by which `InputFiles` recognises its open files."""
    return SourceBody(
        bucket=job["bucket"],
        prefix=job["prefix"],
        form=job["form"],
        key=job["key"],
        records=job["records"],
    )


def _first_line(job: BulkJob) -> str | None:
    """Return the key to start the report from; None if there are no lines."""
    return "" if job["reports"]["lines"] else None


def _parse(id_: str, record: bytes) -> BulkJob:
    fields = frozenset(BulkJob.__annotations__) - {"next"}
    return cast(BulkJob, parse_record(BULK_JOB_RECORD, id_, record, fields))


def _write(writer: StorageWriter, id_: str, job: BulkJob) -> None:
    writer.set_record(BULK_JOB_RECORD, id_, orjson.dumps(job))
