"""The rounds of bench_engine: every case in turn, engine and bare loop side by side."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from benchmarks._cases import CASES, Case
from benchmarks._databases import BenchmarkDatabases
from benchmarks._orders import Draw
from benchmarks._rounds import Row, Stopwatch, Target, rotate, take_rounds

CALLS = 50
_WARM_UP_CALLS = 4

_Prepare = Callable[[BenchmarkDatabases, Case, list[Draw]], Callable[[], None]]


def measure_cases(databases: BenchmarkDatabases, size: int, rounds: int) -> list[Row]:
    """Measure all cases in each round, each time in another order."""
    rows = [
        Row({"items": size, "name": case.name}, ("engine", "bare"), Target(case.target))
        for case in CASES
    ]
    for number in take_rounds(rounds):
        for case, row in rotate(list(zip(CASES, rows, strict=True)), number):
            warm_up, draws = (databases.draws.take(case, each) for each in (_WARM_UP_CALLS, CALLS))
            if case.is_write:
                databases.checkpoint()
            prepares = {"engine": _engine_run, "bare": _bare_run}
            timers = {
                name: _timer(prepare, databases, case, warm_up, draws)
                for name, prepare in prepares.items()
            }
            row.measure(number, timers)
            if case.draws == "new":
                databases.remove(case, warm_up + draws)
    return rows


def _timer(
    prepare: _Prepare,
    databases: BenchmarkDatabases,
    case: Case,
    warm_up: list[Draw],
    draws: list[Draw],
) -> Callable[[Stopwatch], float]:
    def time(stopwatch: Stopwatch) -> float:
        # The first write after a checkpoint restarts the log, which waits for the disk.
        prepare(databases, case, warm_up)()
        # Made right before their use, as a caller would: requests are in the processor's caches.
        return stopwatch.time_run(prepare(databases, case, draws), CALLS)

    return time


def _engine_run(databases: BenchmarkDatabases, case: Case, draws: list[Draw]) -> Callable[[], None]:
    engine, _ = databases.engine_and_bare(case)
    requests = [case.request(draw) for draw in draws]
    operation = case.operation
    if case.is_json:
        bodies = [orjson.dumps(request) for request in requests]

        def run_json() -> None:
            execute = engine.execute_json
            for body in bodies:
                execute(operation, body)

        return run_json

    def run() -> None:
        execute = engine.execute
        for request in requests:
            execute(operation, request)

    return run


def _bare_run(databases: BenchmarkDatabases, case: Case, draws: list[Draw]) -> Callable[[], None]:
    _, bare = databases.engine_and_bare(case)
    bindings = [case.bindings(draw) for draw in draws]
    return lambda: case.bare(bare, bindings)
