"""Vector indexes of restored and imported tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import (
    ValidationException,
)
from tests.unit.engine.vectors import INDEX, SEARCHED, TABLE, create, ids, numbers, put, search


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield engine
        assert engine.verify() == []


PLAIN: dict[str, Any] = {
    **INDEX,
    "IndexName": "ByTaste",
    "VectorAttribute": {"AttributeName": "taste"},
}


def _describe(engine: Engine, name: str) -> dict[str, Any]:
    return engine.execute("DescribeTable", {"TableName": name})["Table"]


def _restore(engine: Engine, backup: str, **more: Any) -> dict[str, Any]:
    """Restore from a backup and return the new table's description."""
    request = {"BackupArn": backup, "TargetTableName": "Restored", **more}
    answer = engine.execute("RestoreTableFromBackup", request)["TableDescription"]
    statuses = {each["IndexStatus"] for each in answer.get("VectorIndexes", [])}
    assert statuses <= {"CREATING"}
    engine.run_upkeep()
    return _describe(engine, "Restored")


@pytest.fixture
def backup(engine: Engine) -> str:
    """Return a backup of a table with two vector indexes; one of its two items is in only one."""
    engine.execute("CreateTable", create(SEARCHED, PLAIN))
    put(engine, "a", 1.0, 2.0, 3.0, shop={"S": "x"}, size={"N": "1"})
    engine.execute("PutItem", {"TableName": TABLE, "Item": {"id": {"S": "b"}}})
    request = {"TableName": TABLE, "BackupName": "whole"}
    return engine.execute("CreateBackup", request)["BackupDetails"]["BackupArn"]


def test_a_backup_describes_the_vector_indexes(engine: Engine, backup: str) -> None:
    described = engine.execute("DescribeBackup", {"BackupArn": backup})["BackupDescription"]
    assert described["SourceTableFeatureDetails"]["VectorIndexes"] == [SEARCHED, PLAIN]


def test_vector_indexes_are_restored_with_their_table(engine: Engine, backup: str) -> None:
    described = _restore(engine, backup)
    assert described["AttributeDefinitions"] == _describe(engine, TABLE)["AttributeDefinitions"]
    found = {each["IndexName"]: each["ItemCount"] for each in described["VectorIndexes"]}
    assert found == {"ByLook": 1, "ByTaste": 0}
    search = {
        "TableName": "Restored",
        "IndexName": "ByLook",
        "SearchVector": numbers([1.0, 2.0, 3.0]),
        "TopK": 5,
        "SearchConditionExpression": "shop = :x",
        "ExpressionAttributeValues": {":x": {"S": "x"}},
    }
    assert ids(engine.execute("SearchVectors", search)["SearchResults"]) == ["a"]


def test_a_restore_may_leave_vector_indexes_out(engine: Engine, backup: str) -> None:
    described = _restore(engine, backup, VectorIndexOverride=[PLAIN])
    assert [each["IndexName"] for each in described["VectorIndexes"]] == ["ByTaste"]
    # Attributes that only the other index used are not defined any more.
    assert described["AttributeDefinitions"] == [{"AttributeName": "id", "AttributeType": "S"}]
    engine.execute("DeleteTable", {"TableName": "Restored"})
    assert "VectorIndexes" not in _restore(engine, backup, VectorIndexOverride=[])


def test_a_point_in_time_restore_includes_vector_indexes(engine: Engine) -> None:
    engine.execute("CreateTable", create(SEARCHED, PLAIN))
    recovery = {"PointInTimeRecoveryEnabled": True}
    engine.execute(
        "UpdateContinuousBackups",
        {"TableName": TABLE, "PointInTimeRecoverySpecification": recovery},
    )
    put(engine, "a", 1.0, 2.0, 3.0, shop={"S": "x"})
    request = {
        "SourceTableName": TABLE,
        "TargetTableName": "Restored",
        "UseLatestRestorableTime": True,
        "VectorIndexOverride": [SEARCHED],
    }
    engine.execute("RestoreTableToPointInTime", request)
    engine.run_upkeep()
    (index,) = _describe(engine, "Restored")["VectorIndexes"]
    assert (index["IndexName"], index["ItemCount"]) == ("ByLook", 1)


@pytest.mark.parametrize(
    "override",
    [
        [{**PLAIN, "Dimensions": 4}],
        [{**PLAIN, "DistanceFunction": "EUCLIDEAN"}],
        [{**PLAIN, "IndexName": "Other"}],
        [{**PLAIN, "Projection": {"ProjectionType": "KEYS_ONLY"}}],
        [INDEX],
        [PLAIN, PLAIN],
    ],
)
def test_a_vector_index_override_must_match_an_index_of_the_backup(
    engine: Engine, backup: str, override: list[dict[str, Any]]
) -> None:
    with pytest.raises(ValidationException, match="VectorIndexOverride must match an index"):
        _restore(engine, backup, VectorIndexOverride=override)


def test_a_provisioned_table_cannot_be_restored_with_vector_indexes(
    engine: Engine, backup: str
) -> None:
    provisioned = {
        "BillingModeOverride": "PROVISIONED",
        "ProvisionedThroughputOverride": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    }
    with pytest.raises(ValidationException, match="only supported for PAY_PER"):
        _restore(engine, backup, **provisioned)
    assert "VectorIndexes" not in _restore(engine, backup, VectorIndexOverride=[], **provisioned)


def test_an_imported_table_may_have_vector_indexes(tmp_path: Path) -> None:
    good = {"id": {"S": "a"}, "look": {"L": numbers([1.0, 0.0, 0.0])}}
    short = {"id": {"S": "b"}, "look": {"L": numbers([1.0])}}
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "items.json").write_text(
        "".join(json.dumps({"Item": item}) + "\n" for item in (good, short))
    )
    with Engine.open(":memory:", upkeep_seconds=None, buckets=tmp_path) as engine:
        request = {
            "S3BucketSource": {"S3Bucket": "bucket"},
            "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": create(INDEX),
        }
        begun = engine.execute("ImportTable", request)["ImportTableDescription"]
        assert begun["TableCreationParameters"]["VectorIndexes"] == [INDEX]
        imported = engine.execute("DescribeImport", {"ImportArn": begun["ImportArn"]})
        described = imported["ImportTableDescription"]
        assert (described["ImportedItemCount"], described["ErrorCount"]) == (1, 1)
        assert ids(search(engine, 1.0, 0.0, 0.0)) == ["a"]
        assert engine.verify() == []
