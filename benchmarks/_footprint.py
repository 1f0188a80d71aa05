"""How long opening a file takes and how much memory using it takes, in a separate process."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks._orders import TABLE, Draw, make_key, make_order
from keyfold.engine import Engine

_OPENS = 11
_READS = 20_000
_WRITES = 5_000
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Footprint:
    """The cost of having one file open.

    Memory is split if the system reports it: the private memory of the process, and the mapped
    pages of the file, which the system reclaims when it needs them.
    """

    open_first_ms: float
    open_ms: float
    idle_mib: float
    own_mib: float
    mapped_mib: float


def measure_footprint(path: Path, size: int) -> Footprint:
    """Start a process that opens a file, reads and writes at random, and reports its footprint."""
    command = [sys.executable, "-m", "benchmarks._footprint", str(path), str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Footprint(**json.loads(done.stdout))


def _measure(path: Path, size: int) -> Footprint:
    idle, _ = _memory_mib()
    opens = [_time_open(path) for _ in range(_OPENS)]
    source = random.Random(size)
    with Engine.open(path, durability="process") as engine:
        for _ in range(_READS):
            key = make_key(source.randrange(size))
            engine.execute("GetItem", {"TableName": TABLE, "Key": key})
        for edition in range(_WRITES):
            order = make_order(Draw(source.randrange(size), edition))
            engine.execute("PutItem", {"TableName": TABLE, "Item": order})
        own, mapped = _memory_mib()
    return Footprint(opens[0], median(opens), idle, own, mapped)


def _time_open(path: Path) -> float:
    """Return the milliseconds until the first item could be read."""
    start = time.perf_counter()
    engine = Engine.open(path, durability="process")
    engine.execute("GetItem", {"TableName": TABLE, "Key": make_key(0)})
    taken = time.perf_counter() - start
    engine.close()
    return taken * 1_000


def _memory_mib() -> tuple[float, float]:
    """Return the private memory of the process, and its mapped pages of files."""
    try:
        status = Path("/proc/self/status").read_text()
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB, 0.0
    fields = dict(line.split(":", 1) for line in status.splitlines())
    own, mapped = (int(fields[name].split()[0]) / 1_024 for name in ("RssAnon", "RssFile"))
    return own, mapped


if __name__ == "__main__":
    print(json.dumps(asdict(_measure(Path(sys.argv[1]), int(sys.argv[2])))))
