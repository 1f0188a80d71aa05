"""Disks that fail: every call of a workload fails once, and nothing acknowledged is lost."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from keyfold.engine import Engine
from keyfold.errors import FileFailed, FileUnreachable
from tests.crash.faulty_vfs import FaultyVfs, NthCall, faulty_vfs, open_on
from tests.crash.workload import NOW, STEPS, create_table, read_all, states

WRITES = frozenset(["write", "sync", "truncate", "delete", "open"])
READS = frozenset(["read"])

STATES = states()

# So many calls does no workload make: the loop ends before.
ENOUGH = 20_000


def clock() -> float:
    return NOW


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "ledger.db"
    with Engine.open(path, clock=clock, upkeep_seconds=None) as engine:
        create_table(engine)
        assert read_all(engine) == STATES[0]
    return path


@pytest.fixture
def faulty() -> Iterator[FaultyVfs]:
    with faulty_vfs() as faulty:
        yield faulty


def run_steps(engine: Engine) -> int:
    """Run steps until one fails; return how many were acknowledged."""
    for place, (act, _) in enumerate(STEPS):
        try:
            act(engine)
        except FileFailed:
            return place
    return len(STEPS)


def check_once(
    faulty: FaultyVfs, prepared: Path, folder: Path, fault: NthCall, *, while_opening: bool
) -> bool:
    """Run the workload into one fault; return whether it was reached at all."""
    folder.mkdir()
    try:
        return _check_once(faulty, prepared, folder, fault, while_opening=while_opening)
    finally:
        faulty.fault = None
        shutil.rmtree(folder)


def _check_once(
    faulty: FaultyVfs, prepared: Path, folder: Path, fault: NthCall, *, while_opening: bool
) -> bool:
    path = Path(shutil.copy(prepared, folder / "ledger.db"))
    faulty.fault = fault if while_opening else None
    try:
        engine = open_on(faulty, path, clock=clock)
    except (FileFailed, FileUnreachable):
        faulty.fault = None
        with Engine.open(path, clock=clock, upkeep_seconds=None) as again:
            assert again.verify() == []
            assert read_all(again) == STATES[0]
        return True
    # So small that pages are read again and again.
    engine._storage._connection.execute("PRAGMA cache_size = 4")
    faulty.fault = fault
    try:
        done = run_steps(engine)
        # As if the machine had stopped here: whatever is on the disk must be whole.
        crashed = folder / "crashed"
        crashed.mkdir()
        for file in folder.glob("ledger.db*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, crashed)
        faulty.fault = None
        # What failed was not done, as its error says; what is next goes on as if nothing had been.
        assert read_all(engine) == STATES[done]
        assert engine.verify() == []
        for act, _ in STEPS[done:]:
            act(engine)
        assert read_all(engine) == STATES[-1]
    finally:
        faulty.fault = None
        engine.close()
    with Engine.open(path, clock=clock, upkeep_seconds=None) as again:
        assert again.verify() == []
        assert read_all(again) == STATES[-1]
    with Engine.open(crashed / "ledger.db", clock=clock, upkeep_seconds=None) as again:
        assert again.verify() == []
        # The step that failed may be there in full: its commit was on its way to the disk.
        assert read_all(again) in STATES[done : done + 2]
    return fault.has_failed


@dataclass(frozen=True)
class Kind:
    """What fails, how, and how many places to pass over in a quick run."""

    name: str
    calls: frozenset[str]
    error: type[apsw.Error]
    stride: int
    lasts: bool = False

    def __str__(self) -> str:
        return self.name


KINDS = [
    Kind("a write fails", WRITES, apsw.IOError, stride=29),
    Kind("the disk is full for once", WRITES, apsw.FullError, stride=31),
    Kind("the disk is full", WRITES, apsw.FullError, stride=23, lasts=True),
    Kind("no write succeeds", WRITES, apsw.IOError, stride=29, lasts=True),
    Kind("a read fails", READS, apsw.IOError, stride=353),
]


def check_every(
    faulty: FaultyVfs, prepared: Path, folder: Path, kind: Kind, *, stride: int
) -> None:
    for place in range(1, ENOUGH, stride):
        fault = NthCall(kind.calls, place, kind.error, kind.lasts)
        while_opening = place % 2 == 0
        if not check_once(
            faulty, prepared, folder / str(place), fault, while_opening=while_opening
        ):
            assert place > 100, "the workload reaches the disk more often than that"
            return
    pytest.fail("the workload never ends")


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_failing_disk_loses_nothing_acknowledged(
    faulty: FaultyVfs, prepared: Path, tmp_path: Path, kind: Kind
) -> None:
    check_every(faulty, prepared, tmp_path, kind, stride=kind.stride)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_disk_that_fails_anywhere_loses_nothing_acknowledged(
    faulty: FaultyVfs, prepared: Path, tmp_path: Path, kind: Kind
) -> None:
    check_every(faulty, prepared, tmp_path, kind, stride=1)
