"""Ends a test that never ends, however busy the machine is.

A mutant that waits for ever, or loops, has to be stopped. A time by the clock would stop others, too, on a
machine with much else to do: those would count as killed, though no test has noticed them. So this counts
the time that the process has used, and the time in which it had nothing to do.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, process_time

# The slowest test that is chosen takes two seconds, most of them a hundredth of that.
MOST_SECONDS = 10.0
# mutmut's exit code of a mutant that took too long.
TOO_LONG = 24

_INTERVAL_SECONDS = 0.2
_NANOSECONDS = 1e9


def read_load(folder: Path = Path("/proc/self/task")) -> dict[str, float]:
    """Return the seconds for which each thread has run, or could not because others ran.

    Programs that the process has started are included. Where Linux does not say it, this is empty.
    """
    found: dict[str, float] = {}
    # Threads and programs may end meanwhile.
    with suppress(FileNotFoundError):
        for task in folder.iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                ran, waited, _ = (task / "schedstat").read_text("ascii").split()
                found[task.name] = (int(ran) + int(waited)) / _NANOSECONDS
                for child in (task / "children").read_text("ascii").split():
                    found |= read_load(Path("/proc") / child / "task")
    return found


class RunningTime:
    """How long something has been running, without the time in which other processes prevented it."""

    def __init__(
        self,
        load: Callable[[], dict[str, float]] = read_load,
        now: Callable[[], float] = monotonic,
        used: Callable[[], float] = process_time,
    ) -> None:
        self._load, self._now, self._used = load, now, used
        self._before, self._began_at, self._began = load(), now(), used()
        self._busy_seconds = 0.0

    def read(self) -> float:
        """Return the seconds that were used, or in which there was nothing to do."""
        load = self._load()
        # Linux adds the time for which a thread had to wait when that is over.
        self._busy_seconds += sum(
            max(0.0, load[each] - self._before.get(each, 0.0)) for each in load
        )
        self._before = load
        idle_seconds = max(0.0, self._now() - self._began_at - self._busy_seconds)
        return idle_seconds + self._used() - self._began


class Watchdog:
    """Ends the process if one test takes too long."""

    def __init__(self) -> None:
        self._time: RunningTime | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self) -> None:
        """Note that a test begins."""
        self._time = RunningTime()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(_INTERVAL_SECONDS)
            time = self._time
            if time is not None and time.read() > MOST_SECONDS:
                os._exit(TOO_LONG)
