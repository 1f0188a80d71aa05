"""The cost of the model and the store, compared with PynamoDB and pydantic with boto3's converters.

python -m benchmarks.bench_store
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median, quantiles
from time import perf_counter_ns
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks._orders import Draw
from benchmarks._readme import WIDTH, describe_machine, write_readme
from benchmarks._store_contestants import ITEMS, Case, StoreContestant, open_cases

TARGET = 2.0

_CALLS = 25
_WARM_UP_CALLS = 5


@dataclass(slots=True)
class Result:
    """One case: the median microseconds of each contestant in each round.

    The engine's share is in `bare`, and not in `cost`.
    """

    name: str
    cost: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    bare: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    @property
    def ratio(self) -> float:
        """How many times as long PynamoDB takes."""
        return median(self.cost["pynamodb"]) / median(self.cost["keyfold"])

    @property
    def ratio_quartiles(self) -> tuple[float, float]:
        """The quartiles of the ratios of single rounds."""
        pairs = zip(self.cost["keyfold"], self.cost["pynamodb"], strict=True)
        # In a round in which the machine was busy, the difference may not be positive.
        low, _, high = quantiles([theirs / ours for ours, theirs in pairs if ours > 0], n=4)
        return low, high

    @property
    def is_met(self) -> bool:
        """Whether we take less than half of PynamoDB's time."""
        return self.ratio > TARGET


def main() -> None:
    """Measure, and print a table or JSON."""
    options = _parse_options()
    if find_spec("pynamodb") is None or find_spec("boto3") is None:
        sys.exit("bench_store: PynamoDB is not installed. `make bench` installs it.")
    Console(stderr=True).print(f"{options.rounds} rounds", style="dim")
    with open_cases() as cases:
        results = _measure(cases, options.rounds)
    if options.json:
        print(json.dumps(_to_json(results), indent=2))
    else:
        _show(Console(width=None if sys.stdout.isatty() else WIDTH), results)
    if options.write_readme:
        write_readme("bench_store", lambda console: _show(console, results))


def _measure(cases: list[Case], rounds: int) -> list[Result]:
    results = [Result(case.name) for case in cases]
    source = random.Random(1)
    gc.disable()
    try:
        for number in range(rounds):
            gc.collect()
            for case, result in zip(cases, results, strict=True):
                draws = [
                    Draw(source.randrange(ITEMS), number) for _ in range(_WARM_UP_CALLS + _CALLS)
                ]
                contestants = list(case.contestants)
                # In turn, so that other load on the machine affects all equally.
                for name in (
                    contestants[number % len(contestants) :]
                    + contestants[: number % len(contestants)]
                ):
                    _measure_contestant(case, name, draws, result)
    finally:
        gc.enable()
    return results


def _measure_contestant(case: Case, name: str, draws: list[Draw], result: Result) -> None:
    taken, pair = _time(case.contestants[name], draws), case.pairs.get(name)
    if pair is not None:
        bare = _time(pair, draws)
        result.bare.setdefault(name, []).append(bare)
        taken -= bare
    result.cost.setdefault(name, []).append(taken)


def _time(contestant: StoreContestant, draws: list[Draw]) -> float:
    """Return the median microseconds of one call."""
    given = [contestant.prepare(draw) for draw in draws]
    call, taken = contestant.call, list[int]()
    for each in given:
        start = perf_counter_ns()
        call(each)
        taken.append(perf_counter_ns() - start)
    return median(taken[_WARM_UP_CALLS:]) / 1_000


def _describe() -> dict[str, str]:
    packages = ("pydantic", "pynamodb", "boto3", "apsw", "orjson")
    return {**describe_machine(), **{name: version(name) for name in packages}}


def _to_json(results: list[Result]) -> dict[str, Any]:
    return {
        "machine": _describe(),
        "cases": [
            {
                "name": result.name,
                "cost_us": {name: round(median(each), 1) for name, each in result.cost.items()},
                "bare_us": {name: round(median(each), 1) for name, each in result.bare.items()},
                "ratio": round(result.ratio, 2),
                "ratio_quartiles": [round(each, 2) for each in result.ratio_quartiles],
                "rounds": len(result.cost["keyfold"]),
                "target": TARGET,
                "is_met": result.is_met,
            }
            for result in results
        ],
    }


def _show(console: Console, results: list[Result]) -> None:
    for name, value in _describe().items():
        console.print(f"- {name}: {value}", highlight=False)
    table = Table(box=box.MARKDOWN)
    table.add_column("µs", header_style="", no_wrap=True)
    columns = ("engine", "keyfold", "PynamoDB", "pydantic, boto3", "ratio")
    for column in (*columns, "middle half", "target", "", "typed keys"):
        table.add_column(column, justify="right", header_style="", no_wrap=True)
    for result in results:
        low, high = result.ratio_quartiles
        table.add_row(
            result.name,
            _figure(result.bare.get("keyfold")),
            _figure(result.cost["keyfold"]),
            _figure(result.cost["pynamodb"]),
            _figure(result.cost.get("pydantic")),
            f"{result.ratio:.1f}",
            f"{low:.1f} to {high:.1f}",
            f"{TARGET:.0f}",
            "[green]met[/]" if result.is_met else "[red]missed[/]",
            _figure(result.cost["typed"]),
        )
    console.print()
    console.print(table)


def _figure(rounds: list[float] | None) -> str:
    return "" if rounds is None else f"{median(rounds):,.1f}"


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench_store", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=100,
        help="how often each case is measured (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write-readme", action="store_true", help="put the table into README.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
