"""Results as tables, and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import apsw
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import _readme
from benchmarks._footprint import Footprint
from benchmarks._rounds import Timings
from benchmarks._sustained import Waits

OPEN_TARGET_MS = 10.0


@dataclass(frozen=True, slots=True)
class SizeResult:
    """Everything measured at one size."""

    size: int
    timings: list[Timings]
    footprint: Footprint
    plain_bytes: int
    indexed_bytes: int
    waits: Waits
    bare_waits: Waits
    # By the name of the case; empty if moto was not measured.
    moto_us: dict[str, float]


def describe_machine() -> dict[str, str]:
    """Return the facts about the machine that the figures depend on."""
    return {
        **_readme.describe_machine(),
        "apsw": f"{version('apsw')} (SQLite {apsw.sqlite_lib_version()})",
        "orjson": version("orjson"),
    }


def to_json(results: list[SizeResult]) -> dict[str, Any]:
    """Return all figures as JSON data."""
    return {
        "machine": describe_machine(),
        "sizes": [
            {
                "items": result.size,
                "cases": [_case_to_json(each, result.moto_us) for each in result.timings],
                "sustained": {"engine": asdict(result.waits), "bare": asdict(result.bare_waits)},
                "footprint": {
                    **asdict(result.footprint),
                    "plain_bytes": result.plain_bytes,
                    "indexed_bytes": result.indexed_bytes,
                },
            }
            for result in results
        ],
    }


def _case_to_json(timings: Timings, moto_us: dict[str, float]) -> dict[str, Any]:
    case = timings.case
    described: dict[str, Any] = {
        "name": case.name,
        "engine_us": round(timings.engine_us, 2),
        "bare_us": round(timings.bare_us, 2),
        "ratio": round(timings.ratio, 3),
        "ratio_quartiles": [round(each, 3) for each in timings.ratio_quartiles],
        "rounds": len(timings.rounds),
        "rounds_counted": len(timings.counted),
        "target": case.target,
        "is_met": is_met(timings),
    }
    if case.name in moto_us:
        described["moto_us"] = round(moto_us[case.name], 1)
    return described


def is_met(timings: Timings) -> bool:
    """Return whether a case meets its target."""
    return timings.ratio <= timings.case.target


def show(console: Console, results: list[SizeResult]) -> None:
    """Print all figures, as Markdown."""
    for name, value in describe_machine().items():
        console.print(f"- {name}: {value}", highlight=False)
    for result in results:
        _show_table(console, f"{result.size:,} items", _case_table(result))
    if len(results) > 1:
        _show_table(console, "How it grows: engine µs (ratio)", _growth_table(results))
    _show_table(console, "Overwriting without a pause: µs a write", _sustained_table(results))
    _show_table(console, "Opening, memory, files", _footprint_table(results))


def _show_table(console: Console, title: str, table: Table) -> None:
    console.print(f"\n#### {title}", highlight=False)
    console.print(table)


def _case_table(result: SizeResult) -> Table:
    table = _table()
    _add_columns(table, "operation", "engine µs", "bare µs", "ratio", "middle half", "target", "")
    if result.moto_us:
        _add_columns(table, "moto µs", "moto / engine", first_left=False)
    for timings in result.timings:
        low, high = timings.ratio_quartiles
        cells = [
            timings.case.name,
            f"{timings.engine_us:.1f}",
            f"{timings.bare_us:.1f}",
            f"{timings.ratio:.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{timings.case.target:.1f}",
            _verdict(is_met=is_met(timings)),
        ]
        if result.moto_us:
            moto_us = result.moto_us[timings.case.name]
            cells += [f"{moto_us:,.0f}", f"{moto_us / timings.engine_us:,.0f}"]
        table.add_row(*cells)
    return table


def _growth_table(results: list[SizeResult]) -> Table:
    table = _table()
    _add_columns(table, "operation", *(f"{result.size:,}" for result in results))
    for timings in zip(*(result.timings for result in results), strict=True):
        cells = [f"{each.engine_us:.1f} ({each.ratio:.2f})" for each in timings]
        table.add_row(timings[0].case.name, *cells)
    return table


def _sustained_table(results: list[SizeResult]) -> Table:
    table = _table()
    _add_columns(table, "items", "side", "mean", "median", "99 %", "longest", first_left=False)
    for result in results:
        for measured, waits in (("engine", result.waits), ("bare", result.bare_waits)):
            table.add_row(
                f"{result.size:,}",
                measured,
                f"{waits.mean_us:.1f}",
                f"{waits.median_us:.1f}",
                f"{waits.p99_us:.1f}",
                f"{waits.longest_us:,.0f}",
            )
    return table


def _footprint_table(results: list[SizeResult]) -> Table:
    table = _table()
    _add_columns(
        table,
        "items",
        "open ms",
        "first ms",
        "target",
        "",
        "idle MiB",
        "own MiB",
        "mapped MiB",
        "file MB",
        "with indexes",
        first_left=False,
    )
    for result in results:
        footprint = result.footprint
        table.add_row(
            f"{result.size:,}",
            f"{footprint.open_ms:.1f}",
            f"{footprint.open_first_ms:.1f}",
            f"{OPEN_TARGET_MS:.0f}",
            _verdict(is_met=footprint.open_first_ms < OPEN_TARGET_MS),
            f"{footprint.idle_mib:.0f}",
            f"{footprint.own_mib:.0f}",
            f"{footprint.mapped_mib:,.0f}",
            f"{result.plain_bytes / 1e6:,.1f}",
            f"{result.indexed_bytes / 1e6:,.1f}",
        )
    return table


def _table() -> Table:
    return Table(box=box.MARKDOWN)


def _add_columns(table: Table, *names: str, first_left: bool = True) -> None:
    for place, name in enumerate(names):
        justify = "left" if first_left and place == 0 else "right"
        table.add_column(name, justify=justify, header_style="", no_wrap=True)


def _verdict(*, is_met: bool) -> str:
    return "[green]met[/]" if is_met else "[red]missed[/]"
