"""When a test of a mutant is stopped: not because other processes keep it from running."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from tests.mutants.run import ROOT
from tests.mutants.watchdog import TOO_LONG, RunningTime, read_load


class Machine:
    """A machine on which a test runs: by the clock, by its threads, and by what it has used."""

    def __init__(self) -> None:
        self.now, self.used = 100.0, 7.0
        self.load = {"1": 5.0, "2": 1.0}

    def start(self) -> RunningTime:
        return RunningTime(lambda: dict(self.load), lambda: self.now, lambda: self.used)


def test_time_that_is_used_counts_and_time_that_others_take_does_not() -> None:
    machine = Machine()
    time = machine.start()
    machine.now += 60
    # It ran for two seconds, and waited for its turn for the rest of the minute.
    machine.load["1"] += 60
    machine.used += 2
    assert time.read() == 2
    # Another thread begins, and one ends.
    machine.now += 10
    del machine.load["2"]
    machine.load["3"] = 10
    assert time.read() == 2


def test_a_wait_may_be_known_only_when_it_is_over() -> None:
    machine = Machine()
    time = machine.start()
    machine.now += 5
    assert time.read() == 5
    machine.now += 1
    machine.load["1"] += 6
    assert time.read() == 0


def test_time_without_anything_to_do_counts() -> None:
    machine = Machine()
    time = machine.start()
    for _ in range(3):
        machine.now += 5
        machine.load["2"] += 1
        machine.used += 1
        time.read()
    assert time.read() == 3 * (4 + 1)


@pytest.mark.skipif(not read_load(), reason="only Linux says how long threads wait")
def test_threads_and_programs_are_counted() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    before = read_load()
    thread.start()
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as program:
        found = read_load().keys() - before.keys()
        assert {str(thread.native_id), str(program.pid)} <= found
        program.communicate(b"\n")
    stop.set()
    thread.join()


@pytest.mark.parametrize("hang", ["threading.Event().wait()", "while True: pass"])
def test_a_test_that_never_ends_is_stopped(hang: str) -> None:
    program = (
        "import threading\n"
        "from tests.mutants import watchdog\n"
        "watchdog.MOST_SECONDS, watchdog._INTERVAL_SECONDS = 0.05, 0.01\n"
        "watchdog.Watchdog().begin()\n"
        f"{hang}\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, timeout=120)
    assert ended.returncode == TOO_LONG
