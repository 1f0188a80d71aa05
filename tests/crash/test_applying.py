"""`keyfold apply` killed in the middle: the same command again does what is left."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

import pytest

from keyfold.cli import main
from keyfold.deploy import plan, read_state
from keyfold.engine import Engine
from keyfold.wire.server import Server
from tests.crash.applying import ITEMS, NAME, after, by_label, by_title, fill, make_item

ROOT = Path(__file__).parents[2]
Kind = Literal["file", "server"]
# A step begins, and is done: so much is told of nine steps.
MOMENTS = 18


@contextmanager
def database_of(kind: Kind, path: Path) -> Generator[str]:
    """Where a database is that holds the table as it was: a file, or a server of ours on it."""
    with Engine.open(path, durability="process") as engine:
        fill(engine)
    if kind == "file":
        yield str(path)
        return
    with Engine.open(path, durability="process") as engine, Server(engine).running() as url:
        yield url


def kill_after(url: str, moments: int) -> int:
    """Start to apply, let it continue `moments` times, and kill it; return how often it continued."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.applying", url],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    told, tell = cast(IO[bytes], process.stdout), cast(IO[bytes], process.stdin)
    seen = 0
    try:
        while seen < moments and told.readline() not in (b"", b"ended\n"):
            tell.write(b"\n")
            seen += 1
    finally:
        process.kill()
        process.wait()
        told.close()
        tell.close()
    return seen


def run_command(url: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Run the same by its command, which is to succeed, and return what it tells."""
    capsys.readouterr()
    table = ["--table", "tests.crash.applying:after"]
    with pytest.raises(SystemExit) as exited:
        main(["apply", *table, "--db", url, "--allow-removal", "--json"])
    assert exited.value.code == 0
    return json.loads(capsys.readouterr().out)["tables"][0]


def check_ending(path: Path) -> None:
    """The table is as declared, nothing of it is lost, and its indexes hold all of it."""
    with Engine.open(path, upkeep_seconds=None) as engine:
        assert engine.verify() == []
        (left,) = plan(engine, [after], allow_removal=True)
        assert left.is_as_declared
        state = read_state(engine, NAME)
        assert state is not None
        assert set(state.indexes) == {by_label.name, by_title.name}
        assert dict(state.tags) == after.tags
        assert scan(engine) == {str(number): make_item(number) for number in range(ITEMS)}
        for index in (by_label, by_title):
            assert len(scan(engine, IndexName=index.name)) == ITEMS


def scan(engine: Engine, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    request: dict[str, Any] = {"TableName": NAME, **options}
    while True:
        page = engine.execute("Scan", request)
        found.update((item["pk"]["S"].removeprefix("SONG#"), item) for item in page["Items"])
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@pytest.mark.parametrize("kind", ["file", "server"])
def test_an_apply_that_was_killed_goes_on_and_ends_right(
    tmp_path: Path, kind: Kind, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "applied.db"
    with database_of(kind, path) as url:
        # The fifth step adds an index: once it is killed in there.
        for moments in (3, 5, 2):
            assert kill_after(url, moments) == moments
        told = run_command(url, capsys)
        # What was done before is not done again.
        assert told["as_declared"]
        assert 0 < len(told["done"]) < MOMENTS // 2
        assert run_command(url, capsys)["done"] == []
    check_ending(path)


def test_an_apply_that_makes_the_table_may_be_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.db"
    for moments in (1, 1, 2):
        kill_after(str(path), moments)
    assert run_command(str(path), capsys)["as_declared"]
    with Engine.open(path, upkeep_seconds=None) as engine:
        assert engine.verify() == []
        assert plan(engine, [after])[0].is_as_declared


@pytest.mark.long
@pytest.mark.parametrize("kind", ["file", "server"])
@pytest.mark.parametrize("moments", range(1, MOMENTS + 1))
def test_an_apply_may_be_killed_at_any_moment(
    tmp_path: Path, kind: Kind, moments: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(moments)
    path = tmp_path / "applied.db"
    with database_of(kind, path) as url:
        kill_after(url, moments)
        kill_after(url, chance.randint(1, 4))
        assert run_command(url, capsys)["as_declared"]
    check_ending(path)
