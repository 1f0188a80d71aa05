"""The report of bench_wire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from itertools import chain
from statistics import median
from typing import Any, NamedTuple

from benchmarks._report import JUDGED, Report, describe_machine, judge, make_table, show
from benchmarks._rounds import Figure, Row, Target
from benchmarks._wire_contestants import (
    DYNALITE,
    KEYFOLD_DURABLE,
    KEYFOLD_MEMORY,
    KEYFOLD_PROCESS,
    LOCAL_FILE,
    LOCAL_MEMORY,
    LOCAL_OLD,
    SIGNED_ADMIN,
    SIGNED_TENANT,
)
from benchmarks._wire_load import Sample
from benchmarks._wire_requests import OPERATIONS
from benchmarks._wire_rounds import (
    BARE_CONNECTIONS,
    FRESH_CONNECTIONS,
    GROUP_CONNECTIONS,
    Results,
)

_TARGET_CONNECTIONS = 8
_RATES = [
    (KEYFOLD_PROCESS, LOCAL_OLD, {"GetItem": 15.0, "PutItem": 10.0, "Query": 12.0}),
    (KEYFOLD_PROCESS, LOCAL_MEMORY, {"GetItem": 15.0, "PutItem": 10.0, "Query": 12.0}),
    (KEYFOLD_PROCESS, DYNALITE, {"GetItem": 3.0, "PutItem": 1.5, "Query": 5.0}),
    (KEYFOLD_DURABLE, DYNALITE, {"PutItem": 1.0}),
    (KEYFOLD_DURABLE, LOCAL_FILE, {"PutItem": 10.0}),
]
_GROUP = Target(2.5, is_least=True)
_BARE = Target(2.3)
_SIGNED = Target(1.5)
_START_MS = Target(400.0)
_MILLION_MB = Target(80.0)
_MB_PER_MIB = 1.048576

_Read = Callable[[Sample], float]
_MEASURES: dict[str, _Read] = {
    "requests a second": lambda sample: sample.per_second,
    "ms, half": lambda sample: sample.p50_us / 1_000,
    "ms, 99 %": lambda sample: sample.p99_us / 1_000,
    "processor µs": lambda sample: sample.cpu_us,
}
_rate, _, _, _cpu = _MEASURES.values()


class _Judged(NamedTuple):
    """A figure with a target."""

    what: str
    figure: Figure
    target: Target


def make_report(results: Results, skipped: dict[str, str]) -> Report:
    """Return all figures."""
    facts = {
        **describe_machine("uvloop"),
        "event loop": "asyncio" if find_spec("uvloop") is None else "uvloop",
        "other programs meanwhile": f"{_foreign_share(results):.2f} of a core, in the median",
        **{f"not measured, {name}": reason for name, reason in skipped.items()},
    }
    judged = _judge_all(results)
    title = f"Targets; rates are those at {_TARGET_CONNECTIONS} connections"
    cells = [[each.what, *judge(each.figure, each.target)] for each in judged]
    fresh = f"Right after the start, at {FRESH_CONNECTIONS} connections"
    tables = [
        make_table(("what", "figure", *JUDGED), cells, title),
        _make_cell_table(results, "Requests a second", _MEASURES["requests a second"]),
        _make_cell_table(results, "Milliseconds until half of the answers", _MEASURES["ms, half"]),
        _make_cell_table(results, "Milliseconds until 99 % of them", _MEASURES["ms, 99 %"]),
        _make_cell_table(results, "Processor time of the server: µs a request", _cpu),
        _make_start_table(results, fresh),
        _make_memory_table(results),
        _make_pair_table(results),
    ]
    return Report("bench_wire", facts, tables, _to_json(results, judged))


def _foreign_share(results: Results) -> float:
    rounds = chain.from_iterable(row.rounds for row in results.cells.values())
    return median(sample.foreign_share for each in rounds for sample in each.measured.values())


def _judge_all(results: Results) -> list[_Judged]:
    judged: list[_Judged] = []

    def add(what: str, figure: Figure | None, target: Target) -> None:
        if figure is not None:
            judged.append(_Judged(what, figure, target))

    for ours, theirs, targets in _RATES:
        for operation, limit in targets.items():
            what, target = f"{operation}, {ours} / {theirs}", Target(limit, is_least=True)
            row = results.cells[operation, _TARGET_CONNECTIONS]
            add(what, row.ratio((ours, theirs), _rate), target)
            add(f"{what}, fresh", results.fresh[operation].ratio((ours, theirs), _rate), target)
    what = f"PutItem, durable, shared / single commits, {GROUP_CONNECTIONS} connections"
    add(what, results.group.ratio(read=_rate), _GROUP)
    what = f"{BARE_CONNECTIONS} connections"
    add(f"GetItem, processor time / constant bytes, {what}", results.bare.ratio(read=_cpu), _BARE)
    for name in (SIGNED_ADMIN, SIGNED_TENANT):
        ratio = results.signed.ratio((name, KEYFOLD_PROCESS), _cpu)
        add(f"GetItem, {name}, processor time / plain, {what}", ratio, _SIGNED)
    for name in (KEYFOLD_PROCESS, KEYFOLD_DURABLE, KEYFOLD_MEMORY):
        add(f"start-up ms, {name}", results.start_ms.figure(name), _START_MS)
    if results.million is not None:
        what = f"memory MB after {results.million.requests:,} requests, {KEYFOLD_PROCESS}"
        add(what, Figure([results.million.after_mib * _MB_PER_MIB]), _MILLION_MB)
    return judged


def _to_json(results: Results, judged: Sequence[_Judged]) -> dict[str, Any]:
    named = {"constant bytes": results.bare, "commits": results.group, "signed": results.signed}
    rows = [
        *(({"when": "warm"}, row) for row in results.cells.values()),
        *(({"when": "fresh"}, row) for row in results.fresh.values()),
        *(({"when": name}, row) for name, row in named.items()),
    ]
    return {
        "targets": [
            {"name": what, "figure": figure.median, "target": target.limit}
            | {"quartiles": figure.quartiles, "is_met": target.is_met(figure)}
            for what, figure, target in judged
        ],
        "samples": [
            when | row.labels | {"server": name} | _medians(row, name)
            for when, row in rows
            for name in row.contestants
        ],
        "idle_mib": results.idle_mib,
        "loaded_mib": results.loaded_mib,
        "million": None if results.million is None else asdict(results.million),
    }


def _medians(row: Row, name: str) -> dict[str, float]:
    figures = {measure: row.figure(name, read) for measure, read in _MEASURES.items()}
    return {measure: figure.median for measure, figure in figures.items() if figure}


def _make_cell_table(results: Results, title: str, read: _Read) -> str:
    columns = [f"{operation}, {count}" for operation, count in results.cells]
    cells = [
        [name, *(show(row.figure(name, read)) for row in results.cells.values())]
        for name in results.servers
    ]
    return make_table(["connections", *columns], cells, title)


def _make_start_table(results: Results, title: str) -> str:
    columns = ("server", "first answer ms", *(f"{each} a second" for each in OPERATIONS))
    cells = [
        [
            name,
            show(results.start_ms.figure(name)),
            *(show(row.figure(name, _rate)) for row in results.fresh.values()),
        ]
        for name in results.servers
    ]
    return make_table(columns, cells, title)


def _make_memory_table(results: Results) -> str:
    cells: list[list[str]] = []
    for name in results.servers:
        samples = [each.measured[name] for row in results.cells.values() for each in row.rounds]
        memory = map(show, (results.idle_mib[name], results.loaded_mib[name]))
        cells.append([name, *memory, f"{sum(each.requests for each in samples):,}"])
    if results.million is not None:
        each = results.million
        memory = map(show, (each.before_mib, each.after_mib))
        cells.append([f"{KEYFOLD_PROCESS}, alone", *memory, f"{each.requests:,}"])
    return make_table(("server", "filled MiB", "after load MiB", "requests"), cells, "Memory")


def _make_pair_table(results: Results) -> str:
    pairs = (("GetItem", results.bare), ("PutItem", results.group), ("GetItem", results.signed))
    cells = [
        [f"{operation}, {name}", *map(show, _medians(row, name).values())]
        for operation, row in pairs
        for name in row.contestants
    ]
    return make_table(("server", *_MEASURES), cells, "Compared with each other alone")
