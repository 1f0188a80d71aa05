"""The longest waits of writes without a pause, log checkpoints included."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, quantiles
from time import perf_counter_ns

from benchmarks._cases import OVERWRITE
from benchmarks._databases import BenchmarkDatabases

WRITES = 20_000
_AUTOCHECKPOINT_PAGES = 1_000


@dataclass(frozen=True, slots=True)
class Waits:
    """Microseconds a write took."""

    mean_us: float
    median_us: float
    p99_us: float
    longest_us: float


def measure_sustained(databases: BenchmarkDatabases) -> tuple[Waits, Waits]:
    """Overwrite items one after another; return the engine's waits and those of the bare loop.

    The engine checkpoints its log on a thread. The bare loop does what SQLite does by default: the
    commit that makes the log a thousand pages long checkpoints it.
    """
    engine, bare = databases.engine_and_bare(OVERWRITE)
    draws = databases.draws.take(OVERWRITE, WRITES)
    requests = [OVERWRITE.request(draw) for draw in draws]
    rows = [[OVERWRITE.bindings(draw)] for draw in draws]
    databases.checkpoint()
    stamps = [perf_counter_ns()]
    for request in requests:
        engine.execute("PutItem", request)
        stamps.append(perf_counter_ns())
    engine_waits = _to_waits(stamps)
    bare.connection.wal_autocheckpoint(_AUTOCHECKPOINT_PAGES)
    stamps = [perf_counter_ns()]
    for row in rows:
        bare.put_all(row)
        stamps.append(perf_counter_ns())
    bare.connection.wal_autocheckpoint(0)
    return engine_waits, _to_waits(stamps)


def _to_waits(stamps: list[int]) -> Waits:
    waits = [(end - start) / 1_000 for start, end in pairwise(stamps)]
    cuts = quantiles(waits, n=100)
    return Waits(mean(waits), cuts[49], cuts[98], max(waits))
