"""The log of a table's changes, for those who read it: streams, and point-in-time recovery.

A table has a log as long as its settings ask for one. From its opening to its closing every
change of an item that changed something is in it, written by the commit that wrote the item.
A table that asks for one again gets another log, whose numbers go on from the last.

Switching a log on or off raises the version of the table's rows. A process that has not heard
of it can therefore not write, and so not leave out a change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NotRequired, TypedDict, cast

import orjson

from keyfold.engine._catalog import (
    COUNTER_RECORD,
    change_columns,
    read_body,
    take_number,
    write_body,
)
from keyfold.engine._tables import EngineTable, TableBody, Unreadable, build_table
from keyfold.engine._usage import plan_watch
from keyfold.engine.expressions import are_equal
from keyfold.engine.storage import Storage, StorageReader, StorageWriter

LOG_RECORD = "log"

DAY_SECONDS = 86_400
# How long a change stays readable for streams, also for those that are off.
STREAM_SECONDS = DAY_SECONDS
# A restore to the earliest second may take a while: changes stay longer than they may be asked for.
_RECOVERY_SLACK_SECONDS = 3_600
_TRIMMED_AT_ONCE = 500


class LogBody(TypedDict):
    """A log as the metadata have it."""

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
    value: bytes,
    size: int,
    entries: tuple[bytes | None, ...],
) -> None:
    """Write a row of a table that has a log, unless that would change nothing."""
    assert table.log is not None  # or there would be nothing to record
    row = writer.get(table.rows, row_key)
    old = None if row is None else row[0]
    if old is not None and _is_same(old, value):
        return
    writer.put(table.rows, row_key, value, size, entries)
    writer.append_change(table.log, row_key, old, value, is_expiry=False)


def record_put_if(
    writer: StorageWriter,
    table: EngineTable,
    row_key: bytes,
    value: bytes,
    size: int,
    entries: tuple[bytes | None, ...],
    holds: Callable[[bytes | None], bool],
) -> bool:
    """Do the same if `holds` says so of the value that is there, or of None; say whether."""
    row = writer.get(table.rows, row_key)
    if not holds(None if row is None else row[0]):
        return False
    record_put(writer, table, row_key, value, size, entries)
    return True


def record_delete(
    writer: StorageWriter, table: EngineTable, row_key: bytes, *, is_expiry: bool
) -> None:
    """Remove a row of a table that has a log."""
    assert table.log is not None  # or there would be nothing to record
    row = writer.get(table.rows, row_key)
    if row is not None:
        writer.delete(table.rows, row_key)
        writer.append_change(table.log, row_key, row[0], None, is_expiry=is_expiry)


def _is_same(old: bytes, new: bytes) -> bool:
    """Tell whether two stored items are equal; attributes and sets have no order."""
    if old == new:
        return True
    # The order alone does not change the length, so most changes are told by that.
    return len(old) == len(new) and are_equal({"M": orjson.loads(old)}, {"M": orjson.loads(new)})


def needs_log(body: TableBody) -> bool:
    """Tell whether somebody reads the changes of a table."""
    return "stream" in body or "recovery" in body


def retention_seconds(body: TableBody | None) -> float:
    """Return how long the longest of a log's readers needs a change."""
    if body is not None and "recovery" in body:
        return body["recovery"]["days"] * DAY_SECONDS + _RECOVERY_SLACK_SECONDS
    return STREAM_SECONDS


def open_log(writer: StorageWriter, body: TableBody, now: float) -> int:
    """Make a log for a table, and return its number.

    The version of the table's rows must be raised by whoever keeps it in the body.
    """
    number = take_number(writer)
    writer.create_log(number, after=int(writer.get_record(COUNTER_RECORD, "changes") or b"0"))
    opened = LogBody(number=number, table=body["name"], table_id=body["id"], opened_at=now)
    _write_log(writer, opened)
    return number


def close_log(writer: StorageWriter, number: int, now: float) -> None:
    """Say that nothing is written to a log any more. What it holds stays for a while."""
    log = read_log(writer, number)
    _, last = writer.log_span(number)
    used = int(writer.get_record(COUNTER_RECORD, "changes") or b"0")
    # The next log of this table goes on from there; that others may skip numbers is no fault.
    writer.set_record(COUNTER_RECORD, "changes", str(max(used, last)).encode())
    _write_log(writer, {**log, "closed_at": now})


def keep_body(writer: StorageWriter, before: TableBody, after: TableBody, now: float) -> None:
    """Keep a changed body, with the log that it asks for and rows that match it."""
    if needs_log(after) and "log" not in after:
        after["log"] = open_log(writer, after, now)
    elif "log" in after and not needs_log(after):
        close_log(writer, after.pop("log"), now)
    # Columns are the places that rows have, a log the place that changes of them are told to.
    # Both, and what is watched of a table, the other processes learn by a new version.
    if (build_table(before).rows.columns, before.get("log"), plan_watch(before)) == (
        build_table(after).rows.columns,
        after.get("log"),
        plan_watch(after),
    ):
        write_body(writer, after)
    else:
        after["version"] = before["version"] + 1
        change_columns(writer, before, after)


def read_log(reader: StorageReader, number: int) -> LogBody:
    """Return what the metadata say about a log."""
    record = reader.get_record(LOG_RECORD, str(number))
    return _parse_log(str(number), record)


def list_logs(reader: StorageReader) -> list[LogBody]:
    """Return every log that can be read, also those that are closed and not removed yet."""
    logs: list[LogBody] = []
    for name, record in reader.list_records(LOG_RECORD):
        # What is damaged is for `verify` to report; the others go on.
        with suppress(Unreadable):
            logs.append(_parse_log(name, record))
    return logs


def trim_batch(storage: Storage, log: LogBody, now: float) -> int:
    """Remove some changes that nobody may read any more; return how many.

    A log that is closed is removed whole once all of it is too old. A batch is one short
    transaction, so that writers wait little.
    """
    number = log["number"]
    # Looking first keeps a round that finds nothing from taking the write lock.
    if not _is_over(log, now):
        known = storage.read(lambda reader: _horizon(reader, log, now) - reader.log_span(number)[0])
        if known <= 0:
            return 0

    def work(writer: StorageWriter) -> int:
        record = writer.get_record(LOG_RECORD, str(number))
        if record is None:
            # Another process was here.
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
    """Return the sequence number of the newest change that nobody may read any more."""
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
