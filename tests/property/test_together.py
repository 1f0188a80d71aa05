"""Concurrent work on one table: threads of one process, and processes on one file."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from keyfold.engine import Durability, Engine
from tests.property.busy_table import ROUNDS, TABLE, WORKS, check_afterwards, create

ROOT = Path(__file__).parents[2]


def run_threads(engine: Engine, workers: dict[str, int]) -> None:
    failures: list[BaseException] = []
    together = threading.Barrier(sum(workers.values()))

    def run(work: Callable[[Engine], None]) -> None:
        together.wait()
        try:
            work(engine)
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            failures.append(error)

    threads = [
        threading.Thread(target=run, args=(WORKS[name],))
        for name, count in workers.items()
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("durability", ["memory", "process", "durable"])
def test_threads_lose_no_update_and_see_no_partial_write(
    tmp_path: Path, durability: Durability
) -> None:
    path = ":memory:" if durability == "memory" else tmp_path / "accounts.db"
    workers = {
        "count_up": 2,
        "count_carefully": 2,
        "move_amounts": 2,
        "come_and_go": 1,
        "read_everything": 2,
        "change_tables": 2,
    }
    with Engine.open(path, durability=durability, upkeep_seconds=0.01) as engine:
        create(engine)
        run_threads(engine, workers)
        check_afterwards(engine, workers)


def test_engines_on_one_file_lose_no_update(tmp_path: Path) -> None:
    path = tmp_path / "accounts.db"
    workers = {"count_up": 1, "count_carefully": 1, "move_amounts": 1, "read_everything": 1}
    engines = [Engine.open(path, durability="process", busy_seconds=60.0) for _ in range(2)]
    create(engines[0])
    failures: list[BaseException] = []

    def run(engine: Engine) -> None:
        try:
            run_threads(engine, workers)
        except BaseException as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(engine,)) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert failures == []
        check_afterwards(engines[1], {name: 2 * count for name, count in workers.items()})
    finally:
        for engine in engines:
            engine.close()


def run_processes(path: Path, crews: list[list[str]]) -> None:
    programs = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.property.busy_table", str(path), *crew],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for crew in crews
    ]
    try:
        for program in programs:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
        for program in programs:
            assert program.stdin is not None
            program.stdin.write("\n")
            program.stdin.flush()
        for program in programs:
            printed, failed = program.communicate(timeout=300)
            assert (program.returncode, printed) == (0, "done\n"), failed
    finally:
        for program in programs:
            program.kill()
            program.communicate()


def check_processes(path: Path, crews: list[list[str]]) -> None:
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
    run_processes(path, crews)
    works = [work for crew in crews for work in crew]
    with Engine.open(path, upkeep_seconds=None) as engine:
        check_afterwards(engine, {work: works.count(work) for work in works})


def test_processes_lose_no_update_and_see_no_partial_write(tmp_path: Path) -> None:
    check_processes(
        tmp_path / "accounts.db",
        [
            ["count_up", "move_amounts"],
            ["count_carefully", "read_everything"],
            ["change_tables", "come_and_go", "count_up"],
            ["move_amounts", "count_carefully"],
        ],
    )


@pytest.mark.long
def test_many_processes_lose_no_update_and_see_no_partial_write(tmp_path: Path) -> None:
    check_processes(tmp_path / "accounts.db", [list(WORKS) * 4 for _ in range(6)])


def test_a_reader_sees_one_state_while_pages_change_under_it(tmp_path: Path) -> None:
    # An item that exists the whole time is on exactly one page, whatever is added and removed.
    with Engine.open(tmp_path / "accounts.db", durability="process") as engine:
        create(engine)
        stopping = threading.Event()

        def keep_busy() -> None:
            while not stopping.is_set():
                WORKS["come_and_go"](engine)

        busy = threading.Thread(target=keep_busy)
        busy.start()
        try:
            for _ in range(ROUNDS // 10):
                WORKS["read_everything"](engine)
        finally:
            stopping.set()
            busy.join()
        assert engine.execute("DescribeTable", {"TableName": TABLE})["Table"]["ItemCount"] == 6
        assert engine.verify() == []
