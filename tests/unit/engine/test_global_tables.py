"""Global tables of the first version, and auto scaling: stored and described."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import (
    GlobalTableAlreadyExistsException,
    GlobalTableNotFoundException,
    IndexNotFoundException,
    ReplicaAlreadyExistsException,
    ReplicaNotFoundException,
    ResourceNotFoundException,
    TableNotFoundException,
    ValidationException,
)
from tests.unit.engine.clocks import Clock
from tests.unit.engine.test_usage import CREATE, TABLE

NAMED = {"GlobalTableName": TABLE}
GROUP = [{"RegionName": "us-east-1"}, {"RegionName": "eu-west-1"}]
SCALING: dict[str, Any] = {
    "MinimumUnits": 1,
    "MaximumUnits": 10,
    "AutoScalingRoleArn": "arn:aws:iam::000000000000:role/scaling",
    "ScalingPolicyUpdate": {
        "PolicyName": "half",
        "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 50.0},
    },
}
SCALED = {
    "MinimumUnits": 1,
    "MaximumUnits": 10,
    "AutoScalingRoleArn": "arn:aws:iam::000000000000:role/scaling",
    "ScalingPolicies": [
        {
            "PolicyName": "half",
            "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 50.0},
        }
    ],
}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", clock=Clock(), upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        yield engine
        assert engine.verify() == []


def _create(engine: Engine, **more: Any) -> dict[str, Any]:
    request = {**NAMED, "ReplicationGroup": GROUP, **more}
    return engine.execute("CreateGlobalTable", request)["GlobalTableDescription"]


def _regions(engine: Engine) -> list[str]:
    described = engine.execute("DescribeGlobalTable", NAMED)["GlobalTableDescription"]
    return [each["RegionName"] for each in described["ReplicationGroup"]]


def test_a_global_table_is_stored_with_a_warning(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="keyfold.engine"):
        created = _create(engine)
    assert "nothing is replicated" in caplog.text
    assert created["GlobalTableStatus"] == "CREATING"
    described = engine.execute("DescribeGlobalTable", NAMED)["GlobalTableDescription"]
    assert described == {
        "ReplicationGroup": [
            {
                "RegionName": region,
                "ReplicaStatus": "ACTIVE",
                "ReplicaArn": f"arn:aws:dynamodb:{region}:000000000000:table/Music",
            }
            for region in ("us-east-1", "eu-west-1")
        ],
        "GlobalTableArn": "arn:aws:dynamodb::000000000000:global-table/Music",
        "CreationDateTime": 1_700_000_000.0,
        "GlobalTableStatus": "ACTIVE",
        "GlobalTableName": TABLE,
    }


def test_replicas_are_added_and_removed(engine: Engine) -> None:
    _create(engine)

    def update(**action: Any) -> None:
        engine.execute("UpdateGlobalTable", {**NAMED, "ReplicaUpdates": [action]})

    update(Create={"RegionName": "us-west-2"})
    assert _regions(engine) == ["us-east-1", "eu-west-1", "us-west-2"]
    update(Delete={"RegionName": "eu-west-1"})
    assert _regions(engine) == ["us-east-1", "us-west-2"]
    with pytest.raises(ReplicaAlreadyExistsException):
        update(Create={"RegionName": "us-west-2"})
    with pytest.raises(ReplicaNotFoundException):
        update(Delete={"RegionName": "eu-west-1"})
    with pytest.raises(ValidationException, match="Exactly one of Create or Delete"):
        update()
    with pytest.raises(ValidationException, match="List of ReplicaUpdates is empty"):
        engine.execute("UpdateGlobalTable", {**NAMED, "ReplicaUpdates": []})


def test_a_global_table_is_created_once_from_an_existing_table(engine: Engine) -> None:
    with pytest.raises(TableNotFoundException):
        _create(engine, GlobalTableName="Absent")
    with pytest.raises(ValidationException, match="RegionName must be specified"):
        _create(engine, ReplicationGroup=[])
    with pytest.raises(ValidationException, match="more than once"):
        _create(engine, ReplicationGroup=[GROUP[0], GROUP[0]])
    _create(engine)
    with pytest.raises(GlobalTableAlreadyExistsException):
        _create(engine)
    engine.execute("DeleteTable", {"TableName": TABLE})
    for operation in ("DescribeGlobalTable", "DescribeGlobalTableSettings"):
        with pytest.raises(GlobalTableNotFoundException):
            engine.execute(operation, NAMED)


def test_global_tables_are_listed_by_region_a_page_at_a_time(engine: Engine) -> None:
    for name in ("Beta", "Alpha"):
        engine.execute("CreateTable", {**CREATE, "TableName": name})
        _create(engine, GlobalTableName=name, ReplicationGroup=[{"RegionName": "us-east-1"}])
    _create(engine)
    first = engine.execute("ListGlobalTables", {"Limit": 2})
    assert [each["GlobalTableName"] for each in first["GlobalTables"]] == ["Alpha", "Beta"]
    assert first["LastEvaluatedGlobalTableName"] == "Beta"
    rest = engine.execute("ListGlobalTables", {"ExclusiveStartGlobalTableName": "Beta"})
    assert rest == {"GlobalTables": [{"GlobalTableName": TABLE, "ReplicationGroup": GROUP}]}
    assert engine.execute("ListGlobalTables", {"RegionName": "eu-west-1"}) == rest


def test_settings_are_stored_for_all_regions_and_for_one(tmp_path: Path) -> None:
    path = tmp_path / "music.db"
    request: dict[str, Any] = {
        **NAMED,
        "GlobalTableBillingMode": "PROVISIONED",
        "GlobalTableProvisionedWriteCapacityUnits": 7,
        "GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate": SCALING,
        "GlobalTableGlobalSecondaryIndexSettingsUpdate": [
            {"IndexName": "ByGenre", "ProvisionedWriteCapacityUnits": 3}
        ],
        "ReplicaSettingsUpdate": [
            {
                "RegionName": "eu-west-1",
                "ReplicaProvisionedReadCapacityUnits": 9,
                "ReplicaProvisionedReadCapacityAutoScalingSettingsUpdate": SCALING,
                "ReplicaTableClass": "STANDARD",
                "ReplicaGlobalSecondaryIndexSettingsUpdate": [
                    {
                        "IndexName": "ByGenre",
                        "ProvisionedReadCapacityAutoScalingSettingsUpdate": SCALING,
                    }
                ],
            }
        ],
    }
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        _create(engine)
        answer = engine.execute("UpdateGlobalTableSettings", request)
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        assert engine.execute("DescribeGlobalTableSettings", NAMED) == answer
    home, abroad = answer["ReplicaSettings"]
    assert home == {
        "RegionName": "us-east-1",
        "ReplicaStatus": "ACTIVE",
        "ReplicaBillingModeSummary": {"BillingMode": "PROVISIONED"},
        "ReplicaProvisionedReadCapacityUnits": 0,
        "ReplicaProvisionedWriteCapacityUnits": 7,
        "ReplicaProvisionedWriteCapacityAutoScalingSettings": SCALED,
        "ReplicaGlobalSecondaryIndexSettings": [
            {
                "IndexName": "ByGenre",
                "IndexStatus": "ACTIVE",
                "ProvisionedWriteCapacityUnits": 3,
            }
        ],
    }
    assert abroad["ReplicaProvisionedReadCapacityUnits"] == 9
    assert abroad["ReplicaProvisionedReadCapacityAutoScalingSettings"] == SCALED
    assert abroad["ReplicaTableClassSummary"] == {"TableClass": "STANDARD"}
    (index,) = abroad["ReplicaGlobalSecondaryIndexSettings"]
    assert index["ProvisionedReadCapacityAutoScalingSettings"] == SCALED


def test_settings_of_missing_replicas_and_indexes_are_refused(engine: Engine) -> None:
    _create(engine)

    def update(**parameters: Any) -> None:
        engine.execute("UpdateGlobalTableSettings", {**NAMED, **parameters})

    with pytest.raises(ReplicaNotFoundException):
        update(ReplicaSettingsUpdate=[{"RegionName": "us-west-2"}])
    with pytest.raises(IndexNotFoundException):
        update(GlobalTableGlobalSecondaryIndexSettingsUpdate=[{"IndexName": "Absent"}])
    wrong = {"MinimumUnits": 5, "MaximumUnits": 4}
    with pytest.raises(ValidationException, match="MinimumUnits 5 must not be greater"):
        update(GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate=wrong)


def test_auto_scaling_is_stored_for_a_table_and_its_replicas(engine: Engine) -> None:
    replica = [{"Create": {"RegionName": "eu-west-1"}}]
    engine.execute("UpdateTable", {"TableName": TABLE, "ReplicaUpdates": replica})
    request: dict[str, Any] = {
        "TableName": TABLE,
        "ProvisionedWriteCapacityAutoScalingUpdate": SCALING,
        "GlobalSecondaryIndexUpdates": [
            {"IndexName": "ByGenre", "ProvisionedWriteCapacityAutoScalingUpdate": SCALING}
        ],
        "ReplicaUpdates": [
            {
                "RegionName": "eu-west-1",
                "ReplicaProvisionedReadCapacityAutoScalingUpdate": SCALING,
                "ReplicaGlobalSecondaryIndexUpdates": [
                    {"IndexName": "ByGenre", "ProvisionedReadCapacityAutoScalingUpdate": SCALING}
                ],
            }
        ],
    }
    answer = engine.execute("UpdateTableReplicaAutoScaling", request)
    assert answer["TableAutoScalingDescription"]["TableStatus"] == "UPDATING"
    described = engine.execute("DescribeTableReplicaAutoScaling", {"TableName": TABLE})
    home, abroad = described["TableAutoScalingDescription"]["Replicas"]
    assert home == {
        "RegionName": "us-east-1",
        "ReplicaStatus": "ACTIVE",
        "ReplicaProvisionedWriteCapacityAutoScalingSettings": SCALED,
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "ByGenre",
                "IndexStatus": "ACTIVE",
                "ProvisionedWriteCapacityAutoScalingSettings": SCALED,
            }
        ],
    }
    assert abroad["ReplicaProvisionedReadCapacityAutoScalingSettings"] == SCALED
    (index,) = abroad["GlobalSecondaryIndexes"]
    assert index["ProvisionedReadCapacityAutoScalingSettings"] == SCALED
    # Settings left out of a change stay as they are.
    update = {"ProvisionedWriteCapacityAutoScalingUpdate": {"MaximumUnits": 20}}
    engine.execute("UpdateTableReplicaAutoScaling", {"TableName": TABLE, **update})
    described = engine.execute("DescribeTableReplicaAutoScaling", {"TableName": TABLE})
    home, _ = described["TableAutoScalingDescription"]["Replicas"]
    assert home["ReplicaProvisionedWriteCapacityAutoScalingSettings"] == {
        **SCALED,
        "MaximumUnits": 20,
    }


def test_auto_scaling_of_missing_replicas_and_indexes_is_refused(engine: Engine) -> None:
    def update(**parameters: Any) -> None:
        engine.execute("UpdateTableReplicaAutoScaling", {"TableName": TABLE, **parameters})

    with pytest.raises(ValidationException, match="At least one of"):
        update()
    with pytest.raises(ResourceNotFoundException, match="Replica in region: us-west-2"):
        update(ReplicaUpdates=[{"RegionName": "us-west-2"}])
    with pytest.raises(ResourceNotFoundException, match="Index: Absent"):
        update(GlobalSecondaryIndexUpdates=[{"IndexName": "Absent"}])
    with pytest.raises(ResourceNotFoundException, match="Table: Absent not found"):
        engine.execute("DescribeTableReplicaAutoScaling", {"TableName": "Absent"})
