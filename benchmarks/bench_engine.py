"""How long the engine takes, as a multiple of the bare storage loop.

python -m benchmarks.bench_engine --sizes 10k,100k,1m
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks import _moto
from benchmarks._agreement import check_agreement
from benchmarks._databases import BenchmarkDatabases
from benchmarks._footprint import measure_footprint
from benchmarks._readme import WIDTH, write_readme
from benchmarks._report import SizeResult, show, to_json
from benchmarks._rounds import measure
from benchmarks._sustained import measure_sustained

MOTO_SIZE = 10_000

_UNITS = {"k": 1_000, "m": 1_000_000}


def main() -> None:
    """Measure, and print tables or JSON."""
    options = _parse_options()
    progress = Console(stderr=True)
    results: list[SizeResult] = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="keyfold-bench-", dir=options.folder) as folder:
            results.append(_measure_size(Path(folder), size, options, progress))
    if options.json:
        print(json.dumps(to_json(results), indent=2))
    else:
        show(Console(width=None if sys.stdout.isatty() else WIDTH), results)
    if options.write_readme:
        write_readme("bench_engine", lambda console: show(console, results))


def _measure_size(
    folder: Path, size: int, options: argparse.Namespace, progress: Console
) -> SizeResult:
    progress.print(f"{size:,} items: loading", style="dim")
    databases = BenchmarkDatabases(folder, size)
    plain_bytes, indexed_bytes = (
        path.stat().st_size for path in (databases.plain_path, databases.indexed_path)
    )
    check_agreement(databases)
    progress.print(f"{size:,} items: measuring {options.rounds} rounds", style="dim")
    timings = measure(databases, options.rounds)
    waits, bare_waits = measure_sustained(databases)
    databases.close()
    footprint = measure_footprint(databases.plain_path, size)
    moto_us: dict[str, float] = {}
    if size == MOTO_SIZE and options.moto:
        if _moto.is_installed():
            progress.print(f"{size:,} items: measuring moto", style="dim")
            moto_us = _moto.measure_moto(size)
        else:
            progress.print("moto is not installed; `make bench` installs it", style="yellow")
    return SizeResult(
        size=size,
        timings=timings,
        footprint=footprint,
        plain_bytes=plain_bytes,
        indexed_bytes=indexed_bytes,
        waits=waits,
        bare_waits=bare_waits,
        moto_us=moto_us,
    )


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench_engine", description=__doc__)
    parser.add_argument(
        "--sizes",
        type=lambda text: [_parse_size(each) for each in text.split(",")],
        default="10k,100k,1m",
        help="numbers of items, such as 10k,100k,1m,5m (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=150,
        help="how often each operation is measured (default: %(default)s)",
    )
    parser.add_argument(
        "--folder", type=Path, help="folder for the files, instead of a temporary one"
    )
    parser.add_argument("--no-moto", dest="moto", action="store_false", help="leave moto out")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write-readme", action="store_true", help="put the tables into README.md")
    return parser.parse_args()


def _parse_size(text: str) -> int:
    unit = _UNITS.get(text[-1:].lower())
    return int(text) if unit is None else int(text[:-1]) * unit


if __name__ == "__main__":
    main()
