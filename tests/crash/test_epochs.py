"""Copies put beside another log: refused if that would mix rows, and never refused after a crash."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from keyfold.engine import Durability, Engine
from keyfold.engine.storage import checkpoints, epochs
from keyfold.errors import LogMismatch
from tests.unit.engine.storage.tables import create, put

State = dict[str, str]


class Copy(NamedTuple):
    """A file that was copied at some time, and the state that it had then."""

    content: bytes
    state: State
    # The number of kills before it.
    kills: int


class Walk:
    """Writes, checkpoints and restarts at random, with copies of the closed file between them."""

    def __init__(self, folder: Path, durability: Durability, chance: random.Random) -> None:
        self._folder, self._chance = folder, chance
        self._durability: Durability = durability
        self._path = folder / "walk.db"
        self.state: State = {}
        self.copies: list[Copy] = []
        # What a kill would have left at each step: the file, its log, and the state.
        self.kills: list[tuple[bytes, bytes, State]] = []
        self._engine = self._open()
        create(self._engine)

    def _open(self) -> Engine:
        return Engine.open(self._path, durability=self._durability, upkeep_seconds=None)

    def step(self) -> None:
        match self._chance.choice("wwwwwwccr"):
            case "w":
                for _ in range(self._chance.randint(1, 6)):
                    name = f"thing-{self._chance.randrange(40)}"
                    value = f"{len(self.kills)}-{self._chance.random()}"
                    put(self._engine, name, value={"S": value}, text={"S": "x" * 2_500})
                    self.state = self.state | {name: value}
            case "c":
                checkpoints._checkpoint(self._engine._storage._connection)
            case _:
                self._engine.close()
                self.copies.append(Copy(self._path.read_bytes(), self.state, len(self.kills)))
                self._engine = self._open()
        log = self._path.with_name("walk.db-wal")
        self.kills.append((self._path.read_bytes(), log.read_bytes(), self.state))

    def close(self) -> None:
        self._engine.close()


def open_pair(folder: Path, content: bytes, log: bytes) -> State:
    """Return the rows of a file beside a log; its structure must be sound."""
    folder.mkdir()
    (folder / "pair.db").write_bytes(content)
    (folder / "pair.db-wal").write_bytes(log)
    try:
        with Engine.open(folder / "pair.db", upkeep_seconds=None) as engine:
            assert engine.verify() == []
            items = engine.execute("Scan", {"TableName": "Things"})["Items"]
        return {item["pk"]["S"]: item["value"]["S"] for item in items}
    finally:
        shutil.rmtree(folder)


def check_walk(folder: Path, durability: Durability, *, seed: str, steps: int) -> None:
    chance = random.Random(seed)
    walk = Walk(folder, durability, chance)
    for _ in range(steps):
        walk.step()
    walk.close()
    for content, log, state in walk.kills:
        assert open_pair(folder / "killed", content, log) == state, "a kill loses nothing"
    outcomes: list[bool] = []
    for copy in walk.copies:
        later = walk.kills[copy.kills :]
        for _, log, state in chance.sample(later, min(len(later), 12)):
            try:
                found = open_pair(folder / "mixed", copy.content, log)
            except LogMismatch:
                outcomes.append(False)
            else:
                # The log is empty, or begins with exactly this copy.
                assert found in (copy.state, state), "rows of two states are mixed"
                outcomes.append(True)
    assert outcomes.count(False) > len(outcomes) / 4
    assert outcomes.count(True) > 0


@pytest.mark.parametrize("durability", ["durable", "process"])
def test_a_copy_beside_another_log_is_refused_or_whole(
    tmp_path: Path, durability: Durability, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A log without an epoch of its own is replayed: in `process`, one that was just begun.
    monkeypatch.setitem(watch_pauses(), "process", 0.0)
    check_walk(tmp_path, durability, seed="epochs", steps=40)


@pytest.mark.long
@pytest.mark.parametrize("durability", ["durable", "process"])
@pytest.mark.seeds(8)
def test_many_copies_beside_other_logs_are_refused_or_whole(
    tmp_path: Path, durability: Durability, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(watch_pauses(), "process", 0.0)
    check_walk(tmp_path, durability, seed=f"epochs {seed}", steps=120)


def watch_pauses() -> dict[Durability, float]:
    from keyfold.engine.storage import file_watch

    return file_watch._PAUSE_SECONDS


def test_another_database_beside_a_log_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "one.db", tmp_path / "other.db"
    with Engine.open(other) as engine:
        create(engine)
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        put(engine, "thing", value={"S": "1"})
        log = path.with_name("one.db-wal").read_bytes()
    with pytest.raises(LogMismatch, match=r"keyfold restore.*\[log-mismatch\]"):
        open_pair(tmp_path / "pair", other.read_bytes(), log)


def test_a_refused_pair_is_left_as_it_is_and_opens_without_the_log(tmp_path: Path) -> None:
    path, copy = tmp_path / "one.db", tmp_path / "copy.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        put(engine, "old", value={"S": "1"})
    shutil.copyfile(path, copy)
    with Engine.open(path, upkeep_seconds=None) as engine:
        put(engine, "new", value={"S": "1"})
        checkpoints._checkpoint(engine._storage._connection)
        put(engine, "newer", value={"S": "1"})
        log = path.with_name("one.db-wal").read_bytes()
    beside = tmp_path / "copy.db-wal"
    beside.write_bytes(log)
    content = copy.read_bytes()
    for _ in range(2):
        with pytest.raises(LogMismatch):
            Engine.open(copy)
        assert (copy.read_bytes(), beside.read_bytes()) == (content, log)
    beside.unlink()
    copy.with_name("copy.db-shm").unlink(missing_ok=True)
    with Engine.open(copy) as engine:
        items = engine.execute("Scan", {"TableName": "Things"})["Items"]
        assert [item["pk"]["S"] for item in items] == ["old"]


def test_the_epoch_is_at_the_end_of_its_page_however_often_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    seen: set[bytes] = set()
    for number in range(30):
        with Engine.open(path, upkeep_seconds=None) as engine:
            if not number:
                create(engine)
            put(engine, f"thing-{number}", value={"S": "1"})
        content = path.read_bytes()
        epoch = epochs.parse_epoch(content[3 * 4_096 - 32 : 3 * 4_096])
        assert epoch is not None
        assert content[2 * 4_096 : 3 * 4_096].count(b"KFEP") == 1
        seen.add(epoch.number)
    assert len(seen) == 30


@pytest.mark.parametrize("place", range(32))
def test_a_torn_epoch_blocks_nothing_and_is_reported(tmp_path: Path, place: int) -> None:
    path = tmp_path / "one.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        put(engine, "thing", value={"S": "1"})
    content = bytearray(path.read_bytes())
    content[3 * 4_096 - 32 + place] ^= 0xFF
    path.write_bytes(content)
    with Engine.open(path, upkeep_seconds=None) as engine:
        put(engine, "more", value={"S": "1"})
        assert [str(problem) for problem in engine.verify()] == ["file: its epoch cannot be read"]


def test_the_epoch_of_a_log_that_was_just_emptied_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        log = epochs.LogFile(f"{path}-wal", None)
        full, empty = log.read_start(), b""
        log.close()
        for start in (full, full[:20], empty):
            epoch = epochs.new_epoch(bytes(8), log.find_salts(start))
            assert epochs.parse_epoch(epochs.render_epoch(epoch)) == epoch
