"""The catalog of a file's tables, kept correct across all processes that have it open.

A table's body is a record in the file. Each process caches the tables it has used. It
learns that another process changed one when storage refuses its RowSet: the version is part
of the name that every statement uses. So an unchanged table costs no check at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import cast

import orjson

from keyfold.api import WriteCheck
from keyfold.api.shapes import plain_name
from keyfold.engine.insights.usage import UsageMonitors
from keyfold.engine.storage import RowSet, Storage, StorageReader, StorageWriter
from keyfold.engine.tables.table import (
    REQUIRED_FIELDS,
    EngineTable,
    TableBody,
    Unreadable,
    build_table,
)
from keyfold.errors import ResourceInUseException, ResourceNotFoundException

TABLE_RECORD = "table"
COUNTER_RECORD = "counter"

# Of a table, and of an index.
_STATUSES = frozenset({"ACTIVE", "CREATING", "DELETING", "UPDATING"})


class Catalog:
    """Finds tables by name; changes to tables go through it."""

    def __init__(
        self, storage: Storage, monitors: UsageMonitors, write_checks: Mapping[str, WriteCheck]
    ) -> None:
        self._storage, self._monitors, self._write_checks = storage, monitors, write_checks
        self._known: dict[str, EngineTable] = {}
        # Separate, so that the fast paths, which use `known`, do not handle monitored tables.
        self._monitored: dict[str, EngineTable] = {}

    def find(self, name: str) -> EngineTable:
        """Return a table, by name or ARN, for reading or writing items.

        Raises ResourceNotFoundException with the message of the item operations.
        """
        # A table is cached once, by its name, however its ARN is spelled.
        return self._known.get(name) or self._known.get(plain_name(name)) or self._load(name)

    def _load(self, name: str) -> EngineTable:
        plain = plain_name(name)
        monitored = self._monitored.get(plain)
        if monitored is not None:
            return monitored
        body = self._storage.read(lambda reader: read_body(reader, plain))
        if body is None or body["status"] not in ("ACTIVE", "UPDATING"):
            raise ResourceNotFoundException("Requested resource not found")
        monitor, check = self._monitors.monitor_for(body), self._write_checks.get(plain)
        if monitor is not None:
            table = replace(build_table(body), monitor=monitor, check=check)
            self._monitored[plain] = table
        else:
            table = self._known[plain] = replace(build_table(body), check=check)
        return table

    def known(self, name: object) -> EngineTable | None:
        """Return a cached table that is not monitored, or None. It may be outdated."""
        return self._known.get(name) if name.__class__ is str else None  # pyright: ignore[reportArgumentType] - its class is str

    def forget(self) -> None:
        """Clear the cache; the next use of a table reads the file again."""
        self._known.clear()
        self._monitored.clear()

    def is_outdated(self) -> bool:
        """Return whether a cached table has been changed or deleted in the file."""
        known = [*self._known.values(), *self._monitored.values()]

        def work(reader: StorageReader) -> bool:
            for table in known:
                body = read_body(reader, table.name)
                if body is None or (body["id"], body["version"]) != (
                    table.body["id"],
                    table.body["version"],
                ):
                    return True
            return False

        return bool(known) and self._storage.read(work)

    def names(self) -> list[str]:
        """Return the names of all tables, sorted."""
        records = self._storage.read(lambda reader: reader.list_records(TABLE_RECORD))
        return sorted(name for name, _ in records)

    def bodies(self) -> list[TableBody]:
        """Return the bodies of all readable tables, as they are in the file now."""
        records = self._storage.read(lambda reader: reader.list_records(TABLE_RECORD))
        bodies: list[TableBody] = []
        for name, record in records:
            # A damaged table raises when it is used; the others stay usable.
            with suppress(Unreadable):
                bodies.append(parse_body(name, record))
        return bodies


def read_body(reader: StorageReader, name: str) -> TableBody | None:
    """Return a table's body from the file; None if there is no such table."""
    record = reader.get_record(TABLE_RECORD, name)
    return None if record is None else parse_body(name, record)


def parse_body(name: str, record: bytes) -> TableBody:
    """Return a table's body from its record. Raises Unreadable."""
    try:
        body = orjson.loads(record)
        if not body.keys() >= REQUIRED_FIELDS:
            raise KeyError(name)
        for part in (body, *body["indexes"], *body.get("vectors", ())):
            if part["status"] not in _STATUSES:
                raise ValueError(part["status"])
        build_table(body)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"the definition of table {name}") from error
    return cast(TableBody, body)


def require_body(reader: StorageReader, name: str) -> TableBody:
    """Return a table's body.

    Raises ResourceNotFoundException with the message of the table operations.
    """
    body = read_body(reader, name)
    if body is None:
        raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
    return body


def require_settled(reader: StorageReader, name: str) -> TableBody:
    """Return the body of a table that may be changed.

    Raises ResourceInUseException while the table is being created.
    """
    body = require_body(reader, name)
    if body["status"] == "CREATING":
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: Table is being created: {name}"
        )
    return body


def write_body(writer: StorageWriter, body: TableBody) -> None:
    """Write a table's body to the file."""
    writer.set_record(TABLE_RECORD, body["name"], orjson.dumps(body))


def change_columns(writer: StorageWriter, before: TableBody, after: TableBody) -> None:
    """Write a body whose columns differ from those of `before`, and change the rows to match.

    The version of `after` must be one higher than that of `before`.
    """
    old, new = build_table(before).rows, build_table(after).rows
    writer.change_columns(old, RowSet(new.number, new.version, new.columns))
    write_body(writer, after)


def take_number(writer: StorageWriter) -> int:
    """Return a number for a new row set or log, never used before in this file."""
    record = writer.get_record(COUNTER_RECORD, "rows")
    number = int(record or b"0") + 1
    writer.set_record(COUNTER_RECORD, "rows", str(number).encode())
    return number
