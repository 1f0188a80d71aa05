"""Exploring runs have new seeds, and repeat those that failed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.random_seeds import Exploration, SeedRecorder, choose_seeds, load_failing

TEST = "tests/crash/test_kills.py::test_it"


def report(seed: int, outcome: Literal["passed", "failed"], more: str = "") -> pytest.TestReport:
    name = f"{TEST}[seed={seed}{more}]"
    return pytest.TestReport(name, ("", 0, ""), {}, outcome, None, "call")


def record(path: Path, *reports: pytest.TestReport) -> dict[str, list[int]]:
    recorder = SeedRecorder(path)
    for each in reports:
        recorder.pytest_runtest_logreport(each)
    recorder.pytest_sessionfinish()
    return load_failing(path)


def test_the_ordinary_run_has_the_same_seeds_each_time() -> None:
    assert list(choose_seeds(None, TEST, 3)) == [0, 1, 2]


def test_every_process_of_a_run_has_the_same_seeds_and_every_run_others() -> None:
    one, same, other = (Exploration(start, {}).choose(TEST, 3) for start in (1, 1, 2))
    assert one == same
    assert len({*one, *other}) == 6
    assert Exploration(1, {}).choose("another", 3) != one


def test_what_has_failed_comes_first() -> None:
    new = Exploration(1, {}).choose(TEST, 2)
    assert Exploration(1, {TEST: [7]}).choose(TEST, 2) == [7, *new]


def test_a_seed_is_kept_until_it_passes(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "failing-seeds.json"
    assert record(path, report(5, "passed")) == {}
    assert not path.exists()
    assert record(path, report(7, "failed"), report(8, "passed")) == {TEST: [7]}
    # Not run this time.
    assert record(path, report(9, "failed")) == {TEST: [7, 9]}
    assert record(path, report(7, "passed"), report(9, "passed")) == {}


def test_a_seed_that_fails_with_any_other_parameter_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "failing-seeds.json"
    reports = [report(7, "failed", "-durable"), report(7, "passed", "-process")]
    assert record(path, *reports) == {TEST: [7]}
