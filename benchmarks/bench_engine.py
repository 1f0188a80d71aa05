"""How long the engine takes, as a multiple of the bare storage loop.

python -m benchmarks.bench_engine --sizes 10k,100k,1m
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import apsw

from benchmarks import _moto
from benchmarks._agreement import check_agreement
from benchmarks._databases import BenchmarkDatabases
from benchmarks._engine_rounds import measure_cases
from benchmarks._footprint import Footprint, measure_footprint
from benchmarks._report import (
    Report,
    describe_machine,
    judge,
    make_case_table,
    make_parser,
    make_table,
    show,
    to_json,
)
from benchmarks._rounds import Figure, Row, Target
from benchmarks._sustained import Waits, measure_sustained

MOTO_SIZE = 10_000
OPEN_TARGET_MS = Target(10.0)

_UNITS = {"k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class SizeResult:
    """Everything measured at one size."""

    size: int
    rows: list[Row]
    footprint: Footprint
    plain_bytes: int
    indexed_bytes: int
    waits: Waits
    bare_waits: Waits


def main() -> None:
    """Measure, and print tables or JSON."""
    options = _parse_options()
    results: list[SizeResult] = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="keyfold-bench-", dir=options.folder) as folder:
            results.append(_measure_size(Path(folder), size, options))
    facts = describe_machine("apsw", "orjson") | {"SQLite": apsw.sqlite_lib_version()}
    data = {"sizes": [_to_json(result) for result in results]}
    Report("bench_engine", facts, _make_tables(results), data).publish(options)


def _measure_size(folder: Path, size: int, options: argparse.Namespace) -> SizeResult:
    print(f"{size:,} items: loading", file=sys.stderr)
    databases = BenchmarkDatabases(folder, size)
    plain_bytes, indexed_bytes = (
        path.stat().st_size for path in (databases.plain_path, databases.indexed_path)
    )
    check_agreement(databases)
    print(f"{size:,} items: measuring {options.rounds} rounds", file=sys.stderr)
    rows = measure_cases(databases, size, options.rounds)
    waits, bare_waits = measure_sustained(databases)
    databases.close()
    footprint = measure_footprint(databases.plain_path, size)
    if size == MOTO_SIZE and options.moto:
        if _moto.is_installed():
            print(f"{size:,} items: measuring moto", file=sys.stderr)
            _moto.measure_moto(size, rows)
        else:
            print("moto is not installed; `make bench` installs it", file=sys.stderr)
    return SizeResult(size, rows, footprint, plain_bytes, indexed_bytes, waits, bare_waits)


def _to_json(result: SizeResult) -> dict[str, Any]:
    return {
        "cases": [to_json(row) for row in result.rows],
        "sustained": {"engine": asdict(result.waits), "bare": asdict(result.bare_waits)},
        "footprint": {
            "items": result.size,
            **asdict(result.footprint),
            "plain_bytes": result.plain_bytes,
            "indexed_bytes": result.indexed_bytes,
        },
    }


def _make_tables(results: list[SizeResult]) -> list[str]:
    columns = {"name": "operation", "engine": "engine µs", "bare": "bare µs"}
    tables: list[str] = []
    for result in results:
        with_moto = columns | ({"moto": "moto µs"} if result.size == MOTO_SIZE else {})
        title = f"{result.size:,} items"
        tables.append(make_case_table(result.rows, with_moto, "engine / bare", title))
    if len(results) > 1:
        tables.append(_make_growth_table(results))
    return [*tables, _make_sustained_table(results), _make_footprint_table(results)]


def _make_growth_table(results: list[SizeResult]) -> str:
    columns = ("operation", *(f"{result.size:,}" for result in results))
    cells = [
        [
            str(rows[0].labels["name"]),
            *(f"{show(row.figure('engine'))} ({show(row.ratio())})" for row in rows),
        ]
        for rows in zip(*(result.rows for result in results), strict=True)
    ]
    return make_table(columns, cells, "How it grows with the number of items: engine µs (ratio)")


def _make_sustained_table(results: list[SizeResult]) -> str:
    columns = ("items", "contestant", "mean", "median", "99 %", "longest")
    cells = [
        [f"{result.size:,}", name, *map(show, asdict(waits).values())]
        for result in results
        for name, waits in (("engine", result.waits), ("bare", result.bare_waits))
    ]
    return make_table(columns, cells, "Overwriting without a pause: µs a write", texts=2)


def _make_footprint_table(results: list[SizeResult]) -> str:
    columns = ("items", "open ms", "first ms", "target", "", "idle MiB", "own MiB", "mapped MiB")
    cells: list[list[str]] = []
    for result in results:
        each = result.footprint
        first, _, target, verdict = judge(Figure([each.open_first_ms]), OPEN_TARGET_MS)
        memory = map(show, (each.idle_mib, each.own_mib, each.mapped_mib))
        files = (f"{size / 1e6:,.1f}" for size in (result.plain_bytes, result.indexed_bytes))
        start = [f"{result.size:,}", show(each.open_ms), first, target, verdict]
        cells.append([*start, *memory, *files])
    return make_table((*columns, "file MB", "with indexes"), cells, "Opening, memory, files")


def _parse_options() -> argparse.Namespace:
    parser = make_parser("bench_engine", __doc__, rounds=150)
    parser.add_argument(
        "--sizes",
        type=lambda text: [_parse_size(each) for each in text.split(",")],
        default="10k,100k,1m",
        help="numbers of items, such as 10k,100k,1m,5m (default: %(default)s)",
    )
    parser.add_argument(
        "--folder", type=Path, help="folder for the files, instead of a temporary one"
    )
    parser.add_argument("--no-moto", dest="moto", action="store_false", help="leave moto out")
    return parser.parse_args()


def _parse_size(text: str) -> int:
    unit = _UNITS.get(text[-1:].lower())
    return int(text) if unit is None else int(text[:-1]) * unit


if __name__ == "__main__":
    main()
