"""Forecasts against counted units: what is forecast is what a store consumes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, cast

import pytest

import keyfold
from keyfold.analysis import (
    MeasuredRun,
    SampleData,
    TableProfile,
    find_sample,
    profile_table,
    read_workload,
    sample_database,
    use_alike,
)
from keyfold.analysis.cost import forecast_cost, read_prices
from keyfold.analysis.samples import scan
from keyfold.connect import open_executor
from keyfold.designs import pantry
from keyfold.engine import Engine, TrafficRecord
from keyfold.model import Request, Table
from keyfold.model._expected_use import Volume
from keyfold.store import CallRecord, Store, StoreSettings
from keyfold.values import Item
from tests.demo_run import DemoRun
from tests.unit.analysis import library
from tests.unit.analysis.library import Book, Loan, Reader

DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")
EXAMPLES = ("shop", "forge", "pantry_by_index.by_keys", "market_reverse_index.with_keys")
TABLES = (*DESIGNS, *EXAMPLES, "library")
# Runs of each pattern that are repeated.
REPEATED = 3
READS = {"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"}


def table_of(name: str) -> Table:
    if name == "library":
        return library.table
    module, _, attribute = name.partition(".")
    place = f"keyfold.designs.{module}" if module in DESIGNS else module
    table: Table = getattr(import_module(place), attribute or "table")
    return table


# Units, by table (None) or index, and whether they are read.
Units = defaultdict[tuple[str | None, bool], float]


class MeteredTable:
    """A table that patterns run on as in an application; counts what its calls report."""

    def __init__(self, table: Table, items: Iterable[Item], moment: float) -> None:
        self.table, self.consumed = table, Units(float)
        self.items = {self.name_key(item): item for item in items}
        self.traffic: list[TrafficRecord] = []
        self.engine = Engine.open(
            ":memory:", clock=lambda: moment, upkeep_seconds=None, on_traffic=self.traffic.append
        )
        settings = StoreSettings((table,), cursor_key=bytes(32), clock=lambda: moment)
        self.store = Store(self, settings)
        self.engine.execute("CreateTable", table.to_dynamodb())
        for item in self.items.values():
            self.engine.execute("PutItem", {"TableName": table.name, "Item": item})

    def name_key(self, item: Item) -> str:
        return repr([item[name] for name in self.table.key.names])

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        asked = {**request, "ReturnConsumedCapacity": "INDEXES"}
        response = self.engine.execute(operation, asked)
        given: Any = response.pop("ConsumedCapacity")
        reports = cast(list[dict[str, Any]], given if isinstance(given, list) else [given])
        for report in reports:
            parts: dict[str | None, dict[str, float]] = {None: report["Table"]}
            parts |= report.get("GlobalSecondaryIndexes", {})
            parts |= report.get("LocalSecondaryIndexes", {})
            assert report["CapacityUnits"] == sum(each["CapacityUnits"] for each in parts.values())
            for index, each in parts.items():
                self.consumed[index, operation in READS] += each["CapacityUnits"]
        return response

    def measure(self, pattern: str, run: MeasuredRun) -> Units:
        """Run a pattern on the items, without those that it creates; then restore them."""
        changed: set[str] = set()
        for before, after in (change for call in run.calls for change in call.changes):
            item = before or after
            if item is not None and self.name_key(item) not in changed:
                changed.add(self.name_key(item))
                if before is None:
                    self._delete(item)
        self.consumed = Units(float)
        self.store.run(self.table.patterns[pattern](**run.arguments))
        consumed = self.consumed
        written = [use.key for each in self.traffic if each.kind == "Write" for use in each.uses]
        for key in written:
            if key is not None and all(name in key for name in self.table.key.names):
                self._restore(key)
        self.traffic.clear()
        return consumed

    def _restore(self, key: Item) -> None:
        item = self.items.get(self.name_key(key))
        if item is None:
            self._delete(key)
        else:
            self.engine.execute("PutItem", {"TableName": self.table.name, "Item": item})

    def _delete(self, item: Item) -> None:
        key = {name: item[name] for name in self.table.key.names}
        self.engine.execute("DeleteItem", {"TableName": self.table.name, "Key": key})

    def is_restored(self) -> bool:
        """Whether the table has the items that it had at first."""
        items = scan(self.engine, self.table.name)
        return {self.name_key(item): item for item in items} == self.items

    def mean(
        self, pattern: str, runs: Sequence[MeasuredRun]
    ) -> dict[tuple[str | None, bool], float]:
        total = Units(float)
        for run in runs:
            for part, units in self.measure(pattern, run).items():
                total[part] += units
        return {part: units / len(runs) for part, units in total.items()}


def profile(table: Table, sample: SampleData | None = None) -> TableProfile:
    workload = read_workload(table)
    if table.name.startswith("PantryBy"):
        workload = use_alike(workload, read_workload(pantry.table))
    return profile_table(table, sample or find_sample(table), workload)


def consume_month(
    metered: MeteredTable, found: TableProfile
) -> dict[tuple[str | None, bool], float]:
    """Return the units of a month: what each pattern consumes, as often as it is called."""
    total: defaultdict[tuple[str | None, bool], float] = defaultdict(float)
    for name, each in found.patterns.items():
        rate = found.workload.patterns[name].rate
        if rate is not None and not each.scans and not each.is_on_examples:
            for part, units in metered.mean(name, each.runs).items():
                total[part] += units * rate.per_month
    return total


def forecast_month(found: TableProfile) -> dict[tuple[str | None, bool], float]:
    """Return the units of a month by the forecast, from its dollars and prices."""
    prices = read_prices()
    # A scan reads as much as the table is expected to have, which is not loaded here.
    patterns = {
        name: each
        for name, each in found.patterns.items()
        if not each.scans and not each.is_on_examples
    }
    total: dict[tuple[str | None, bool], float] = {}
    for each in forecast_cost(replace(found, patterns=patterns), prices).parts:
        total[each.index, True] = each.read_usd / prices.standard.million_read_requests * 1e6
        total[each.index, False] = each.write_usd / prices.standard.million_write_requests * 1e6
    return total


@pytest.mark.parametrize("name", TABLES)
def test_every_pattern_is_measured(name: str) -> None:
    found = profile(table_of(name))
    assert {key: each.problem for key, each in found.patterns.items() if each.problem} == {}
    assert all(each.runs for each in found.patterns.values())


@pytest.mark.parametrize("name", TABLES)
def test_where_sizes_are_known_the_forecast_is_what_is_consumed(name: str) -> None:
    table = table_of(name)
    found = profile(table)
    metered = MeteredTable(table, found.items, found.sample.live_at())
    for each in forecast_cost(found, read_prices()).patterns:
        measured = found.patterns[each.name]
        if measured.scans:
            continue
        units = metered.mean(each.name, measured.runs[:REPEATED])
        shown = replace(measured, runs=measured.runs[:REPEATED])
        for index in (None, *(index.name for index in table.indexes)):
            for is_read in (True, False):
                forecast = shown.units_of(index, is_read=is_read)
                assert units.get((index, is_read), 0.0) == forecast, (each.name, index)
    assert metered.is_restored()


@pytest.mark.parametrize("name", [*DESIGNS, *EXAMPLES])
def test_a_month_of_the_workload_consumes_what_is_forecast(name: str) -> None:
    table = table_of(name)
    found = profile(table)
    assert found.workload.has_rates
    consumed = consume_month(MeteredTable(table, found.items, found.sample.live_at()), found)
    forecast = forecast_month(found)
    assert sum(forecast.values()) > 0
    assert consumed == pytest.approx({part: forecast[part] for part in consumed}, rel=1e-9)
    assert {part for part, units in forecast.items() if units} == consumed.keys()


@pytest.mark.long
@pytest.mark.parametrize("name", DESIGNS)
def test_the_forecast_of_a_sampled_design_is_within_two_per_cent(
    name: str, demo_run: DemoRun
) -> None:
    table = table_of(name)
    with open_executor(demo_run.file) as executor:
        whole = sample_database(table, executor)
        sampled = sample_database(table, executor, most=len(whole.items) * 3 // 4)
    assert len(sampled.items) < len(whole.items)
    found = profile(table, whole)
    consumed = consume_month(MeteredTable(table, found.items, whole.live_at()), found)
    forecast = forecast_month(profile(table, sampled))
    for is_read in (True, False):
        units = sum(each for part, each in forecast.items() if part[1] is is_read)
        wanted = sum(each for part, each in consumed.items() if part[1] is is_read)
        assert units == pytest.approx(wanted, rel=0.02), is_read


@pytest.mark.parametrize("name", TABLES)
def test_scans_consume_what_is_forecast_of_a_table_that_does_not_grow(
    name: str, tmp_path: Path
) -> None:
    table, file = table_of(name), tmp_path / "workload.toml"
    file.write_text("")
    sample = find_sample(table)
    workload = read_workload(table, file)
    unknown = dict.fromkeys(workload.volumes, Volume())
    found = profile_table(table, sample, replace(workload, volumes=unknown))
    metered = MeteredTable(table, found.items, sample.live_at())
    for pattern, each in found.patterns.items():
        if each.scans:
            units = sum(metered.measure(pattern, each.runs[0]).values())
            assert units == each.read_units, pattern


class Shelf:
    """A database of books and readers, whose sizes and numbers differ a lot."""

    def __init__(self, path: Path) -> None:
        random = Random(20261116)
        self.url = path
        self.readers = [Reader(reader=f"r{number}", name="x" * 20) for number in range(100)]
        self.loans = [
            Loan(reader=each.reader, number=number, due=library.DUE)
            for each in self.readers
            for number in range(random.randint(1, 100))
        ]
        self.books = [
            Book(isbn=f"{number}", title="T", note="x" * random.randint(0, 4000))
            for number in range(500)
        ]
        with keyfold.open(library.table, path, durability="process") as store:
            for each in (*self.readers, *self.loans, *self.books):
                store.run(each.put())

    def sample(self) -> SampleData:
        with open_executor(self.url) as executor:
            return sample_database(library.table, executor, most=2_500)

    def mean_units(self, requests: list[Request[object]]) -> float:
        records: list[CallRecord] = []
        with keyfold.open(library.table, self.url, on_call=records.append) as store:
            self._run(store, requests)
        return fmean(each.consumed for each in records)

    @staticmethod
    def _run(store: Store, requests: list[Request[object]]) -> None:
        for each in requests:
            store.run(each)


def test_where_sizes_are_sampled_the_forecast_is_within_two_per_cent(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "library.db")
    found = profile_table(library.table, shelf.sample(), read_workload(library.table))
    assert len(found.sample.items) < len(shelf.loans) + len(shelf.books)
    loans = shelf.mean_units([library.loans_of(each.reader) for each in shelf.readers])
    assert found.patterns["Loans of reader"].read_units == pytest.approx(loans, rel=0.02)
    notes = shelf.mean_units(
        [library.annotate_book(each.isbn, f"{each.note}-1") for each in shelf.books]
    )
    assert found.patterns["Annotate book"].write_units == pytest.approx(notes, rel=0.02)
    removed = shelf.mean_units([library.remove_book(each.isbn) for each in shelf.books])
    assert found.patterns["Remove book"].write_units == pytest.approx(removed, rel=0.02)
