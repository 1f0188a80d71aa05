"""Jobs killed in the middle: the same command again goes on, and ends right."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, cast

import pytest

from keyfold.cli import main
from keyfold.engine import Engine
from tests.crash.moving import ITEMS, fill, make_bad, make_item

ROOT = Path(__file__).parents[2]
TABLE = "tests.crash.moving:table"
COMMANDS = {
    "copy": ("copy", "{}/source.db", "{}/target.db", "--table", TABLE),
    "dump": ("dump", "{}/items.jsonl.gz", "--db", "{}/source.db", "--table", TABLE),
    "load": ("load", "{}/items.jsonl.gz", "--db", "{}/target.db", "--table", TABLE),
    "backfill": ("backfill", TABLE, "--db", "{}/source.db"),
}


def kill_after(job: str, folder: Path, batches: int) -> None:
    """Start a job, let it go on so often, and kill it while it does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.moving", job, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    told, tell = cast(IO[bytes], process.stdout), cast(IO[bytes], process.stdin)
    try:
        for _ in range(batches):
            assert told.readline() != b"", "it ended by itself"
            tell.write(b"\n")
    finally:
        process.kill()
        process.wait()
        told.close()
        tell.close()


def run_command(
    job: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int | str | None, dict[str, Any]]:
    """Run the same job by its command, and return its exit code and what it tells."""
    arguments = [each.format(folder) for each in COMMANDS[job]]
    capsys.readouterr()
    with pytest.raises(SystemExit) as exited:
        main([*arguments, "--json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return exited.value.code, told


def read_table(path: Path) -> dict[str, Any]:
    with Engine.open(path, upkeep_seconds=None) as engine:
        assert engine.verify() == []
        found: dict[str, Any] = {}
        request: dict[str, Any] = {"TableName": "Moving"}
        while True:
            page = engine.execute("Scan", request)
            found.update((item["pk"]["S"] + item["sk"]["S"], item) for item in page["Items"])
            if "LastEvaluatedKey" not in page:
                return found
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def key_of(item: dict[str, Any]) -> str:
    return item["pk"]["S"] + item["sk"]["S"]


GOOD = {key_of(item): item for item in map(make_item, range(ITEMS))}
BAD = {key_of(item): item for item in map(make_bad, range(10))}


def check_rejects(path: Path) -> None:
    """Everything that fits no entity is in the side file, and only once."""
    lines = path.read_text().splitlines()
    told = [json.loads(line)["Item"] for line in lines]
    assert sorted(map(key_of, told)) == sorted(BAD)


def check_ending(job: str, folder: Path) -> None:
    match job:
        case "copy":
            assert read_table(folder / "target.db") == GOOD
            check_rejects(folder / "target.db.copy-Moving.rejected.jsonl")
        case "dump":
            lines = gzip.decompress((folder / "items.jsonl.gz").read_bytes()).splitlines()
            items = [json.loads(line)["Item"] for line in lines]
            assert len(items) == ITEMS
            assert {key_of(item): item for item in items} == GOOD
            check_rejects(folder / "items.jsonl.gz.rejected.jsonl")
        case "load":
            assert read_table(folder / "target.db") == GOOD
            check_rejects(folder / "items.jsonl.gz.rejected.jsonl")
        case _:
            assert read_table(folder / "source.db") == GOOD | BAD
            check_rejects(folder / "source.db.backfill-Moving.rejected.jsonl")
    left = {path.name for path in folder.iterdir()}
    assert not [name for name in left if name.endswith((".checkpoint", ".lock", ".new", ".parts"))]


def prepare(job: str, folder: Path) -> None:
    if job == "load":
        lines = [json.dumps({"Item": item}) for item in (*GOOD.values(), *BAD.values())]
        random.Random(7).shuffle(lines)
        # Several members, as files have that were joined.
        halves = ["\n".join(lines[:300]) + "\n", "\n".join(lines[300:]) + "\n"]
        file = folder / "items.jsonl.gz"
        file.write_bytes(b"".join(gzip.compress(each.encode()) for each in halves))
    else:
        fill(folder / "source.db", is_stale=job == "backfill")


def kill_and_go_on(
    job: str, folder: Path, kills: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(job, folder)
    for batches in kills:
        kill_after(job, folder, batches)
    code, told = run_command(job, folder, capsys)
    # Items that fit no entity make the answer no, whatever else went well.
    assert code == 1
    summary: dict[str, Any] = told["tables"][0] if "tables" in told else told
    assert summary["resumed"]
    assert summary["rejected"] == 10
    verified: dict[str, Any] = summary.get("verified") or {}
    assert all(entity["ok"] for entity in verified.values())
    assert bool(verified) is (job != "backfill")
    check_ending(job, folder)


@pytest.mark.parametrize("job", ["copy", "dump", "backfill"])
def test_a_job_that_was_killed_goes_on_and_ends_right(
    tmp_path: Path, job: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(job)
    # Each run does a few more batches than it is let go on for, of some sixty.
    kills = [chance.randint(1, 12) for _ in range(3)]
    kill_and_go_on(job, tmp_path, kills, capsys)


def test_a_load_that_was_killed_goes_on_and_ends_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two batches are all that so many lines make.
    kill_and_go_on("load", tmp_path, [1], capsys)


@pytest.mark.long
@pytest.mark.parametrize("job", ["copy", "dump", "load", "backfill"])
@pytest.mark.seeds(5)
def test_a_job_that_is_killed_again_and_again_ends_right(
    tmp_path: Path, job: str, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(f"{job}{seed}")
    kills = [chance.randint(1, 1 if job == "load" else 4) for _ in range(6)]
    kill_and_go_on(job, tmp_path, kills, capsys)
