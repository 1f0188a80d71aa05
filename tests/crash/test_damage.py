"""Damaged files: an error of ours or a report, and an interpreter that lives on."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from keyfold.engine import Engine
from tests.crash.workload import NOW, create_table

ROOT = Path(__file__).parents[2]


def make_file(path: Path, *, is_followed: bool = False) -> Path:
    """Make a file that is the same each time, but for its epoch: so is what damage does to it."""
    options: dict[str, Any] = {"clock": lambda: NOW, "new_id": lambda: str(UUID(int=1))}
    with Engine.open(path, upkeep_seconds=None, **options) as engine:
        create_table(engine, is_followed=is_followed)
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


def test_damage_anywhere_is_an_error_or_a_report(tmp_path: Path) -> None:
    check_damage(make_file(tmp_path / "ledger.db"), "damage", 200)


def test_damage_of_a_table_that_is_followed_is_an_error_or_a_report(tmp_path: Path) -> None:
    check_damage(make_file(tmp_path / "followed.db", is_followed=True), "followed", 200)


def test_the_file_to_damage_is_the_same_each_time(tmp_path: Path) -> None:
    one, other = (make_file(tmp_path / name, is_followed=True) for name in ("one.db", "other.db"))
    assert without_epoch(one) == without_epoch(other)


def without_epoch(path: Path) -> bytes:
    """Return a file's bytes without its third page, which ends with the epoch."""
    content = path.read_bytes()
    assert content[8_192:12_288].count(b"KFEP") == 1
    return content[:8_192] + content[12_288:]


@pytest.mark.long
@pytest.mark.seeds(5)
@pytest.mark.parametrize("is_followed", [False, True], ids=["plain", "followed"])
def test_much_damage_is_an_error_or_a_report(tmp_path: Path, is_followed: bool, seed: int) -> None:
    path = make_file(tmp_path / "ledger.db", is_followed=is_followed)
    check_damage(path, f"damage {seed}", 3_000)
