"""Every pattern of the designs as every role: in process, and over the wire with access keys.

The tables are in `tests/tenants/patterns`, a module for each design.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold import Store
from keyfold.engine import Engine
from keyfold.errors import AccessDenied, AccessDeniedException
from keyfold.store import StoreSettings, make_write_checks
from keyfold.wire.client import Credentials
from keyfold.wire.server import Server, make_key_gate
from tests.tenants.patterns import exchange_rates, letsgo, market, pantry
from tests.tenants.patterns.rows import Column, PatternTable, Row
from tests.unit.wire.server.signing import SECRET, block, write_keys

DESIGNS = {
    "exchange_rates": exchange_rates.PATTERNS,
    "letsgo": letsgo.PATTERNS,
    "market": market.PATTERNS,
    "pantry": pantry.PATTERNS,
}
CASES = [
    pytest.param(name, row, id=f"{name}: {row.name}")
    for name, design in DESIGNS.items()
    for row in design.rows
]
Stored = dict[str, dict[str, Any]]


class PatternDatabase:
    """A design's database, with a store for each column: in process, or with an access key."""

    def __init__(self, engine: Engine, design: PatternTable, stores: dict[str, Store]) -> None:
        self._engine, self._design, self._stores = engine, design, stores
        self._before = self._dump()

    def try_row(self, row: Row, column: str) -> str:
        """Return "denied", "found" or "nothing"; then restore what was stored before."""
        try:
            found = self._stores[column].run(row.make())
        except (AccessDenied, AccessDeniedException):
            assert self._dump() == self._before, "a denied request changed something"
            return "denied"
        self._restore()
        return "nothing" if found is None else "found"

    def _dump(self) -> Stored:
        items = self._engine.execute("Scan", {"TableName": self._design.table.name})["Items"]
        names = self._design.table.key.names
        return {json.dumps([item[name] for name in names]): item for item in items}

    def _restore(self) -> None:
        """Undo all changes in one transaction, as the check of unique values requires."""
        after, named = self._dump(), {"TableName": self._design.table.name}
        members: list[dict[str, Any]] = []
        for key in after.keys() - self._before.keys():
            item = {name: after[key][name] for name in self._design.table.key.names}
            members.append({"Delete": {**named, "Key": item}})
        for key, item in self._before.items():
            if after.get(key) != item:
                members.append({"Put": {**named, "Item": item}})
        if members:
            self._engine.execute("TransactWriteItems", {"TransactItems": members})


@contextmanager
def open_design(design: PatternTable) -> Generator[Engine]:
    """Open an engine that checks writes, with what the design's table says is stored."""
    clock = design.now.timestamp
    checks = make_write_checks([design.table], clock=clock)
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None, write_checks=checks) as engine:
        store = make_store(engine, design)
        store.create_table(design.table)
        for request in design.stored():
            store.run(request)
        yield engine


def make_store(executor: Any, design: PatternTable) -> Store:
    clock = design.now.timestamp
    settings = StoreSettings([design.table], cursor_key=bytes(32), clock=clock)
    return Store(executor, settings)


@contextmanager
def open_in_process(design: PatternTable, _folder: Path) -> Generator[PatternDatabase]:
    with open_design(design) as engine:
        store = make_store(engine, design)
        stores = {
            name: store.as_principal(*column.roles, **column.ids)
            for name, column in design.columns.items()
        }
        yield PatternDatabase(engine, design, stores)


@contextmanager
def open_on_wire(design: PatternTable, folder: Path) -> Generator[PatternDatabase]:
    blocks = [block(name, more=write_rights(each)) for name, each in design.columns.items()]
    keys = write_keys(folder / "keys.toml", *blocks)
    with open_design(design) as engine, ExitStack() as stack:
        gate = make_key_gate(
            keys, engine.find_key_names, tables=[design.table], checked=[design.table.name]
        )
        url = stack.enter_context(Server(engine, gate=gate).running())
        stores = {
            name: stack.enter_context(
                keyfold.open(
                    design.table,
                    url,
                    clock=design.now.timestamp,
                    cursor_key=bytes(32),
                    credentials=Credentials(name, SECRET),
                )
            )
            for name in design.columns
        }
        yield PatternDatabase(engine, design, stores)


def write_rights(column: Column) -> str:
    ids = ", ".join(f'{name} = "{value}"' for name, value in column.ids.items())
    return f"role = {json.dumps(column.roles)}\nids = {{{ids}}}"


Databases = dict[str, PatternDatabase]
Open = Callable[[PatternTable, Path], Any]


def open_all(paths: pytest.TempPathFactory, open_one: Open) -> Iterator[Databases]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(open_one(design, paths.mktemp(name)))
            for name, design in DESIGNS.items()
        }


@pytest.fixture(scope="module")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    yield from open_all(tmp_path_factory, open_in_process)


@pytest.fixture(scope="module")
def on_wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    yield from open_all(tmp_path_factory, open_on_wire)


def check_row(database: PatternDatabase, design: PatternTable, row: Row, *, on_wire: bool) -> None:
    outcomes = {column: database.try_row(row, column) for column in design.columns}
    expected = row.expected(design.columns, on_wire=on_wire)
    if row.may is None:
        found = {column for column, outcome in outcomes.items() if outcome == "found"}
        assert (found, "denied" in outcomes.values()) == (expected, False), outcomes
    else:
        allowed = {column for column, outcome in outcomes.items() if outcome != "denied"}
        assert allowed == expected, outcomes


@pytest.mark.parametrize(("name", "row"), CASES)
def test_a_principals_store_allows_the_patterns_of_its_roles(
    name: str, row: Row, in_process: Databases
) -> None:
    check_row(in_process[name], DESIGNS[name], row, on_wire=False)


@pytest.mark.parametrize(("name", "row"), CASES)
def test_an_access_key_allows_the_patterns_of_its_roles(
    name: str, row: Row, on_wire: Databases
) -> None:
    check_row(on_wire[name], DESIGNS[name], row, on_wire=True)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_pattern_and_every_role_is_in_the_table(name: str) -> None:
    design = DESIGNS[name]
    # Others may have added their own patterns and roles to the table, as examples of letsgo do.
    exported = set(map(id, vars(import_module(f"keyfold.designs.{name}")).values()))
    patterns, roles = (
        {key for key, each in declared.items() if id(each) in exported}
        for declared in (design.table.patterns, design.table.roles)
    )
    assert {row.pattern for row in design.rows} == patterns
    alone = {each.roles[0] for each in design.columns.values() if len(each.roles) == 1}
    assert alone == roles
    names = [row.name for row in design.rows]
    assert len(set(names)) == len(names)
