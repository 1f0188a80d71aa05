"""Processes killed in the middle of backups, restores, exports, imports and bulk operations."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import IO, Any, cast

import pytest

from keyfold.engine import Engine
from keyfold.engine.leases import LEASE_SECONDS
from tests.crash.backing_up import BUCKET, ITEMS, PAIRS, TABLE, prepare

ROOT = Path(__file__).parents[2]
# One round is about fifty.
MOST_COMMITS = 70


def run_and_kill(path: Path, buckets: Path, run: str, commits: int) -> dict[str, list[str]]:
    """Let a process make a number of commits, kill it, and return what it reported."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.backing_up", str(path), str(buckets), run],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    output = cast(IO[str], process.stdout)
    said: dict[str, list[str]] = defaultdict(list)

    def note(line: str) -> None:
        kind, _, name = line.strip().partition(" ")
        assert kind, "the process ended by itself"
        said[kind].append(name)

    try:
        while len(said["commit"]) < commits:
            note(output.readline())
    finally:
        process.kill()
        for line in output:
            note(line)
        process.wait()
        output.close()
    return said


def items_of(engine: Engine, table: str, **more: Any) -> dict[str, dict[str, Any]]:
    items: dict[str, dict[str, Any]] = {}
    request: dict[str, Any] = {"TableName": table, **more}
    while True:
        page = engine.execute("Scan", request)
        items.update((item["pk"]["S"], item) for item in page["Items"])
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def check_items(items: dict[str, dict[str, Any]], *, has_pairs: bool) -> None:
    """Nothing is missing, and every pair is of one moment."""
    assert {name for name in items if name.startswith("item-")} == {
        f"item-{number}" for number in range(ITEMS)
    }
    for pair in range(PAIRS):
        left, right = items.get(f"left-{pair}"), items.get(f"right-{pair}")
        assert (left and left["n"]) == (right and right["n"])
        assert has_pairs or left is None


def check_file(path: Path, buckets: Path, said: dict[str, list[str]]) -> None:
    with Engine.open(path, durability="process", upkeep_seconds=None, buckets=buckets) as engine:
        assert engine.verify() == []
        engine.run_upkeep()
        assert engine.verify() == []
        _check_backups(engine, said["backup"])
        _check_bulk_operations(engine, buckets, said["bulk"])
        tables = engine.execute("ListTables", {})["TableNames"]
        assert set(said["table"]) <= set(tables)
        for name in tables:
            described = engine.execute("DescribeTable", {"TableName": name})["Table"]
            assert described["TableStatus"] == "ACTIVE", name
            items = items_of(engine, name)
            check_items(items, has_pairs=not name.startswith("Imported"))
            assert items_of(engine, name, IndexName="by-n") == items
            if name != TABLE:
                engine.execute("DeleteTable", {"TableName": name})
        _check_exports(engine, buckets, said["export"])
        imports = engine.execute("ListImports", {})["ImportSummaryList"]
        for each in imports:
            arn = {"ImportArn": each["ImportArn"]}
            found = engine.execute("DescribeImport", arn)["ImportTableDescription"]
            assert found["ImportStatus"] == "COMPLETED"
            assert (found["ProcessedItemCount"], found["ErrorCount"]) == (ITEMS, 0)
        assert not engine._upkeep._jobs.has_more_to_come()


def _check_backups(engine: Engine, said: list[str]) -> None:
    listed = engine.execute("ListBackups", {})["BackupSummaries"]
    assert {each["BackupStatus"] for each in listed} <= {"AVAILABLE"}
    assert set(said) <= {each["BackupArn"] for each in listed}
    for each in listed:
        request = {"BackupArn": each["BackupArn"], "TargetTableName": "Again"}
        engine.execute("RestoreTableFromBackup", request)
        engine.run_upkeep()
        check_items(items_of(engine, "Again"), has_pairs=True)
        engine.execute("DeleteTable", {"TableName": "Again"})
        engine.execute("DeleteBackup", {"BackupArn": each["BackupArn"]})


def _check_bulk_operations(engine: Engine, buckets: Path, said: list[str]) -> None:
    """Every record was put once, and what could not be is reported once."""
    arns: set[str] = set()
    request: dict[str, Any] = {}
    while True:
        page = engine.execute("ListBulkOperations", request)
        arns |= {each["BulkOperationArn"] for each in page["BulkOperationsSummaryList"]}
        if "NextToken" not in page:
            break
        request = {"NextToken": page["NextToken"]}
    assert set(said) <= arns
    for arn in arns:
        answer = engine.execute("DescribeBulkOperation", {"BulkOperationArn": arn})
        described = answer["BulkOperationDescription"]
        assert described["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
        counted = (described["ProcessedItemCount"], described["FailedItemCount"])
        assert counted == (ITEMS + 1, 1)
        bucket, id_ = buckets / BUCKET, arn.rpartition("/")[2]
        path = bucket / "reports" / "AWSDynamoDB" / id_ / "manifest-summary.json"
        (file,) = json.loads(path.read_bytes())["files"]
        (line,) = (bucket / file["dataFileS3Key"]).read_text().splitlines()
        assert json.loads(line)["OutputType"] == "ERROR"
        name = described["TableDetails"][0]["TableName"]
        if name in engine.execute("ListTables", {})["TableNames"]:
            # The tables of earlier rounds are gone.
            put = [each for each in items_of(engine, name) if each.startswith("bulk-")]
            assert len(put) == ITEMS


def _check_exports(engine: Engine, buckets: Path, said: list[str]) -> None:
    listed = engine.execute("ListExports", {})["ExportSummaries"]
    assert set(said) <= {each["ExportArn"] for each in listed}
    for each in listed:
        arn = {"ExportArn": each["ExportArn"]}
        described = engine.execute("DescribeExport", arn)["ExportDescription"]
        assert described["ExportStatus"] == "COMPLETED"
        bucket = buckets / BUCKET
        summary = json.loads((bucket / described["ExportManifest"]).read_bytes())
        items: dict[str, dict[str, Any]] = {}
        for line in (bucket / summary["manifestFilesS3Key"]).read_text().splitlines():
            content = gzip.decompress((bucket / json.loads(line)["dataFileS3Key"]).read_bytes())
            found = [json.loads(row)["Item"] for row in content.splitlines()]
            items |= {item["pk"]["S"]: item for item in found}
        assert len(items) == summary["itemCount"]
        check_items(items, has_pairs=True)


def kill_again_and_again(path: Path, buckets: Path, *, kills: int, chance: random.Random) -> None:
    prepare(path, buckets)
    for run in range(kills):
        said = run_and_kill(path, buckets, str(run), chance.randint(1, MOST_COMMITS))
        check_file(path, buckets, said)


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """For whoever opens the file here, those who were killed have long been silent."""
    monkeypatch.setattr(
        "keyfold.engine.leases.machine_time", lambda: time.time() + LEASE_SECONDS + 1
    )


def test_what_a_killed_process_had_begun_is_finished_or_cleaned_up(tmp_path: Path) -> None:
    chance = random.Random(6)
    kill_again_and_again(tmp_path / "pairs.db", tmp_path / "buckets", kills=3, chance=chance)


@pytest.mark.long
@pytest.mark.seeds(3)
def test_twenty_kills_leave_nothing_half_done(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    kill_again_and_again(tmp_path / "pairs.db", tmp_path / "buckets", kills=20, chance=chance)
