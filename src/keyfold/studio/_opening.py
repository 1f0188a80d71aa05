"""Opens a workspace: finds the tables of a database, and how each of them is declared."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from keyfold.analysis import find_sample
from keyfold.clocks import Clock
from keyfold.connect import open_executor
from keyfold.errors import ResourceNotFoundException, TableMissing
from keyfold.imports import import_dynamodb, load_tables, write_module
from keyfold.imports._dynamodb import read_description
from keyfold.model import Table
from keyfold.store import Executor, Store, StoreSettings
from keyfold.studio._workspace import DatabaseKind, Origin, StudioTable, Workspace

DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")
# A declaration is inferred from the first items of a table.
_INFERRED_FROM = 1_000
_MEMORY = ":memory:"


@contextmanager
def open_workspace(
    url: str | None,
    tables: Sequence[Table] = (),
    *,
    known: Sequence[Table] = (),
    read_only: bool = False,
    name: str | None = None,
    clock: Clock = time.time,
) -> Generator[Workspace]:
    """Open a database for the studio; without a URL, one in memory with sample items.

    `tables` are shown whether the database has them or not. Other tables of the database are declared by
    those of `known`, or by an included design, if their name, key and indexes are the same; the
    declarations of the rest are inferred. Expired items stay while the studio is open.
    """
    place = url or _MEMORY
    with open_executor(place, keeps_expired=True, may_make=url is None) as executor:
        if url is None:
            for table in tables:
                _fill(executor, table, clock)
        yield make_workspace(
            executor, tables, known=known, read_only=read_only, url=url, name=name, clock=clock
        )


def make_workspace(
    executor: Executor,
    tables: Sequence[Table] = (),
    *,
    known: Sequence[Table] = (),
    read_only: bool = False,
    url: str | None = None,
    name: str | None = None,
    clock: Clock = time.time,
    traffic_file: str | None = None,
) -> Workspace:
    """Return the workspace of a database that is open already; see `open_workspace`.

    `traffic_file` is where a server beside the studio records the keys and units of its requests.
    """
    declared = [_check(executor, table, "declared", _name_source(table)) for table in tables]

    def discover(found: str) -> StudioTable:
        return _find_declaration(executor, found, known) or _infer(executor, found, url or "")

    kind: DatabaseKind = "memory"
    if url is not None and url != _MEMORY:
        kind = "service" if "://" in url else "file"
    shown = name or (Path(url).name if kind == "file" and url else url) or "sample items"
    return Workspace(
        executor,
        declared,
        name=shown,
        kind=kind,
        discover=discover,
        read_only=read_only,
        clock=clock,
        url="" if kind == "memory" else url or "",
        traffic_file=traffic_file,
    )


def _fill(executor: Executor, table: Table, clock: Clock) -> None:
    """Create a table in memory, and write its sample items."""
    store = Store(executor, StoreSettings([table], clock=clock))
    store.create_table(table)
    for item in find_sample(table).items:
        executor.execute("PutItem", {"TableName": table.name, "Item": item})


def _find_declaration(executor: Executor, name: str, known: Sequence[Table]) -> StudioTable | None:
    """Return a table of a database with the declaration that has its name, key and indexes."""
    for table in known:
        if table.name == name:
            return _check(executor, table, "declared", _name_source(table))
    for design in DESIGNS:
        table = import_module(f"keyfold.designs.{design}").table
        if table.name == name:
            found = _check(executor, table, "design", f"keyfold.designs.{design}")
            return None if found.problems else found
    return None


def _check(executor: Executor, table: Table, origin: Origin, source: str) -> StudioTable:
    """Return a declared table, with what the database's lacks of its declaration."""
    table.check()
    try:
        described = executor.execute("DescribeTable", {"TableName": table.name})["Table"]
    except ResourceNotFoundException:
        problem = "The database has no such table. Create it with keyfold apply."
        return StudioTable(table, origin, source, problems=(problem,))
    return StudioTable(table, origin, source, problems=tuple(_compare(table, described)))


def _compare(table: Table, described: Mapping[str, Any]) -> Iterator[str]:
    wanted = table.to_dynamodb()
    if wanted["KeySchema"] != described["KeySchema"]:
        names = ", ".join(each["AttributeName"] for each in described["KeySchema"])
        yield f"Its key is {names}, not {', '.join(table.key.names)} as declared."
    kinds = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
    keys = {
        each["IndexName"]: each["KeySchema"] for kind in kinds for each in described.get(kind) or ()
    }
    for index in table.indexes:
        if keys.get(index.name) != index.to_dynamodb()["KeySchema"]:
            yield f"It lacks the index {index.name}. Create it with keyfold apply."


def _infer(executor: Executor, name: str, url: str) -> StudioTable:
    """Return a table whose declaration is inferred from its items."""
    has_items = True
    try:
        found = import_dynamodb(executor, name, url=url, limit=_INFERRED_FROM)
        source = f"from up to {_INFERRED_FROM:,} items"
    except TableMissing:
        described = executor.execute("DescribeTable", {"TableName": name})["Table"]
        found, has_items = read_description(described), False
        source = "the table has no items to infer entities from"
    text = write_module([found], title=f"Table {name}, as the studio inferred it.")
    [table] = load_tables(text)
    return StudioTable(table, "inferred", source, module=text, is_final=has_items)


def _name_source(table: Table) -> str:
    """Return the module that declares a table, such as `shop.tables:market`."""
    for schema in table.entities.values():
        return schema.entity.__module__
    return ""
