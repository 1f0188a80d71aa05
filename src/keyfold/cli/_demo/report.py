"""Run every access pattern of every design on its data set, and report what happened."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

import keyfold
from keyfold.cli._answers import count_items
from keyfold.cli._calls import CallLog, SentCall
from keyfold.cli._demo import exchange_rates, letsgo, market, pantry
from keyfold.cli._demo.world import SEED, Case, Draws, World, is_error
from keyfold.errors import KeyfoldError, WriteRefused
from keyfold.model import Entity, Page, Table, batch
from keyfold.store import Store

_MAKERS: dict[str, Callable[[Draws], World]] = {
    "exchange_rates": exchange_rates.make_world,
    "letsgo": letsgo.make_world,
    "pantry": pantry.make_world,
    "market": market.make_world,
}
_SHOWN = 300
_MILLISECONDS = 1000
_AHEAD = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class PatternRun:
    """One call of a pattern: what was sent for it, and what came back.

    `problem` says how the answer differs from what it must be; None if it does not.
    """

    arguments: dict[str, str]
    calls: list[SentCall]
    items: int
    milliseconds: float
    problem: str | None

    @property
    def consumed(self) -> float:
        """The capacity that all its calls took together."""
        return sum(call.consumed for call in self.calls)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "arguments": self.arguments,
            "calls": [call.to_json() for call in self.calls],
            "items": self.items,
            "capacity_units": self.consumed,
            "milliseconds": round(self.milliseconds, 3),
            "as_expected": self.problem is None,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One pattern, with every run of it; the first is the one to show."""

    pattern: str
    runs: list[PatternRun] = field(default_factory=list[PatternRun])

    @property
    def problems(self) -> list[str]:
        """What its answers are not, and must be."""
        return [run.problem for run in self.runs if run.problem is not None]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "pattern": self.pattern,
            "as_expected": not self.problems,
            "runs": [run.to_json() for run in self.runs],
        }


@dataclass(frozen=True, slots=True)
class DesignReport:
    """What happened with one design; `problems` are those that are no pattern's own."""

    design: str
    table: Table
    loaded: int
    expired: int
    rows: list[Row]
    problems: list[str]

    @property
    def holds(self) -> bool:
        """Whether everything was as it must be."""
        return not self.problems and not any(row.problems for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
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
    url: str, *, now: datetime, tell: Callable[[str], None] = lambda _: None
) -> list[DesignReport]:
    """Load the four designs' data sets into a database, and run every pattern.

    The time stands still at `now`, so that what has expired then stays so, and nothing else does;
    on a service a year later, for it deletes what has expired by its own time, as soon as it likes.
    Raises WriteRefused, before anything is written, if one of their tables has items.
    """
    is_service = "://" in url
    if is_service:
        now += _AHEAD
    worlds = {name: make(Draws(SEED, now)) for name, make in _MAKERS.items()}
    tables = [world.table for world in worlds.values()]
    log = CallLog(tables)
    # What has expired is to stay stored while the patterns run, as it does on AWS.
    # Cursors go no further than this run.
    options: dict[str, Any] = {"cursor_key": os.urandom(32)}
    if not is_service:
        options["upkeep_seconds"] = None
    with keyfold.open(tables, url, clock=lambda: now, on_call=[log], **options) as store:
        for table in tables:
            store.create_table(table)
            if store.run(table.scan().include_expired().first()) is not None:
                advice = "Give a database without the designs' tables."
                raise WriteRefused(table.name, "it has items already", advice)
        reports: list[DesignReport] = []
        for name, world in worlds.items():
            tell(name)
            reports.append(_run_design(store, log, name, world))
    return reports


def _run_design(store: Store, log: CallLog, name: str, world: World) -> DesignReport:
    store.run(batch([Entity.put(each) for each in world.loaded]))
    log.take()
    rows: dict[str, Row] = {}
    for case in world.cases:
        row = rows.setdefault(case.pattern.name, Row(case.pattern.name))
        row.runs.append(run_case(store, log, case))
    problems = _find_omissions(world, rows) + _find_differences(store, world)
    log.take()
    return DesignReport(
        name, world.table, len(world.loaded), world.expired, list(rows.values()), problems
    )


def run_case(store: Store, log: CallLog, case: Case) -> PatternRun:
    """Run one case, and compare what comes back with what must."""
    started = time.perf_counter()
    try:
        answer: Any = store.run(case.pattern(**case.arguments))
    except KeyfoldError as error:
        answer = error
    milliseconds = (time.perf_counter() - started) * _MILLISECONDS
    arguments = {key: f"{value!s:.{_SHOWN}}" for key, value in case.arguments.items()}
    problem = None if _is_right(case, answer) else _describe_difference(case, answer)
    items = 0 if isinstance(answer, KeyfoldError) else count_items(answer)
    return PatternRun(arguments, log.take(), items, milliseconds, problem)


def _is_right(case: Case, answer: Any) -> bool:
    expected = case.expected
    if is_error(expected):
        return isinstance(answer, expected)
    if isinstance(answer, KeyfoldError):
        return False
    if isinstance(answer, Page):
        answer = list(cast(Page[Any], answer))
    if not case.in_order:
        answer, expected = sorted(answer, key=repr), sorted(expected, key=repr)
    return answer == expected


def _describe_difference(case: Case, answer: Any) -> str:
    expected = case.expected.__name__ if is_error(case.expected) else repr(case.expected)
    got = str(answer) if isinstance(answer, KeyfoldError) else repr(answer)
    return f"expected {expected:.{_SHOWN}}; got {got:.{_SHOWN}}"


def _find_omissions(world: World, rows: dict[str, Row]) -> list[str]:
    return [f"pattern {name!r} was not run" for name in world.table.patterns if name not in rows]


def _find_differences(store: Store, world: World) -> list[str]:
    """Compare the whole table, expired items included, with what must be in it by now."""
    scan = world.table.scan().include_expired()
    found = {world.key_of(each): each for each in store.iterate(scan)}
    wanted = world.stored
    return [
        f"the item {' '.join(key)} is {found.get(key)!r:.{_SHOWN}}; "
        f"it must be {wanted.get(key)!r:.{_SHOWN}}"
        for key in sorted(found.keys() | wanted.keys())
        if found.get(key) != wanted.get(key)
    ]
