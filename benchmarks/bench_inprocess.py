"""How long boto3 takes for a call on keyfold.testing, compared with moto's mock_aws.

python -m benchmarks.bench_inprocess
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles
from time import time
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks._inprocess import CASES, CONTESTANTS
from benchmarks._readme import WIDTH, describe_machine, write_readme

CALL_TARGET = 8.0
START_TARGET = 2.0

# What the first test of a run does. The wall clock is the same for parent and child.
_FIRST_CALL = """
import boto3, time
loaded = time.time()
from {module} import {name}
with {name}():
    client = boto3.client("dynamodb", region_name="us-east-1")
    client.create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{{"AttributeName": "artist", "AttributeType": "S"}}],
        KeySchema=[{{"AttributeName": "artist", "KeyType": "HASH"}}],
    )
    client.put_item(TableName="Music", Item={{"artist": {{"S": "Nina"}}}})
    print(loaded, time.time())
"""
_ENTRIES = {
    "keyfold": {"module": "keyfold.testing", "name": "dynamodb"},
    "moto": {"module": "moto", "name": "mock_aws"},
}


@dataclass(frozen=True, slots=True)
class Result:
    """One row: the times of both contestants, round by round."""

    name: str
    unit: str
    keyfold: list[float]
    moto: list[float]
    target: float

    @property
    def ratio(self) -> float:
        """How many times as long moto takes."""
        return median(self.moto) / median(self.keyfold)

    @property
    def ratio_quartiles(self) -> tuple[float, float]:
        """The quartiles of the ratios of single rounds."""
        pairs = zip(self.moto, self.keyfold, strict=True)
        low, _, high = quantiles([moto / keyfold for moto, keyfold in pairs], n=4)
        return low, high

    @property
    def is_met(self) -> bool:
        """Whether the ratio meets the target."""
        return self.ratio >= self.target


def main() -> None:
    """Measure, and print a table or JSON."""
    options = _parse_options()
    if find_spec("moto") is None or find_spec("boto3") is None:
        sys.exit("bench_inprocess: moto is not installed. `make bench` installs it.")
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="keyfold-bench-") as cache:
        environment = _make_environment(Path(cache))
        progress.print(f"calls: {options.rounds} rounds", style="dim")
        results = _measure_calls(options.rounds, environment)
        progress.print(f"first calls: {options.starts} interpreters of each", style="dim")
        results += _measure_starts(options.starts, environment)
    if options.json:
        print(json.dumps(_to_json(results), indent=2))
    else:
        _show(Console(width=None if sys.stdout.isatty() else WIDTH), results)
    if options.write_readme:
        write_readme("bench_inprocess", lambda console: _show(console, results))


def _make_environment(cache: Path) -> dict[str, str]:
    """Return an environment in which every module is compiled once, like installed ones."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(cache)
    return environment


def _measure_calls(rounds: int, environment: dict[str, str]) -> list[Result]:
    figures: dict[str, dict[str, list[float]]] = {
        case: {contestant: [] for contestant in CONTESTANTS} for case in CASES
    }
    with ExitStack() as stack:
        processes = {
            contestant: stack.enter_context(_start(contestant, environment))
            for contestant in CONTESTANTS
        }
        for number in range(rounds):
            for case in CASES:
                # In turn, so that other load on the machine affects both equally.
                for contestant in CONTESTANTS if number % 2 else reversed(CONTESTANTS):
                    figures[case][contestant].append(_ask(processes[contestant], case))
    return [Result(case, "µs", **figures[case], target=CALL_TARGET) for case in CASES]


@contextmanager
def _start(contestant: str, environment: dict[str, str]) -> Generator[subprocess.Popen[str]]:
    """Start a contestant, and wait until its table is filled."""
    command = [sys.executable, "-m", "benchmarks._inprocess", contestant]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            sys.exit(f"bench_inprocess: {contestant} did not start.")
        yield process
        # It exits when its input ends.
        assert process.stdin is not None
        process.stdin.close()


def _ask(process: subprocess.Popen[str], case: str) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{case}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def _measure_starts(starts: int, environment: dict[str, str]) -> list[Result]:
    whole: dict[str, list[float]] = {contestant: [] for contestant in CONTESTANTS}
    own: dict[str, list[float]] = {contestant: [] for contestant in CONTESTANTS}
    for contestant in CONTESTANTS:
        # The first run compiles the modules.
        _time_first_call(contestant, environment)
    for number in range(starts):
        for contestant in CONTESTANTS if number % 2 else reversed(CONTESTANTS):
            whole_ms, own_ms = _time_first_call(contestant, environment)
            whole[contestant].append(whole_ms)
            own[contestant].append(own_ms)
    return [
        Result("first call in a fresh interpreter", "ms", **whole, target=START_TARGET),
        Result("… once boto3 is imported", "ms", **own, target=START_TARGET),
    ]


def _time_first_call(contestant: str, environment: dict[str, str]) -> tuple[float, float]:
    """Return the milliseconds until the first item is written.

    Once from the start of the interpreter, and once from when it has imported boto3.
    """
    code = _FIRST_CALL.format(**_ENTRIES[contestant])
    start = time()
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    loaded, end = map(float, done.stdout.split())
    return (end - start) * 1_000, (end - loaded) * 1_000


def _describe() -> dict[str, str]:
    packages = ("boto3", "moto", "apsw", "orjson")
    return {**describe_machine(), **{name: version(name) for name in packages}}


def _to_json(results: list[Result]) -> dict[str, Any]:
    return {
        "machine": _describe(),
        "cases": [
            {
                "name": result.name,
                "unit": result.unit,
                "keyfold": round(median(result.keyfold), 1),
                "moto": round(median(result.moto), 1),
                "ratio": round(result.ratio, 2),
                "ratio_quartiles": [round(each, 2) for each in result.ratio_quartiles],
                "rounds": len(result.keyfold),
                "target": result.target,
                "is_met": result.is_met,
            }
            for result in results
        ],
    }


def _show(console: Console, results: list[Result]) -> None:
    for name, value in _describe().items():
        console.print(f"- {name}: {value}", highlight=False)
    table = Table(box=box.MARKDOWN)
    table.add_column("boto3", header_style="", no_wrap=True)
    for column in ("", "keyfold", "moto", "moto / keyfold", "middle half", "target", ""):
        table.add_column(column, justify="right", header_style="", no_wrap=True)
    for result in results:
        low, high = result.ratio_quartiles
        table.add_row(
            result.name,
            result.unit,
            f"{median(result.keyfold):,.0f}",
            f"{median(result.moto):,.0f}",
            f"{result.ratio:.1f}",
            f"{low:.1f} to {high:.1f}",
            f"{result.target:.0f}",
            "[green]met[/]" if result.is_met else "[red]missed[/]",
        )
    console.print()
    console.print(table)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench_inprocess", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=40,
        help="how often each operation is measured (default: %(default)s)",
    )
    parser.add_argument(
        "--starts",
        type=int,
        default=11,
        help="how often an interpreter is started for each contestant (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write-readme", action="store_true", help="put the table into README.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
