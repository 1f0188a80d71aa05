"""Timing: short rounds of every case in turn, engine and bare loop side by side."""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from time import perf_counter_ns
from typing import NamedTuple

import orjson

from benchmarks._cases import CASES, Case
from benchmarks._databases import BenchmarkDatabases
from benchmarks._orders import Draw

CALLS = 50
_WARM_UP_CALLS = 4
_ENOUGH_ROUNDS = 20

# Only Linux counts per thread.
_THREAD: int = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)


class Round(NamedTuple):
    """The microseconds of a call in one round, on the engine and in the bare loop."""

    engine: float
    bare: float
    # Whether neither was interrupted: a busy machine takes the processor away now and then, and
    # from the slower one more often.
    is_calm: bool


@dataclass(slots=True)
class Timings:
    """The measurements of one case."""

    case: Case
    rounds: list[Round] = field(default_factory=list[Round])

    @property
    def counted(self) -> list[Round]:
        """The uninterrupted rounds, or all if there are too few of them."""
        calm = [each for each in self.rounds if each.is_calm]
        return calm if len(calm) >= _ENOUGH_ROUNDS else self.rounds

    @property
    def engine_us(self) -> float:
        """The engine's median."""
        return median(each.engine for each in self.counted)

    @property
    def bare_us(self) -> float:
        """The bare loop's median."""
        return median(each.bare for each in self.counted)

    @property
    def ratio(self) -> float:
        """How many times as long the engine takes."""
        return self.engine_us / self.bare_us

    @property
    def ratio_quartiles(self) -> tuple[float, float]:
        """The quartiles of the ratios of single rounds."""
        low, _, high = quantiles([each.engine / each.bare for each in self.counted], n=4)
        return low, high


def measure(
    databases: BenchmarkDatabases, rounds: int, cases: Sequence[Case] = CASES
) -> list[Timings]:
    """Measure all cases in each round, each time in another order."""
    results = [Timings(case) for case in cases]
    # Garbage is collected between rounds: a collection during one would hit engine or bare loop at
    # random, and one right before a measurement would empty the processor's caches.
    gc.disable()
    try:
        for number in range(rounds):
            gc.collect()
            turn = number % len(results)
            for timings in results[turn:] + results[:turn]:
                _measure_once(databases, timings, bare_first=number % 2 == 0)
    finally:
        gc.enable()
    return results


def _measure_once(databases: BenchmarkDatabases, timings: Timings, *, bare_first: bool) -> None:
    case = timings.case
    warm_up, draws = databases.draws.take(case, _WARM_UP_CALLS), databases.draws.take(case, CALLS)
    if case.is_write:
        databases.checkpoint()
    if bare_first:
        bare, bare_calm = _time(databases, case, _bare_run, warm_up, draws)
        engine, engine_calm = _time(databases, case, _engine_run, warm_up, draws)
    else:
        engine, engine_calm = _time(databases, case, _engine_run, warm_up, draws)
        bare, bare_calm = _time(databases, case, _bare_run, warm_up, draws)
    timings.rounds.append(Round(engine, bare, bare_calm and engine_calm))
    if case.draws == "new":
        databases.remove(case, warm_up + draws)


def _time(
    databases: BenchmarkDatabases,
    case: Case,
    prepare: Callable[[BenchmarkDatabases, Case, list[Draw]], Callable[[], None]],
    warm_up: list[Draw],
    draws: list[Draw],
) -> tuple[float, bool]:
    """Return the microseconds per call, and whether the run was uninterrupted."""
    # The first write after a checkpoint restarts the log, which waits for the disk.
    prepare(databases, case, warm_up)()
    # Made right before their use, as a caller would: requests are in the processor's caches.
    run = prepare(databases, case, draws)
    switches = _switches()
    start = perf_counter_ns()
    run()
    taken = perf_counter_ns() - start
    return taken / 1_000 / CALLS, _switches() == switches


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


def _switches() -> int:
    """Return the number of involuntary context switches of this thread."""
    return resource.getrusage(_THREAD).ru_nivcsw
