"""How long boto3 takes for a call on keyfold.testing, compared with moto's mock_aws.

python -m benchmarks.bench_inprocess
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import time

from benchmarks._inprocess import CASES, CONTESTANTS
from benchmarks._report import Report, describe_machine, make_case_table, make_parser, to_json
from benchmarks._rounds import Row, Target, rotate

CALL_TARGET = Target(8.0, is_least=True)
START_TARGET = Target(2.0, is_least=True)

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


def main() -> None:
    """Measure, and print a table or JSON."""
    options = _parse_options()
    if find_spec("moto") is None or find_spec("boto3") is None:
        sys.exit("bench_inprocess: moto is not installed. `make bench` installs it.")
    with tempfile.TemporaryDirectory(prefix="keyfold-bench-") as cache:
        environment = _make_environment(Path(cache))
        print(f"calls: {options.rounds} rounds", file=sys.stderr)
        rows = _measure_calls(options.rounds, environment)
        print(f"first calls: {options.starts} interpreters of each", file=sys.stderr)
        rows += _measure_starts(options.starts, environment)
    columns = {"name": "boto3", "unit": "unit", "keyfold": "keyfold", "moto": "moto"}
    tables = [make_case_table(rows, columns, "moto / keyfold")]
    facts = describe_machine("boto3", "moto", "apsw", "orjson")
    data = {"cases": [to_json(row) for row in rows]}
    Report("bench_inprocess", facts, tables, data).publish(options)


def _make_environment(cache: Path) -> dict[str, str]:
    """Return an environment in which every module is compiled once, like installed ones."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(cache)
    return environment


def _make_row(name: str, unit: str, target: Target) -> Row:
    return Row({"name": name, "unit": unit}, ("moto", "keyfold"), target, unit.replace("µ", "u"))


def _measure_calls(rounds: int, environment: dict[str, str]) -> list[Row]:
    rows = [_make_row(case, "µs", CALL_TARGET) for case in CASES]
    with ExitStack() as stack:
        processes = {
            contestant: stack.enter_context(_start(contestant, environment))
            for contestant in CONTESTANTS
        }
        for number in range(rounds):
            order = rotate(CONTESTANTS, number)
            for case, row in zip(CASES, rows, strict=True):
                row.add({contestant: _ask(processes[contestant], case) for contestant in order})
    return rows


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


def _measure_starts(starts: int, environment: dict[str, str]) -> list[Row]:
    whole = _make_row("first call in a fresh interpreter", "ms", START_TARGET)
    own = _make_row("first call once boto3 is imported", "ms", START_TARGET)
    for contestant in CONTESTANTS:
        # The first run compiles the modules.
        _time_first_call(contestant, environment)
    for number in range(starts):
        order = rotate(CONTESTANTS, number)
        taken = {contestant: _time_first_call(contestant, environment) for contestant in order}
        whole.add({contestant: whole_ms for contestant, (whole_ms, _) in taken.items()})
        own.add({contestant: own_ms for contestant, (_, own_ms) in taken.items()})
    return [whole, own]


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


def _parse_options() -> argparse.Namespace:
    parser = make_parser("bench_inprocess", __doc__, rounds=40)
    parser.add_argument(
        "--starts",
        type=int,
        default=11,
        help="how often an interpreter is started for each contestant (default: %(default)s)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
