"""Damaged files: an error of ours or a report, and an interpreter that lives on."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from keyfold.engine import Engine
from tests.crash.workload import NOW, create_table

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    with Engine.open(path, clock=lambda: NOW, upkeep_seconds=None) as engine:
        create_table(engine)
    return path


def check_damage(path: Path, seed: str, count: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.crash.damaging", str(path), seed, str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-200:] + ended.stderr
    outcomes = Counter(line.split()[1] for line in ended.stdout.splitlines())
    assert outcomes.total() == count
    assert outcomes.keys() <= {"whole", "refused", "reported"}
    # Half of the pages hold text, where a letter more or less is nothing one could notice.
    assert outcomes["refused"] + outcomes["reported"] > count / 3


def test_damage_anywhere_is_an_error_or_a_report(path: Path) -> None:
    check_damage(path, "damage", 300)


def test_damage_of_a_table_that_is_followed_is_an_error_or_a_report(tmp_path: Path) -> None:
    path = tmp_path / "followed.db"
    with Engine.open(path, clock=lambda: NOW, upkeep_seconds=None) as engine:
        create_table(engine, is_followed=True)
    check_damage(path, "followed", 300)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_much_damage_is_an_error_or_a_report(path: Path, seed: int) -> None:
    check_damage(path, f"damage {seed}", 3_000)
