"""Checks of a whole file: that rows, indexes, logs and metadata are consistent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import orjson

from keyfold.engine.bulk.work_records import (
    BULK_JOB_RECORD,
    BULK_OPERATIONS,
    EXPORTS,
    IMPORT_JOB_RECORD,
    IMPORTS,
)
from keyfold.engine.items.keys import entry_or_none
from keyfold.engine.metadata import parse_record
from keyfold.engine.recovery.backups import BACKUP_RECORD, parse_backup, to_backup_table
from keyfold.engine.recovery.rewind_job import EXPORT_JOB_RECORD, RESTORE_RECORD
from keyfold.engine.storage import RowsChanged, Storage, StorageReader, StoredRow
from keyfold.engine.streams.change_log import LOG_RECORD
from keyfold.engine.tables.backfill import BACKFILL_RECORD
from keyfold.engine.tables.catalog import COUNTER_RECORD, TABLE_RECORD, parse_body
from keyfold.engine.tables.table import EngineTable, Unreadable, build_table
from keyfold.errors import FileDamaged, ServiceError
from keyfold.values import Item, hash_row_key, normalise_item

_BATCH_ROWS = 1_000

# The errors that reading arbitrary bytes as an item or a definition may raise.
_UNREADABLE = (
    ServiceError,
    AttributeError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    RecursionError,
)


class Problem(NamedTuple):
    """One inconsistency of a file: where it is, and what is wrong."""

    subject: str
    fact: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.fact}"


def verify(storage: Storage) -> list[Problem]:
    """Return every problem of a file; an empty list means that it is intact.

    Nothing stored is trusted: damage is reported as a problem, not raised as an error.
    """
    # Imported here, since an engine that does not verify need not load them.
    from keyfold.engine.streams.lifecycle import STREAM_RECORD, find_stream_faults  # noqa: PLC0415
    from keyfold.engine.streams.log_faults import find_log_faults  # noqa: PLC0415

    try:
        facts = storage.read(lambda reader: reader.check_structure(), is_long=True)
        problems = [Problem("file", fact) for fact in facts]
        names = [name for name, _ in storage.read(lambda reader: reader.list_records(TABLE_RECORD))]
        backups = storage.read(lambda reader: reader.list_records(BACKUP_RECORD))
        logs = [name for name, _ in storage.read(lambda reader: reader.list_records(LOG_RECORD))]
        streams = [
            name for name, _ in storage.read(lambda reader: reader.list_records(STREAM_RECORD))
        ]
        # Every row set and log has its number from this record, so only damage removes it.
        has_counter = storage.read(lambda reader: reader.get_record(COUNTER_RECORD, "rows"))
        if has_counter is None and storage.read(lambda reader: reader.has_rows()):
            problems.append(Problem("metadata", "its records are missing, but the file has rows"))
    except FileDamaged as error:
        return [Problem("file", error.detail)]
    for name in names:
        problems += _verify_part(storage, f"table {name}", partial(_verify_table, name))
    for id_, _ in backups:
        problems += _verify_part(storage, f"backup {id_}", partial(_verify_backup, id_))
    problems += _verify_part(storage, "metadata", _verify_jobs)
    for kind, find, some in (
        ("log", find_log_faults, logs),
        ("stream", find_stream_faults, streams),
    ):
        for name in some:
            try:
                facts = storage.read(partial(find, name), is_long=True)
            except FileDamaged as error:
                facts = [error.detail]
            except RowsChanged:
                facts = ["its changes are missing"]
            except (Unreadable, *_UNREADABLE) as error:
                facts = [f"cannot be read: {error!r}"]
            problems += [Problem(f"{kind} {name}", fact) for fact in facts]
    return problems


def _verify_part(
    storage: Storage, subject: str, work: Callable[[StorageReader], list[Problem]]
) -> list[Problem]:
    """Check one part of a file; an error that prevents reading it is a problem too."""
    try:
        return storage.read(work, is_long=True)
    except FileDamaged as error:
        return [Problem(subject, error.detail)]
    except RowsChanged:
        return [Problem(subject, "its rows are missing")]


def _verify_table(name: str, reader: StorageReader) -> list[Problem]:
    """Check one table, as of one point in time."""
    record = reader.get_record(TABLE_RECORD, name)
    if record is None:
        return []
    try:
        table = build_table(parse_body(name, record))
    except (Unreadable, *_UNREADABLE) as error:
        reason = error.__cause__ or error
        return [Problem(f"table {name}", f"its definition cannot be read: {reason!r}")]
    problems: list[Problem] = []
    if table.log is not None and reader.get_record(LOG_RECORD, str(table.log)) is None:
        problems.append(Problem(f"table {name}", f"its log {table.log} is missing"))
    is_filling = reader.get_record(BACKFILL_RECORD, name) is not None
    return problems + _verify_rows(f"table {name}", table, reader, is_filling=is_filling)


def _verify_backup(id_: str, reader: StorageReader) -> list[Problem]:
    """Check one backup, which may still be in progress."""
    record = reader.get_record(BACKUP_RECORD, id_)
    if record is None:
        return []
    subject = f"backup {id_}"
    try:
        backup = parse_backup(id_, record)
        table = to_backup_table(backup)
        items, size_bytes = backup["items"], backup["size_bytes"]
    except (Unreadable, *_UNREADABLE) as error:
        return [Problem(subject, f"its record cannot be read: {error!r}")]
    problems = _verify_rows(subject, table, reader, is_filling=False)
    counted = reader.count_rows(table.rows)[:2]
    if counted != (items, size_bytes):
        recorded = f"its record says {items} items and {size_bytes} bytes"
        fact = f"{recorded}, but it has {counted[0]} items and {counted[1]} bytes"
        problems.append(Problem(subject, fact))
    return problems


def _verify_jobs(reader: StorageReader) -> list[Problem]:
    """Check that the records of jobs, unfinished and finished, can be read."""
    problems: list[Problem] = []
    for kind in (
        RESTORE_RECORD,
        EXPORT_JOB_RECORD,
        EXPORTS.record,
        IMPORT_JOB_RECORD,
        IMPORTS.record,
        BULK_JOB_RECORD,
        BULK_OPERATIONS.record,
    ):
        for name, record in reader.list_records(kind):
            try:
                parse_record(kind, name, record, frozenset())
            except Unreadable:
                problems.append(Problem(f"{kind} {name}", "its record cannot be read"))
    return problems


def _verify_rows(
    subject: str, table: EngineTable, reader: StorageReader, *, is_filling: bool
) -> list[Problem]:
    problems: list[Problem] = []
    low = b""
    while True:
        batch = reader.read_entries(table.rows, low, limit=_BATCH_ROWS)
        for stored in batch:
            place = f"{subject}, row {_show_key(stored.key)}"
            try:
                facts = _find_faults(table, stored, is_filling=is_filling)
            except _UNREADABLE as error:
                facts = [f"cannot be read: {error!r}"]
            problems += [Problem(place, fact) for fact in facts]
        if len(batch) < _BATCH_ROWS or not batch[-1].key:
            return problems
        low = batch[-1].key + b"\0"


def _show_key(key: object) -> str:
    return key.hex() if isinstance(key, bytes) else repr(key)


def _find_faults(table: EngineTable, stored: StoredRow, *, is_filling: bool) -> list[str]:
    key, (value, size), key_hash, entries = stored
    item: Item = orjson.loads(value)
    normal, actual = normalise_item(item)
    facts: list[str] = []
    if normal is not item:
        facts.append("is not in normal form")
    if actual != size:
        facts.append(f"has a recorded size of {size}, but its item has {actual}")
    try:
        expected_key = table.encode_key(item)
        if expected_key != key:
            facts.append("has a key that differs from its item's")
        if any(entries) and hash_row_key(expected_key) != key_hash:
            facts.append("has a hash of its key that differs from its item's")
    except KeyError:
        facts.append("lacks a key attribute")
    for column, encode, entry in zip(table.rows.columns, table.encoders, entries, strict=True):
        expected = entry_or_none(encode, item)
        if entry != expected and not (is_filling and entry is None):
            facts.append(
                f"has an entry in {_describe_column(table, column)} that differs from its item's"
            )
    return facts


def _describe_column(table: EngineTable, column: str) -> str:
    for index in (*table.indexes.values(), *table.vectors.values()):
        if index.column == column:
            return f"index {index.name}"
    return "the expiry order"
