"""The change log of a table, which streams and point-in-time recovery read.

A table has a log while its settings require one. From its opening to its closing, the log holds
every write that changed an item, written by the commit that wrote the item. A table that requires
a log again gets a new one, whose sequence numbers continue from the last.

Opening or closing a log raises the version of the table's rows. A process that does not know of
it can therefore not write, so no change can be missing from the log.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NotRequired, TypedDict, cast

import orjson

from keyfold.engine.insights.usage import plan_usage
from keyfold.engine.storage import Entries, Storage, StorageReader, StorageWriter
from keyfold.engine.tables.catalog import (
    COUNTER_RECORD,
    change_columns,
    read_body,
    take_number,
    write_body,
)
from keyfold.engine.tables.table import EngineTable, TableBody, Unreadable, build_table
from keyfold.expressions.comparison import are_equal

LOG_RECORD = "log"

DAY_SECONDS = 86_400
# How long a change stays readable in streams, including disabled ones.
STREAM_SECONDS = DAY_SECONDS
# A restore to the earliest second may take a while, so changes outlive the recovery window.
_RECOVERY_SLACK_SECONDS = 3_600
_TRIMMED_AT_ONCE = 500


class LogBody(TypedDict):
    """A log as stored in the metadata of the file."""

    number: int
    table: str
    table_id: str
    opened_at: float
    closed_at: NotRequired[float]


_REQUIRED_FIELDS = frozenset(LogBody.__annotations__) - {"closed_at"}


def record_put(
    writer: StorageWriter,
    table: EngineTable,
    row_key: bytes,
    old: bytes | None,
    value: bytes,
    size: int,
    entries: Entries,
) -> None:
    """Write a row of a table that has a log, and log it; do nothing if the item is the same.

    `old` is the stored value that the caller has read in this transaction, or None.
    """
    assert table.log is not None  # callers use this for tables with a log only
    if old is not None and _is_same(old, value):
        return
    writer.put(table.rows, row_key, value, size, entries)
    writer.append_change(table.log, row_key, old, value, is_expiry=False)


def record_delete(
    writer: StorageWriter, table: EngineTable, row_key: bytes, old: bytes, *, is_expiry: bool
) -> None:
    """Delete a row of a table that has a log, and log it; `old` is its stored value."""
    assert table.log is not None  # callers use this for tables with a log only
    writer.delete(table.rows, row_key)
    writer.append_change(table.log, row_key, old, None, is_expiry=is_expiry)


def _is_same(old: bytes, new: bytes) -> bool:
    """Return whether two stored items are equal; attributes and sets have no order."""
    if old == new:
        return True
    # The order does not change the length, so most differences show in the length alone.
    return len(old) == len(new) and are_equal({"M": orjson.loads(old)}, {"M": orjson.loads(new)})


def needs_log(body: TableBody) -> bool:
    """Return whether a stream or recovery needs the changes of a table."""
    return "stream" in body or "recovery" in body


def retention_seconds(body: TableBody | None) -> float:
    """Return how long a change is kept: as long as any reader of the log needs it."""
    if body is not None and "recovery" in body:
        return body["recovery"]["days"] * DAY_SECONDS + _RECOVERY_SLACK_SECONDS
    return STREAM_SECONDS


def open_log(writer: StorageWriter, body: TableBody, now: float) -> int:
    """Create a log for a table, and return its number.

    The caller stores the number in the body, and must raise the version of the table's rows.
    """
    number = take_number(writer)
    writer.create_log(number, after=int(writer.get_record(COUNTER_RECORD, "changes") or b"0"))
    opened = LogBody(number=number, table=body["name"], table_id=body["id"], opened_at=now)
    _write_log(writer, opened)
    return number


def close_log(writer: StorageWriter, number: int, now: float) -> None:
    """Mark a log as closed. Its changes stay readable for a while."""
    log = read_log(writer, number)
    _, last = writer.log_span(number)
    used = int(writer.get_record(COUNTER_RECORD, "changes") or b"0")
    # The table's next log continues from here; other tables' logs may skip numbers, harmlessly.
    writer.set_record(COUNTER_RECORD, "changes", str(max(used, last)).encode())
    _write_log(writer, {**log, "closed_at": now})


def save_changed_body(
    writer: StorageWriter, before: TableBody, after: TableBody, now: float
) -> None:
    """Write a changed body; open or close its log, and change its rows' columns, to match."""
    if needs_log(after) and "log" not in after:
        after["log"] = open_log(writer, after, now)
    elif "log" in after and not needs_log(after):
        close_log(writer, after.pop("log"), now)
    # Other processes must reload the table, which a new version makes them do, if its columns,
    # its log or its usage plan have changed.
    if (build_table(before).rows.columns, before.get("log"), plan_usage(before)) == (
        build_table(after).rows.columns,
        after.get("log"),
        plan_usage(after),
    ):
        write_body(writer, after)
    else:
        after["version"] = before["version"] + 1
        change_columns(writer, before, after)


def read_log(reader: StorageReader, number: int) -> LogBody:
    """Return the record of a log. Raises Unreadable."""
    record = reader.get_record(LOG_RECORD, str(number))
    return _parse_log(str(number), record)


def list_logs(reader: StorageReader) -> list[LogBody]:
    """Return every readable log, including closed ones that are not removed yet."""
    logs: list[LogBody] = []
    for name, record in reader.list_records(LOG_RECORD):
        # `verify` reports damaged records; the others stay usable.
        with suppress(Unreadable):
            logs.append(_parse_log(name, record))
    return logs


def trim_batch(storage: Storage, log: LogBody, now: float) -> int:
    """Remove a batch of changes that are past their retention; return how many.

    A closed log is removed as a whole once all of it is past its retention. A batch is one short
    transaction, so that writers do not wait long.
    """
    number = log["number"]
    # Reading first keeps a run that finds nothing from taking the write lock.
    if not _is_over(log, now):
        known = storage.read(lambda reader: _horizon(reader, log, now) - reader.log_span(number)[0])
        if known <= 0:
            return 0

    def work(writer: StorageWriter) -> int:
        record = writer.get_record(LOG_RECORD, str(number))
        if record is None:
            # Another process removed the log.
            return 0
        current = _parse_log(str(number), record)
        if _is_over(current, now):
            writer.drop_log(number)
            writer.set_record(LOG_RECORD, str(number), None)
            return 0
        until = _horizon(writer, current, now)
        return writer.trim_changes(number, until=until, limit=_TRIMMED_AT_ONCE)

    return storage.write(work)


def _is_over(log: LogBody, now: float) -> bool:
    return "closed_at" in log and log["closed_at"] + STREAM_SECONDS <= now


def _horizon(reader: StorageReader, log: LogBody, now: float) -> int:
    """Return the sequence number of the newest change that is past its retention."""
    body = None if "closed_at" in log else read_body(reader, log["table"])
    return reader.find_change(log["number"], now - retention_seconds(body))


def _parse_log(name: str, record: bytes | None) -> LogBody:
    try:
        log = orjson.loads(record or b"")
        if not log.keys() >= _REQUIRED_FIELDS:
            raise KeyError(name)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"the record of log {name}") from error
    return cast(LogBody, log)


def _write_log(writer: StorageWriter, log: LogBody) -> None:
    writer.set_record(LOG_RECORD, str(log["number"]), orjson.dumps(log))
