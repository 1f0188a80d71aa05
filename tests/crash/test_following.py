"""Followers killed at random points: no change is missed, and none comes before its time."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from keyfold.engine import Engine
from keyfold.store import Followed, Store, StoreSettings
from keyfold.testing import Clock
from tests.crash.following import SHARD_RECORDS, Account, Note, accounts, notes, open_both

ROOT = Path(__file__).parents[2]
NAMES = [f"account-{number}" for number in range(6)]


def start(path: Path, worker: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.following", str(path), worker],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def kill_again_and_again(path: Path, *, kills: int, chance: random.Random) -> None:
    alive: list[subprocess.Popen[bytes]] = []
    number = 0
    with open_both(str(path)) as store:
        try:
            for kill in range(kills):
                # Some go on under their name, some are new and have to wait for the leases.
                alive.append(start(path, f"worker-{kill % 2}" if kill % 3 else f"new-{kill}"))
                # Writes take as long as they do: what the followers are at meanwhile is chance.
                for _ in range(chance.randint(1, 30)):
                    for name in NAMES:
                        store.run(Account(name=name, number=number).put())
                    number += 1
                if len(alive) > chance.randint(0, 1):
                    stop(alive.pop(chance.randrange(len(alive))))
        finally:
            for process in alive:
                stop(process)
        assert catch_up(path).dead_letters == 0
        for name in NAMES:
            note = store.run(Note.get(name=name))
            assert note is not None
            check_told(note.told, number)


def catch_up(path: Path) -> Followed:
    """Follow to the end; the leases of the dead lapse by a clock that need not be waited for."""
    clock = Clock()
    with Engine.open(path, clock=clock, shard_records=SHARD_RECORDS) as engine:
        settings = StoreSettings([accounts, notes], cursor_key=bytes(32), clock=clock)
        return Store(engine, settings, sleep=clock.advance).follow(accounts, until_caught_up=True)


def check_told(told: list[int], count: int) -> None:
    """Every number came, and the first time in order; what was told may be told again."""
    most = -1
    for each in told:
        assert each <= most + 1, f"{each} came after {most}"
        most = max(most, each)
    assert most == count - 1


def test_a_killed_follower_misses_no_change(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path / "followed.db", kills=3, chance=random.Random(1))


@pytest.mark.long
@pytest.mark.seeds(4)
def test_many_killed_followers_miss_no_change(tmp_path: Path, seed: int) -> None:
    kill_again_and_again(tmp_path / "followed.db", kills=15, chance=random.Random(seed))
