"""The tables of one file, as every process that has it open must see them.

A table's body is a record in the file. Each process keeps the tables it has used. It
learns that one was changed elsewhere when storage refuses its RowSet: the version is part
of the name that every statement uses. So an unchanged table costs no check at all.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import cast

import orjson

from keyfold.engine._tables import REQUIRED_FIELDS, EngineTable, TableBody, Unreadable, build_table
from keyfold.engine._usage import Watches
from keyfold.engine.shapes import plain_name
from keyfold.engine.storage import RowSet, Storage, StorageReader, StorageWriter
from keyfold.errors import ResourceInUseException, ResourceNotFoundException

TABLE_RECORD = "table"
COUNTER_RECORD = "counter"


class Catalog:
    """Finds tables by name; changes to tables go through it."""

    def __init__(self, storage: Storage, watches: Watches) -> None:
        self._storage, self._watches = storage, watches
        self._known: dict[str, EngineTable] = {}
        # Kept apart, so that the quick roads, which ask for what is known, leave them alone.
        self._watched: dict[str, EngineTable] = {}

    def find(self, name: str) -> EngineTable:
        """Return a table, by name or ARN, for reading or writing items.

        Raises ResourceNotFoundException in the words of the item operations.
        """
        # One table is kept once, by its name, however its ARN is spelled.
        return self._known.get(name) or self._known.get(plain_name(name)) or self._load(name)

    def _load(self, name: str) -> EngineTable:
        plain = plain_name(name)
        watched = self._watched.get(plain)
        if watched is not None:
            return watched
        body = self._storage.read(lambda reader: read_body(reader, plain))
        if body is None or body["status"] not in ("ACTIVE", "UPDATING"):
            raise ResourceNotFoundException("Requested resource not found")
        watch = self._watches.keep(body)
        if watch is not None:
            table = self._watched[plain] = replace(build_table(body), watch=watch)
        else:
            table = self._known[plain] = build_table(body)
        return table

    def known(self, name: object) -> EngineTable | None:
        """Return a table that was used before and is not watched, as far as this process knows."""
        return self._known.get(name) if name.__class__ is str else None  # pyright: ignore[reportArgumentType] - text by its class

    def forget(self) -> None:
        """Drop what is known; the next use reads the file again."""
        self._known.clear()
        self._watched.clear()

    def is_outdated(self) -> bool:
        """Tell whether the file knows better about a table that was used."""
        known = [*self._known.values(), *self._watched.values()]

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
        """Return the names of all tables, in order."""
        records = self._storage.read(lambda reader: reader.list_records(TABLE_RECORD))
        return sorted(name for name, _ in records)

    def bodies(self) -> list[TableBody]:
        """Return the bodies of all tables that can be read, as they are in the file now."""
        records = self._storage.read(lambda reader: reader.list_records(TABLE_RECORD))
        bodies: list[TableBody] = []
        for name, record in records:
            # One that is damaged is met by whoever uses that table; the others go on.
            with suppress(Unreadable):
                bodies.append(parse_body(name, record))
        return bodies


def read_body(reader: StorageReader, name: str) -> TableBody | None:
    """Return a table's body as it is in the file."""
    record = reader.get_record(TABLE_RECORD, name)
    return None if record is None else parse_body(name, record)


def parse_body(name: str, record: bytes) -> TableBody:
    """Return a table's body from its record; raises Unreadable."""
    try:
        body = orjson.loads(record)
        if not body.keys() >= REQUIRED_FIELDS:
            raise KeyError(name)
        build_table(body)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"the definition of table {name}") from error
    return cast(TableBody, body)


def require_body(reader: StorageReader, name: str) -> TableBody:
    """Return a table's body, or raise in the words of the table operations."""
    body = read_body(reader, name)
    if body is None:
        raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
    return body


def require_settled(reader: StorageReader, name: str) -> TableBody:
    """Return the body of a table that may be changed: one that is not being made."""
    body = require_body(reader, name)
    if body["status"] == "CREATING":
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: Table is being created: {name}"
        )
    return body


def write_body(writer: StorageWriter, body: TableBody) -> None:
    """Keep a table's body in the file."""
    writer.set_record(TABLE_RECORD, body["name"], orjson.dumps(body))


def change_columns(writer: StorageWriter, before: TableBody, after: TableBody) -> None:
    """Keep a body whose columns differ from before, and change the rows to match.

    The version of `after` must be one more than that of `before`.
    """
    old, new = build_table(before).rows, build_table(after).rows
    writer.change_columns(old, RowSet(new.number, new.version, new.columns))
    write_body(writer, after)


def take_number(writer: StorageWriter) -> int:
    """Return a number for a new table's rows, never given before."""
    record = writer.get_record(COUNTER_RECORD, "rows")
    number = int(record or b"0") + 1
    writer.set_record(COUNTER_RECORD, "rows", str(number).encode())
    return number
