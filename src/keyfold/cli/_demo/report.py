"""Runs every access pattern of every design on its data set, and reports the results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from keyfold.api import find_operation
from keyfold.cli._databases import create_empty_table
from keyfold.cli._demo import exchange_rates, letsgo, market, pantry
from keyfold.cli._demo.data_set import SEED, Case, DataGenerator, DataSet, is_error
from keyfold.cli._demo_databases import DemoDatabase
from keyfold.cli._results import count_items
from keyfold.errors import KeyfoldError, ResultAwaited
from keyfold.model import Entity, Page, Table, batch
from keyfold.store import Store
from keyfold.store._sent_calls import CallLog, SentCall

_MAKERS: dict[str, Callable[[DataGenerator], DataSet]] = {
    "exchange_rates": exchange_rates.make_data_set,
    "letsgo": letsgo.make_data_set,
    "pantry": pantry.make_data_set,
    "market": market.make_data_set,
}
_SHOWN = 300
_MILLISECONDS = 1000
_AHEAD = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class PatternRun:
    """One run of a pattern: the calls it sent, and its result.

    `problem` says how the result differs from the expected one; None if it does not. A read of an
    index that lags took several `attempts`.
    """

    arguments: dict[str, str]
    calls: list[SentCall]
    items: int
    milliseconds: float
    problem: str | None
    attempts: int = 1

    @property
    def consumed(self) -> float:
        """The capacity units that its calls consumed together."""
        return sum(call.consumed for call in self.calls)

    def to_json(self) -> dict[str, Any]:
        """Return the run as a JSON object."""
        return {
            "arguments": self.arguments,
            "calls": [call.to_json() for call in self.calls],
            "items": self.items,
            "capacity_units": self.consumed,
            "milliseconds": round(self.milliseconds, 3),
            "attempts": self.attempts,
            "as_expected": self.problem is None,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One pattern with its runs; the first run is the one that is shown."""

    pattern: str
    runs: list[PatternRun] = field(default_factory=list[PatternRun])

    @property
    def problems(self) -> list[str]:
        """The problems of its runs."""
        return [run.problem for run in self.runs if run.problem is not None]

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return {
            "pattern": self.pattern,
            "as_expected": not self.problems,
            "runs": [run.to_json() for run in self.runs],
        }


@dataclass(frozen=True, slots=True)
class DesignReport:
    """The results of one design; `problems` are those that belong to no single pattern."""

    design: str
    table: Table
    loaded: int
    expired: int
    rows: list[Row]
    problems: list[str]

    @property
    def holds(self) -> bool:
        """Whether there are no problems at all."""
        return not self.problems and not any(row.problems for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "design": self.design,
            "table": self.table.name,
            "items_loaded": self.loaded,
            "of_them_expired": self.expired,
            "patterns": [row.to_json() for row in self.rows],
            "problems": self.problems,
            "as_expected": self.holds,
        }


def run_demo(
    url: str,
    *,
    now: datetime,
    on_design: Callable[[str], None] = lambda _: None,
    index_lag: int = 0,
) -> list[DesignReport]:
    """Load the four designs' data sets into a database, and run every pattern.

    The store's clock stands still at `now`, so that no further item expires during the run. A file
    still has the items that have expired, since its expiry grace is longer. A service deletes by
    its own clock and its own grace, which may be short: there, the store's clock stands a year
    ahead, so that the service does not yet count those items as expired.

    A service's reads may lag behind writes: there, a pattern that only reads runs again until it
    returns what it must, a few times. With an `index_lag`, the demo runs in memory, on an engine
    whose global indexes lack that many of the last writes.

    Raises WriteRefused, before anything is written, if one of the tables has items.
    """
    database = DemoDatabase(url, index_lag)
    if database.is_service:
        now += _AHEAD
    data_sets = {name: make(DataGenerator(SEED, now)) for name, make in _MAKERS.items()}
    tables = [data.table for data in data_sets.values()]
    log = CallLog(tables)
    with database.open(tables, clock=now.timestamp, log=log) as store:
        for table in tables:
            create_empty_table(store, table)
        reports: list[DesignReport] = []
        for name, data in data_sets.items():
            on_design(name)
            reports.append(_run_design(store, log, name, data, database.attempts))
    return reports


