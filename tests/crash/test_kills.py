"""Processes killed in the middle of writing: what they were told is done is there."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import IO, cast

import pytest

from keyfold.engine import Durability, Engine
from tests.crash.load import (
    ACCOUNTS,
    FIRST_ITEMS,
    MEMBERS,
    NOW,
    OPENING_BALANCE,
    SHARD_RECORDS,
    TABLE,
    create_table,
)
from tests.property.stream_consumer import Consumer

ROOT = Path(__file__).parents[2]

Said = dict[str, list[str]]


class Writer:
    """A process under load, and what it has said."""

    def __init__(self, path: Path, durability: Durability, run: str) -> None:
        self.run = run
        self.said: Said = defaultdict(list)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.load", str(path), durability, run],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )

    def listen(self, lines: int) -> None:
        """Wait for `count` acknowledgements."""
        for _ in range(lines):
            self._note(self._output.readline())

    def kill(self) -> None:
        """End it without warning, and hear what it had said before."""
        self.process.kill()
        for line in self._output:
            self._note(line)
        self.process.wait()
        self._output.close()

    @property
    def _output(self) -> IO[str]:
        return cast(IO[str], self.process.stdout)

    def _note(self, line: str) -> None:
        kind, _, name = line.strip().partition(" ")
        assert kind not in ("", "failed"), line
        self.said[kind].append(name)


def open_after(path: Path, durability: Durability) -> Engine:
    return Engine.open(
        path,
        durability=durability,
        clock=lambda: NOW,
        expiry_grace=0.0,
        upkeep_seconds=None,
        shard_records=SHARD_RECORDS,
    )


def read_all(engine: Engine, **more: str) -> dict[str, dict[str, dict[str, str]]]:
    items: dict[str, dict[str, dict[str, str]]] = {}
    request = {"TableName": TABLE, **more}
    while True:
        page = engine.execute("Scan", request)
        items.update((item["pk"]["S"], item) for item in page["Items"])
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def check_file(path: Path, durability: Durability, writers: list[Writer]) -> None:
    with open_after(path, durability) as engine:
        assert engine.verify() == []
        items = read_all(engine)
        for number in range(FIRST_ITEMS):
            assert f"first-{number}" in items
        for writer in writers:
            _check_writes(items, writer)
        balances = [int(items[name]["balance"]["N"]) for name in ACCOUNTS]
        assert sum(balances) == OPENING_BALANCE * len(ACCOUNTS)
        sets = Counter(name.rpartition("-")[0] for name in items if name.startswith("set-"))
        assert set(sets.values()) <= {MEMBERS}, "a transaction half there"
        _check_upkeep(engine)
        assert engine.verify() == []


def _check_writes(items: dict[str, dict[str, dict[str, str]]], writer: Writer) -> None:
    for name in writer.said["put"]:
        assert name in items
    for name in writer.said["set"]:
        assert f"{name}-0" in items
    if writer.said["counter"]:
        hits = int(items[f"counter-{writer.run}"]["hits"]["N"])
        # The last one may have been done and not yet said.
        assert hits - int(writer.said["counter"][-1]) in (0, 1)


def _check_upkeep(engine: Engine) -> None:
    """What was going on in the background goes on: filling an index, and expiry."""
    engine.run_upkeep()
    items = read_all(engine)
    assert not any(name.startswith("past-") for name in items)
    described = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]
    for index in described["GlobalSecondaryIndexes"]:
        assert index["IndexStatus"] == "ACTIVE"
        attribute = index["KeySchema"][0]["AttributeName"]
        held = {name for name, item in items.items() if attribute in item}
        assert read_all(engine, IndexName=index["IndexName"]).keys() == held


def check_stream(path: Path, durability: Durability) -> None:
    """Check that the stream has every change once and nothing else: it makes the same table."""
    with open_after(path, durability) as engine, Engine.open(":memory:") as copy:
        create_table(copy)
        for name in read_all(copy):
            copy.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": name}}})
        consumer = Consumer(engine, TABLE, copy)
        consumer.read_all()
        assert read_all(copy) == read_all(engine)
        assert consumer.shards > 1


def kill_again_and_again(
    path: Path,
    durability: Durability,
    *,
    kills: int,
    most_lines: int,
    chance: random.Random,
    is_followed: bool = False,
) -> None:
    """Kill writers, each after at most `most_lines` acknowledgements, maybe none; check the file."""
    with open_after(path, durability) as engine:
        create_table(engine, is_followed=is_followed)
    writers: list[Writer] = []
    for run in range(kills):
        # One in three has another beside it, which must not notice.
        count = 1 + (run % 3 == 2)
        alive = [Writer(path, durability, f"{run}.{number}") for number in range(count)]
        writers += alive
        try:
            while alive:
                for writer in alive:
                    writer.listen(chance.randint(0, most_lines))
                alive.pop(chance.randrange(len(alive))).kill()
        finally:
            for writer in alive:
                writer.kill()
        check_file(path, durability, writers)
        if is_followed:
            check_stream(path, durability)


@pytest.mark.parametrize("durability", ["durable", "process"])
def test_a_killed_process_loses_nothing_acknowledged(
    tmp_path: Path, durability: Durability
) -> None:
    chance = random.Random(durability)
    kill_again_and_again(tmp_path / "ledger.db", durability, kills=3, most_lines=150, chance=chance)


@pytest.mark.parametrize("durability", ["durable", "process"])
def test_a_killed_process_leaves_log_and_rows_in_agreement(
    tmp_path: Path, durability: Durability
) -> None:
    kill_again_and_again(
        tmp_path / "ledger.db",
        durability,
        kills=3,
        most_lines=150,
        chance=random.Random(f"followed {durability}"),
        is_followed=True,
    )


def test_a_process_may_be_killed_before_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    chance = random.Random(0)
    kill_again_and_again(path, "process", kills=1, most_lines=0, chance=chance, is_followed=True)


@pytest.mark.long
@pytest.mark.seeds(3)
@pytest.mark.parametrize("is_followed", [False, True], ids=["plain", "followed"])
@pytest.mark.parametrize("durability", ["durable", "process"])
def test_many_killed_processes_lose_nothing_acknowledged(
    tmp_path: Path, durability: Durability, is_followed: bool, seed: int
) -> None:
    kill_again_and_again(
        tmp_path / "ledger.db",
        durability,
        kills=12,
        most_lines=500,
        chance=random.Random(f"{durability}{seed}"),
        is_followed=is_followed,
    )
