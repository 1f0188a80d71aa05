"""Results of the wire's benchmark as tables, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import _readme
from benchmarks._wire_contestants import (
    DYNALITE,
    KEYFOLD_DURABLE,
    KEYFOLD_MEMORY,
    KEYFOLD_PROCESS,
    LOCAL_FILE,
    LOCAL_MEMORY,
    LOCAL_OLD,
)
from benchmarks._wire_load import Sample
from benchmarks._wire_requests import OPERATIONS
from benchmarks._wire_rounds import (
    BARE_CONNECTIONS,
    CONNECTIONS,
    FRESH_CONNECTIONS,
    GROUP_CONNECTIONS,
    Cell,
    Pair,
    Results,
    quartiles,
)

_TARGET_CONNECTIONS = 8
_RATES = [
    (KEYFOLD_PROCESS, LOCAL_OLD, {"GetItem": 15.0, "PutItem": 10.0, "Query": 12.0}),
    (KEYFOLD_PROCESS, LOCAL_MEMORY, {"GetItem": 15.0, "PutItem": 10.0, "Query": 12.0}),
    (KEYFOLD_PROCESS, DYNALITE, {"GetItem": 3.0, "PutItem": 1.5, "Query": 5.0}),
    (KEYFOLD_DURABLE, DYNALITE, {"PutItem": 1.0}),
    (KEYFOLD_DURABLE, LOCAL_FILE, {"PutItem": 10.0}),
]
_GROUP = 2.5
_BARE = 2.3
_START_MS = 400.0
_MILLION_MB = 80.0
_MB_PER_MIB = 1.048576


@dataclass(frozen=True, slots=True)
class Verdict:
    """A figure, its quartiles over the rounds if it has any, and its target."""

    what: str
    figure: str
    middle_half: str
    target: str
    is_met: bool


@dataclass(frozen=True, slots=True)
class Medians:
    """Medians over the samples of all rounds."""

    per_second: float
    p50_ms: float
    p99_ms: float
    server_cpu_us: float
    # The share of the time for which the load generator itself was busy.
    load_busy: float
    rounds: int


def describe_machine() -> dict[str, str]:
    """Return the facts about the machine that the figures depend on."""
    has_uvloop = find_spec("uvloop") is not None
    return {
        **_readme.describe_machine(),
        "event loop": f"uvloop {version('uvloop')}" if has_uvloop else "asyncio",
    }


def judge(results: Results) -> list[Verdict]:
    """Return the targets, and whether they are met."""
    verdicts: list[Verdict] = []
    for name, other, targets in _RATES:
        if other not in results.samples:
            continue
        for operation, target in targets.items():
            what = f"{operation}, {name} / {other}"
            pairs = results.pairs(name, other, (operation, _TARGET_CONNECTIONS))
            verdicts.append(_judge_ratio(what, pairs, _rate, target))
            fresh = results.fresh_pairs(name, other, operation)
            verdicts.append(_judge_ratio(f"{what}, fresh", fresh, _rate, target))
    what = f"PutItem, durable, shared / single commits, {GROUP_CONNECTIONS} connections"
    verdicts.append(_judge_ratio(what, results.group, _rate, _GROUP))
    what = f"GetItem, processor time / constant bytes, {BARE_CONNECTIONS} connections"
    verdicts.append(_judge_ratio(what, results.bare, _cpu, _BARE, is_at_most=True))
    for name in (KEYFOLD_PROCESS, KEYFOLD_DURABLE, KEYFOLD_MEMORY):
        start_ms = median(results.start_ms[name])
        is_met = start_ms < _START_MS
        verdicts.append(
            Verdict(f"start-up, {name}", f"{start_ms:.0f} ms", "", f"< {_START_MS:.0f}", is_met)
        )
    if results.million is not None:
        million = results.million
        after_mb = million.after_mib * _MB_PER_MIB
        what = f"memory after {million.requests:,} requests, {KEYFOLD_PROCESS}"
        is_met = after_mb < _MILLION_MB
        verdicts.append(Verdict(what, f"{after_mb:.0f} MB", "", f"< {_MILLION_MB:.0f}", is_met))
    return verdicts


def _judge_ratio(
    what: str,
    pairs: list[Pair],
    figure_of: Callable[[Sample], float],
    target: float,
    *,
    is_at_most: bool = False,
) -> Verdict:
    ratios = [figure_of(ours) / figure_of(theirs) for ours, theirs in pairs]
    ratio = median(ratios)
    low, high = quartiles(ratios) if len(ratios) > 1 else (ratio, ratio)
    is_met = ratio <= target if is_at_most else ratio >= target
    sign = "≤" if is_at_most else "≥"
    return Verdict(what, f"{ratio:.2f}", f"{low:.2f} to {high:.2f}", f"{sign} {target}", is_met)


def _rate(sample: Sample) -> float:
    return sample.per_second


def _cpu(sample: Sample) -> float:
    return sample.cpu_us


def to_json(results: Results, skipped: dict[str, str]) -> dict[str, Any]:
    """Return all figures as JSON data."""
    return {
        "machine": describe_machine(),
        "skipped": skipped,
        "foreign_share": results.foreign_share(),
        "servers": {
            name: {
                "start_ms": results.start_ms[name],
                "fresh": {
                    operation: asdict(_medians(samples))
                    for operation, samples in results.fresh[name].items()
                },
                "idle_mib": results.idle_mib[name],
                "loaded_mib": results.loaded_mib[name],
                "cells": [
                    {
                        "operation": operation,
                        "connections": connections,
                        **asdict(_medians(samples)),
                    }
                    for (operation, connections), samples in cells.items()
                ],
            }
            for name, cells in results.samples.items()
        },
        "constant_bytes": _pairs_to_json(results.bare),
        "single_commits": _pairs_to_json(results.group),
        "million": None if results.million is None else asdict(results.million),
        "verdicts": [asdict(verdict) for verdict in judge(results)],
    }


def _pairs_to_json(pairs: list[Pair]) -> dict[str, Any]:
    ours, theirs = zip(*pairs, strict=True)
    return {"keyfold": asdict(_medians(ours)), "other": asdict(_medians(theirs))}


def _medians(samples: Sequence[Sample]) -> Medians:
    return Medians(
        per_second=median(each.per_second for each in samples),
        p50_ms=median(each.p50_us for each in samples) / 1_000,
        p99_ms=median(each.p99_us for each in samples) / 1_000,
        server_cpu_us=median(each.cpu_us for each in samples),
        load_busy=median(each.load_cpu_seconds / each.seconds for each in samples),
        rounds=len(samples),
    )


def show(console: Console, results: Results, skipped: dict[str, str]) -> None:
    """Print all figures, as Markdown."""
    for name, value in describe_machine().items():
        console.print(f"- {name}: {value}", highlight=False)
    console.print(
        f"- other programs meanwhile: {results.foreign_share():.2f} of a core, in the median",
        highlight=False,
    )
    for name, reason in skipped.items():
        console.print(f"- not measured: {name}: {reason}", highlight=False, markup=False)
    title = f"Targets: where nothing else is said, requests a second at {_TARGET_CONNECTIONS} connections"
    _show_table(console, title, _verdict_table(results))
    _show_table(console, "Requests a second", _cell_table(results, _show_rate))
    _show_table(
        console, "Milliseconds until the answer: half of them, 99 %", _cell_table(results, _show_ms)
    )
    _show_table(
        console, "Processor time of the server: µs a request", _cell_table(results, _show_cpu)
    )
    _show_table(
        console,
        f"Right after the start, at {FRESH_CONNECTIONS} connections",
        _start_table(results),
    )
    _show_table(console, "Memory", _memory_table(results))
    _show_table(console, "In pairs", _pair_table(results))


def _show_rate(medians: Medians) -> str:
    return f"{medians.per_second:,.0f}"


def _show_ms(medians: Medians) -> str:
    return f"{_short(medians.p50_ms)} {_short(medians.p99_ms)}"


def _show_cpu(medians: Medians) -> str:
    return f"{medians.server_cpu_us:,.0f}"


def _short(milliseconds: float) -> str:
    return f"{milliseconds:.2f}" if milliseconds < 10 else f"{milliseconds:,.0f}"


def _show_table(console: Console, title: str, table: Table) -> None:
    console.print(f"\n#### {title}", highlight=False)
    console.print(table)


def _verdict_table(results: Results) -> Table:
    table = _table("what", "figure", "middle half", "target", "")
    for verdict in judge(results):
        shown = "[green]met[/]" if verdict.is_met else "[red]missed[/]"
        table.add_row(verdict.what, verdict.figure, verdict.middle_half, verdict.target, shown)
    return table


def _cell_table(results: Results, shown: Callable[[Medians], str]) -> Table:
    table = _table(
        "operation", "conn.", *(name.replace("DynamoDB ", "") for name in results.samples)
    )
    for operation in OPERATIONS:
        for connections in CONNECTIONS:
            cell: Cell = operation, connections
            figures = (shown(_medians(cells[cell])) for cells in results.samples.values())
            table.add_row(_title(operation), str(connections), *figures)
    return table


def _title(operation: str) -> str:
    return "Query of 20" if operation == "Query" else operation


def _start_table(results: Results) -> Table:
    table = _table(
        "server", "first answer ms", *(f"{_title(each)} a second" for each in OPERATIONS)
    )
    for name, operations in results.fresh.items():
        rates = (f"{_medians(operations[each]).per_second:,.0f}" for each in OPERATIONS)
        table.add_row(name, f"{median(results.start_ms[name]):,.0f}", *rates)
    return table


def _memory_table(results: Results) -> Table:
    table = _table("server", "filled MiB", "after load MiB", "requests")
    for name, cells in results.samples.items():
        count = sum(each.requests for samples in cells.values() for each in samples)
        table.add_row(
            name,
            f"{results.idle_mib[name]:,.0f}",
            f"{results.loaded_mib[name]:,.0f}",
            f"{count:,}",
        )
    if results.million is not None:
        million = results.million
        table.add_row(
            f"{KEYFOLD_PROCESS}, alone",
            f"{million.before_mib:,.0f}",
            f"{million.after_mib:,.0f}",
            f"{million.requests:,}",
        )
    return table


def _pair_table(results: Results) -> Table:
    table = _table("server", "a second", "ms, half", "ms, 99 %", "processor µs")
    for name, samples in (
        (f"GetItem, {KEYFOLD_PROCESS}", [ours for ours, _ in results.bare]),
        ("constant bytes", [theirs for _, theirs in results.bare]),
        (f"PutItem, {KEYFOLD_DURABLE}", [ours for ours, _ in results.group]),
        ("with single commits", [theirs for _, theirs in results.group]),
    ):
        medians = _medians(samples)
        table.add_row(
            name,
            f"{medians.per_second:,.0f}",
            _short(medians.p50_ms),
            _short(medians.p99_ms),
            f"{medians.server_cpu_us:.1f}",
        )
    return table


def _table(*names: str) -> Table:
    table = Table(box=box.MARKDOWN)
    for place, name in enumerate(names):
        justify = "left" if place == 0 else "right"
        table.add_column(name, justify=justify, header_style="", no_wrap=True)
    return table