def _run_design(
    store: Store, log: CallLog, name: str, data: DataSet, attempts: int
) -> DesignReport:
    _load(store, data)
    log.take()
    rows: dict[str, Row] = {}
    for case in data.cases:
        row = rows.setdefault(case.pattern.name, Row(case.pattern.name))
        row.runs.append(run_case(store, log, case, attempts))
    problems = _find_omissions(data, rows) + _find_differences(store, data)
    log.take()
    return DesignReport(
        name, data.table, len(data.loaded), data.expired, list(rows.values()), problems
    )


def _load(store: Store, data: DataSet) -> None:
    """Write what the table has at the beginning, with the guards of unique values."""
    puts = [Entity.put(each) for each in data.loaded]
    # One by one and before the others: moto copies the table for each action of a transaction.
    for each in puts:
        if each.changes_unique:
            store.run(Entity.create(each.entity))
    store.run(batch([each for each in puts if not each.changes_unique]))


def run_case(store: Store, log: CallLog, case: Case, attempts: int = 1) -> PatternRun:
    """Run one case, and compare its result with the expected one.

    A pattern that only reads has several `attempts` to return it.
    """
    started = time.perf_counter()
    results = _run_until_right(store, case, attempts if attempts > 1 and _only_reads(case) else 1)
    milliseconds = (time.perf_counter() - started) * _MILLISECONDS
    result = results[-1]
    arguments = {key: f"{value!s:.{_SHOWN}}" for key, value in case.arguments.items()}
    problem = None if _is_right(case, result) else _describe_difference(case, result)
    items = 0 if isinstance(result, KeyfoldError) else count_items(result)
    return PatternRun(arguments, log.take(), items, milliseconds, problem, len(results))


def _run_until_right(store: Store, case: Case, attempts: int) -> list[Any]:
    """Return the result of each attempt; an error that is raised is the last."""
    results: list[Any] = []

    def is_right(result: Any) -> bool:
        results.append(result)
        return _is_right(case, result)

    try:
        request = case.pattern(**case.arguments)
        if attempts == 1:
            results.append(store.run(request))
        else:
            store.run_until(request, is_right, attempts=attempts)
    except ResultAwaited:
        pass
    except KeyfoldError as error:
        results.append(error)
    return results


def _only_reads(case: Case) -> bool:
    return all(find_operation(step.operation).is_read for step in case.pattern.explain().steps)


def _is_right(case: Case, result: Any) -> bool:
    expected = case.expected
    if is_error(expected):
        return isinstance(result, expected)
    if isinstance(result, KeyfoldError):
        return False
    if isinstance(result, Page):
        result = list(cast(Page[Any], result))
    if not case.in_order:
        result, expected = sorted(result, key=repr), sorted(expected, key=repr)
    return result == expected


def _describe_difference(case: Case, result: Any) -> str:
    expected = case.expected.__name__ if is_error(case.expected) else repr(case.expected)
    got = str(result) if isinstance(result, KeyfoldError) else repr(result)
    return f"expected {expected:.{_SHOWN}}; got {got:.{_SHOWN}}"


def _find_omissions(data: DataSet, rows: dict[str, Row]) -> list[str]:
    return [f"pattern {name!r} was not run" for name in data.table.patterns if name not in rows]


def _find_differences(store: Store, data: DataSet) -> list[str]:
    """Compare the whole table, including expired items, with its expected content."""
    scan = data.table.scan().include_expired().consistent()
    found = {data.key_of(each): each for each in store.iterate(scan)}
    wanted = data.stored
    return [
        f"item {' '.join(key)}: expected {wanted.get(key)!r:.{_SHOWN}}; "
        f"got {found.get(key)!r:.{_SHOWN}}"
        for key in sorted(found.keys() | wanted.keys())
        if found.get(key) != wanted.get(key)
    ]
