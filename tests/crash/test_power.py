"""Losses of power: `durable` keeps what was acknowledged, `process` keeps files whole."""

from __future__ import annotations

import random
import shutil
from collections.abc import Generator
from pathlib import Path
from unittest import mock

import pytest

from keyfold.engine import Durability, Engine
from keyfold.engine.storage import SqliteStorage, checkpoints
from tests.crash.faulty_vfs import open_on_storage
from tests.crash.power_vfs import Disk, Image, power_vfs
from tests.crash.workload import NOW, STEPS, create_table, read_all, states

STATES = states()


def clock() -> float:
    return NOW


@pytest.fixture(autouse=True)
def frequent_checkpoints() -> Generator[None]:
    """Let the log be folded into the file while the workload runs."""
    with (
        mock.patch.object(checkpoints, "START_PAGES", 15),
        mock.patch.object(checkpoints, "CATCH_UP_PAGES", 40),
    ):
        yield


@pytest.fixture
def disk() -> Generator[Disk]:
    with power_vfs() as disk:
        yield disk


class Losses:
    """Losses of power at random moments: what was acknowledged by then, and what is left."""

    def __init__(self, disk: Disk, chance: random.Random, *, likelihood: float) -> None:
        self._disk, self._chance, self._likelihood = disk, chance, likelihood
        self.acknowledged = -1
        self.found: list[tuple[int, Image]] = []
        disk.after_call = self._may_happen

    def acknowledge(self) -> None:
        with self._disk.lock:
            self.acknowledged += 1
            self._note()

    def _may_happen(self) -> None:
        if self._chance.random() < self._likelihood:
            self._note()

    def _note(self) -> None:
        self.found.append((self.acknowledged, self._disk.image(self._chance)))


def lose_power(
    disk: Disk,
    folder: Path,
    durability: Durability,
    *,
    seed: str,
    likelihood: float,
    is_followed: bool = False,
) -> list[tuple[int, Image]]:
    """Run the workload from an empty folder; return what each loss of power leaves."""
    path = folder / "ledger.db"
    storage = SqliteStorage(str(path), durability, vfs=disk.name)
    with open_on_storage(path, storage, clock=clock) as engine:
        losses = Losses(disk, random.Random(seed), likelihood=likelihood)
        create_table(engine, is_followed=is_followed)
        losses.acknowledge()
        for act, _ in STEPS:
            act(engine)
            losses.acknowledge()
    return losses.found


def open_left(folder: Path, image: Image) -> Engine:
    folder.mkdir()
    for name, content in image.items():
        (folder / name).write_bytes(content)
    return Engine.open(folder / "ledger.db", clock=clock, upkeep_seconds=None)


def check_losses(
    folder: Path, losses: list[tuple[int, Image]], *, keeps_acknowledged: bool
) -> None:
    first = list(STATES[0].items())
    # While the table was being filled, item after item; then step after step.
    history = [dict(first[:count]) for count in range(len(first))] + STATES
    for place, (acknowledged, image) in enumerate(losses):
        with open_left(folder / f"after-{place}", image) as engine:
            assert engine.verify() == []
            exists = bool(engine.execute("ListTables", {})["TableNames"])
            found = read_all(engine) if exists else {}
            # The step under way may be there in full.
            possible = history[: len(first) + acknowledged + 2]
            if keeps_acknowledged and acknowledged >= 0:
                possible = STATES[acknowledged : acknowledged + 2]
            assert found in possible
        shutil.rmtree(folder / f"after-{place}")


@pytest.mark.parametrize("durability", ["durable", "process"])
def test_a_loss_of_power_leaves_what_was_promised(
    disk: Disk, tmp_path: Path, durability: Durability
) -> None:
    losses = lose_power(disk, tmp_path, durability, seed="power", likelihood=0.08)
    assert len(losses) > 30
    check_losses(tmp_path, losses, keeps_acknowledged=durability == "durable")


@pytest.mark.parametrize("durability", ["durable", "process"])
def test_a_loss_of_power_leaves_log_and_rows_in_agreement(
    disk: Disk, tmp_path: Path, durability: Durability
) -> None:
    losses = lose_power(disk, tmp_path, durability, seed="log", likelihood=0.08, is_followed=True)
    assert len(losses) > 30
    check_losses(tmp_path, losses, keeps_acknowledged=durability == "durable")


@pytest.mark.long
@pytest.mark.parametrize("durability", ["durable", "process"])
@pytest.mark.seeds(4)
def test_a_loss_of_power_anywhere_leaves_what_was_promised(
    disk: Disk, tmp_path: Path, durability: Durability, seed: int
) -> None:
    losses = lose_power(disk, tmp_path, durability, seed=str(seed), likelihood=1.0)
    check_losses(tmp_path, losses, keeps_acknowledged=durability == "durable")
