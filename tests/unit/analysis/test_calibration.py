"""Forecasts against counted units: what is forecast is what a store consumes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

import keyfold
from keyfold.analysis import (
    MeasuredRun,
    SampleData,
    find_sample,
    profile_table,
    read_workload,
    sample_database,
)
from keyfold.connect import open_executor
from keyfold.model import Request, Table
from keyfold.store import CallRecord, Store
from keyfold.values import Item
from tests.unit.analysis import library
from tests.unit.analysis.library import Book, Loan, Reader

DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")
EXAMPLES = ("shop", "forge", "pantry_by_index.by_keys", "market_reverse_index.with_keys")
TABLES = (*DESIGNS, *EXAMPLES, "library")
# Runs of each pattern that are repeated.
REPEATED = 3


def table_of(name: str) -> Table:
    if name == "library":
        return library.table
    module, _, attribute = name.partition(".")
    place = f"keyfold.designs.{module}" if module in DESIGNS else module
    table: Table = getattr(import_module(place), attribute or "table")
    return table


def find_new(table: Table, run: MeasuredRun) -> Iterator[Item]:
    """Yield the keys that had no item before a run."""
    seen: set[str] = set()
    for call in run.calls:
        for before, after in call.changes:
            item = before or after
            if item is None:
                continue
            key = {name: item[name] for name in table.key.names}
            if repr(key) not in seen and before is None:
                yield key
            seen.add(repr(key))


def consume(
    table: Table, items: tuple[Item, ...], moment: float, run: MeasuredRun, pattern: str
) -> float:
    """Run a pattern as an application does, and return the units that its calls reported."""
    records: list[CallRecord] = []
    with keyfold.open(
        table, ":memory:", on_call=records.append, clock=lambda: moment, upkeep_seconds=None
    ) as store:
        for item in items:
            store.execute("PutItem", {"TableName": table.name, "Item": item})
        for key in find_new(table, run):
            store.execute("DeleteItem", {"TableName": table.name, "Key": key})
        records.clear()
        store.run(table.patterns[pattern](**run.arguments))
        return sum(each.consumed for each in records)


@pytest.mark.parametrize("name", TABLES)
def test_where_sizes_are_known_the_forecast_is_what_is_consumed(name: str) -> None:
    table = table_of(name)
    sample = find_sample(table)
    found = profile_table(table, sample, read_workload(table))
    moment = sample.live_at()
    for pattern, profile in found.patterns.items():
        # A scan reads as much as the table is expected to have, which is not loaded here.
        if profile.scans:
            continue
        for run in profile.runs[:REPEATED]:
            units = sum(call.units for call in run.calls)
            assert consume(table, found.items, moment, run, pattern) == units, (pattern, run)


@pytest.mark.parametrize("name", TABLES)
def test_scans_consume_what_is_forecast_of_a_table_that_does_not_grow(
    name: str, tmp_path: Path
) -> None:
    table, file = table_of(name), tmp_path / "workload.toml"
    file.write_text("")
    sample = find_sample(table)
    found = profile_table(table, sample, read_workload(table, file))
    for pattern, profile in found.patterns.items():
        if profile.scans and not any(volume.items for volume in found.workload.volumes.values()):
            [run] = profile.runs[:1]
            units = sum(call.units for call in run.calls)
            assert consume(table, found.items, sample.live_at(), run, pattern) == units, pattern


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
