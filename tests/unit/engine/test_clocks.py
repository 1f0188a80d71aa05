"""Clocks that stand still or go back: nothing is lost or mixed up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine

TABLE = "Things"
CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
}
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock, tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "bucket").mkdir()
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None, buckets=tmp_path) as engine:
        yield engine
        assert engine.verify() == []


def put(engine: Engine, key: str) -> None:
    engine.execute("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": key}}})


def keys_in_stream(engine: Engine, arn: str) -> list[str]:
    described = engine.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    found: list[str] = []
    for shard in described["Shards"]:
        parameters = {
            "StreamArn": arn,
            "ShardId": shard["ShardId"],
            "ShardIteratorType": "TRIM_HORIZON",
        }
        iterator = engine.execute("GetShardIterator", parameters)["ShardIterator"]
        records = engine.execute("GetRecords", {"ShardIterator": iterator})["Records"]
        found += [record["dynamodb"]["Keys"]["pk"]["S"] for record in records]
    return found


@pytest.mark.parametrize("step_back", [0.0, 5.0])
def test_a_recreated_table_has_a_new_stream(engine: Engine, clock: Clock, step_back: float) -> None:
    arns: list[str] = []
    for key in ("first", "second", "third"):
        made = engine.execute("CreateTable", {**CREATE, "StreamSpecification": STREAM})
        arns.append(made["TableDescription"]["LatestStreamArn"])
        put(engine, key)
        engine.execute("DeleteTable", {"TableName": TABLE})
        clock.now -= step_back
    assert [keys_in_stream(engine, arn) for arn in arns] == [["first"], ["second"], ["third"]]


def test_the_latest_state_has_all_writes_even_if_the_clock_went_back(
    engine: Engine, clock: Clock
) -> None:
    engine.execute("CreateTable", CREATE)
    specification = {"PointInTimeRecoveryEnabled": True}
    engine.execute(
        "UpdateContinuousBackups",
        {"TableName": TABLE, "PointInTimeRecoverySpecification": specification},
    )
    clock.now += 100
    put(engine, "a")
    clock.now -= 2
    put(engine, "b")
    clock.now += 1
    parameters = {
        "SourceTableName": TABLE,
        "TargetTableName": "Copy",
        "UseLatestRestorableTime": True,
    }
    engine.execute("RestoreTableToPointInTime", parameters)
    assert engine.execute("Scan", {"TableName": "Copy"})["Count"] == 2
    arn = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]["TableArn"]
    begun = engine.execute("ExportTableToPointInTime", {"TableArn": arn, "S3Bucket": "bucket"})
    export = {"ExportArn": begun["ExportDescription"]["ExportArn"]}
    assert engine.execute("DescribeExport", export)["ExportDescription"]["ItemCount"] == 2
