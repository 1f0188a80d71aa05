"""Backups: consistent snapshots in the same file, restored with or without changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.engine.leases import LEASE_SECONDS
from keyfold.engine.recovery.backups import BACKUP_RECORD, find_stale_backups
from keyfold.engine.recovery.copy_job import BATCH_ROWS
from keyfold.engine.storage import SqliteStorage, StorageWriter
from keyfold.errors import (
    BackupInUseException,
    BackupNotFoundException,
    FileFailed,
    ResourceInUseException,
    ResourceNotFoundException,
    TableAlreadyExistsException,
    ValidationException,
)
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import ADD_INDEX, TABLE, create, put

# More than the batches that are restored before the response.
MANY = BATCH_ROWS * 55


@pytest.fixture(params=["memory", "file"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    path = ":memory:" if request.param == "memory" else tmp_path / "things.db"
    with Engine.open(path, clock=Clock(), upkeep_seconds=None) as engine:
        create(engine)
        yield engine
        assert engine.verify() == []


def fill(engine: Engine, count: int) -> None:
    for start in range(0, count, 25):
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": f"thing-{number}"}, "a": {"S": "x"}}}}
            for number in range(start, min(start + 25, count))
        ]
        engine.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})


def back_up(engine: Engine, name: str = "nightly", table: str = TABLE) -> str:
    answer = engine.execute("CreateBackup", {"TableName": table, "BackupName": name})
    return answer["BackupDetails"]["BackupArn"]


def restore(engine: Engine, arn: str, name: str = "Restored", **more: Any) -> dict[str, Any]:
    request = {"BackupArn": arn, "TargetTableName": name, **more}
    return engine.execute("RestoreTableFromBackup", request)["TableDescription"]


def describe(engine: Engine, name: str) -> dict[str, Any]:
    return engine.execute("DescribeTable", {"TableName": name})["Table"]


def items_of(engine: Engine, name: str) -> dict[str, dict[str, Any]]:
    items: dict[str, dict[str, Any]] = {}
    request: dict[str, Any] = {"TableName": name}
    while True:
        page = engine.execute("Scan", request)
        items.update((item["pk"]["S"], item) for item in page["Items"])
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def test_a_backup_keeps_the_items_of_its_time(engine: Engine) -> None:
    fill(engine, 300)
    before = items_of(engine, TABLE)
    arn = back_up(engine)
    put(engine, "thing-1", a={"S": "y"})
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": "thing-2"}}})
    restore(engine, arn)
    assert items_of(engine, "Restored") == before
    details = engine.execute("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    assert details["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert details["SourceTableDetails"]["ItemCount"] == 300


def test_a_backup_outlives_its_table(engine: Engine) -> None:
    put(engine, "kept")
    arn = back_up(engine)
    engine.execute("DeleteTable", {"TableName": TABLE})
    restore(engine, arn, TABLE)
    assert items_of(engine, TABLE).keys() == {"kept"}


def test_a_backup_is_a_consistent_snapshot_despite_concurrent_writes(tmp_path: Path) -> None:
    """Each writer keeps two items equal: in an inconsistent backup they would differ."""
    pairs, stopping = 8, threading.Event()
    with Engine.open(tmp_path / "things.db", durability="process") as engine:
        create(engine)
        fill(engine, BATCH_ROWS * 5)

        def write_pairs() -> None:
            number = 0
            while not stopping.is_set():
                number += 1
                for pair in range(pairs):
                    writes = [
                        {
                            "Put": {
                                "TableName": TABLE,
                                "Item": {"pk": {"S": f"{side}-{pair}"}, "n": {"N": str(number)}},
                            }
                        }
                        for side in ("left", "right")
                    ]
                    engine.execute("TransactWriteItems", {"TransactItems": writes})

        writer = threading.Thread(target=write_pairs)
        writer.start()
        try:
            arns = [back_up(engine, f"backup-{number}") for number in range(5)]
        finally:
            stopping.set()
            writer.join()
        for place, arn in enumerate(arns):
            restore(engine, arn, f"Restored{place}")
            items = items_of(engine, f"Restored{place}")
            numbers = [
                (items.get(f"left-{pair}"), items.get(f"right-{pair}")) for pair in range(pairs)
            ]
            assert all((a and a["n"]) == (b and b["n"]) for a, b in numbers)
        assert engine.verify() == []


def test_a_restored_table_has_its_indexes_and_none_of_the_other_settings(engine: Engine) -> None:
    fill(engine, 10)
    engine.execute("UpdateTable", ADD_INDEX)
    engine.run_upkeep()
    engine.execute(
        "UpdateTimeToLive",
        {"TableName": TABLE, "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": True}},
    )
    tags = [{"Key": "team", "Value": "blue"}]
    arn = describe(engine, TABLE)["TableArn"]
    engine.execute("TagResource", {"ResourceArn": arn, "Tags": tags})
    engine.execute("UpdateTable", {"TableName": TABLE, "DeletionProtectionEnabled": True})
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    engine.execute("UpdateTable", {"TableName": TABLE, "StreamSpecification": stream})
    backup = back_up(engine)
    features = engine.execute("DescribeBackup", {"BackupArn": backup})["BackupDescription"][
        "SourceTableFeatureDetails"
    ]
    assert features["StreamDescription"] == stream
    assert features["TimeToLiveDescription"] == {
        "TimeToLiveStatus": "ENABLED",
        "AttributeName": "t",
    }
    restore(engine, backup)
    restored = describe(engine, "Restored")
    assert restored["TableStatus"] == "ACTIVE"
    assert [each["IndexName"] for each in restored["GlobalSecondaryIndexes"]] == ["by-a"]
    assert restored["GlobalSecondaryIndexes"][0]["ItemCount"] == 10
    assert not restored["DeletionProtectionEnabled"]
    assert "StreamSpecification" not in restored
    assert restored["RestoreSummary"] == {
        "SourceBackupArn": backup,
        "SourceTableArn": arn,
        "RestoreDateTime": 1_700_000_000.0,
        "RestoreInProgress": False,
    }
    ttl = engine.execute("DescribeTimeToLive", {"TableName": "Restored"})
    assert ttl["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}
    listed = engine.execute("ListTagsOfResource", {"ResourceArn": restored["TableArn"]})
    assert listed["Tags"] == []


def test_indexes_may_be_left_out_and_not_added(engine: Engine) -> None:
    put(engine, "one", a={"S": "x"})
    engine.execute("UpdateTable", ADD_INDEX)
    index = ADD_INDEX["GlobalSecondaryIndexUpdates"][0]["Create"]
    arn = back_up(engine)
    restored = restore(engine, arn, GlobalSecondaryIndexOverride=[])
    assert "GlobalSecondaryIndexes" not in restored
    assert restored["AttributeDefinitions"] == [{"AttributeName": "pk", "AttributeType": "S"}]
    restore(engine, arn, "Same", GlobalSecondaryIndexOverride=[index])
    assert describe(engine, "Same")["GlobalSecondaryIndexes"][0]["ItemCount"] == 1
    for other in (
        {**index, "IndexName": "by-b"},
        {**index, "Projection": {"ProjectionType": "KEYS_ONLY"}},
    ):
        with pytest.raises(ValidationException, match="must match an index of the source table"):
            restore(engine, arn, "Other", GlobalSecondaryIndexOverride=[other])
    with pytest.raises(ValidationException, match="must match"):
        restore(engine, arn, "Twice", GlobalSecondaryIndexOverride=[index, index])


def test_throughput_and_encryption_may_be_changed(engine: Engine) -> None:
    arn = back_up(engine)
    units = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}
    restored = restore(
        engine,
        arn,
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride=units,
        SSESpecificationOverride={"Enabled": True},
    )
    assert "BillingModeSummary" not in restored
    assert restored["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units}
    assert restored["SSEDescription"]["Status"] == "ENABLED"
    with pytest.raises(ValidationException, match="must both be specified when BillingMode"):
        restore(engine, arn, "Other", BillingModeOverride="PROVISIONED")


def test_a_large_restored_table_is_creating_until_upkeep_has_filled_it(engine: Engine) -> None:
    fill(engine, MANY)
    engine.execute("UpdateTable", ADD_INDEX)
    engine.run_upkeep()
    arn = back_up(engine)
    restore(engine, arn)
    restored = describe(engine, "Restored")
    assert restored["TableStatus"] == "CREATING"
    assert restored["RestoreSummary"]["RestoreInProgress"]
    with pytest.raises(ResourceNotFoundException):
        items_of(engine, "Restored")
    for operation, more in (
        ("DeleteTable", {}),
        ("UpdateTable", {"DeletionProtectionEnabled": True}),
        (
            "UpdateTimeToLive",
            {"TimeToLiveSpecification": {"AttributeName": "t", "Enabled": True}},
        ),
    ):
        with pytest.raises(ResourceInUseException, match="Table is being created: Restored"):
            engine.execute(operation, {"TableName": "Restored", **more})
    with pytest.raises(BackupInUseException):
        engine.execute("DeleteBackup", {"BackupArn": arn})
    assert engine.verify() == [], "a half-finished restore is not a problem"
    engine.run_upkeep()
    restored = describe(engine, "Restored")
    assert (restored["TableStatus"], restored["ItemCount"]) == ("ACTIVE", MANY)
    assert restored["GlobalSecondaryIndexes"][0]["ItemCount"] == MANY
    engine.execute("DeleteBackup", {"BackupArn": arn})


def test_a_restore_continues_in_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        create(engine)
        fill(engine, MANY)
        restore(engine, back_up(engine))
        assert describe(engine, "Restored")["TableStatus"] == "CREATING"
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        engine.run_upkeep()
        assert items_of(engine, "Restored") == items_of(engine, TABLE)


def test_a_restore_does_not_overwrite_an_existing_table(engine: Engine) -> None:
    arn = back_up(engine)
    with pytest.raises(TableAlreadyExistsException, match=f"Table already exists: {TABLE}"):
        restore(engine, arn, TABLE)


def test_a_deleted_backup_is_not_found(engine: Engine) -> None:
    arn = back_up(engine)
    answer = engine.execute("DeleteBackup", {"BackupArn": arn})["BackupDescription"]
    assert answer["BackupDetails"]["BackupStatus"] == "DELETED"
    for operation in ("DescribeBackup", "DeleteBackup"):
        with pytest.raises(BackupNotFoundException, match=f"Backup not found: {arn}"):
            engine.execute(operation, {"BackupArn": arn})
    assert engine.execute("ListBackups", {}) == {"BackupSummaries": []}


def test_backups_are_listed_by_table_time_and_page() -> None:
    clock = Clock()
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        create(engine)
        arns: list[str] = []
        for number in range(5):
            arns.append(back_up(engine, f"backup-{number}"))
            clock.let_pass(10)

        def listed(**request: Any) -> list[str]:
            answer = engine.execute("ListBackups", request)
            return [each["BackupArn"] for each in answer["BackupSummaries"]]

        assert listed() == arns
        assert listed(TableName=TABLE) == arns
        assert listed(TableName="Other") == []
        assert listed(BackupType="SYSTEM") == []
        start = 1_700_000_000
        assert listed(TimeRangeLowerBound=start + 10, TimeRangeUpperBound=start + 30) == arns[1:3]
        page = engine.execute("ListBackups", {"Limit": 2})
        assert page["LastEvaluatedBackupArn"] == arns[1]
        engine.execute("DeleteBackup", {"BackupArn": arns[1]})
        assert listed(ExclusiveStartBackupArn=arns[1]) == arns[2:]
        assert "LastEvaluatedBackupArn" not in engine.execute("ListBackups", {"Limit": 4})


def test_a_table_has_only_one_backup_in_progress(engine: Engine) -> None:
    storage = _storage(engine)
    _leave_unfinished(storage, back_up(engine))
    with pytest.raises(BackupInUseException):
        back_up(engine)
    storage.write(lambda writer: _change(writer, status="AVAILABLE"))


def test_the_unfinished_backup_of_a_killed_process_is_removed_after_its_lease(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = _storage(engine)
    put(engine, "one")
    arn = back_up(engine)
    _leave_unfinished(storage, arn)
    engine.run_upkeep()
    described = engine.execute("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    assert described["BackupDetails"]["BackupStatus"] == "CREATING"
    with pytest.raises(BackupInUseException):
        restore(engine, arn)
    _let_machine_time_pass(monkeypatch, LEASE_SECONDS + 1)
    engine.run_upkeep()
    with pytest.raises(BackupNotFoundException):
        engine.execute("DescribeBackup", {"BackupArn": arn})


def test_a_backup_that_fails_leaves_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(engine, BATCH_ROWS + 1)
    calls = 0

    def fail_late(writer: StorageWriter, rows: Any) -> Any:
        nonlocal calls
        calls += 1
        raise FileFailed("things.db", "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("keyfold.engine.recovery.backups.row_writer", fail_late)
        with pytest.raises(FileFailed):
            back_up(engine)
    assert calls == 1
    assert engine.execute("ListBackups", {}) == {"BackupSummaries": []}


def test_verify_reports_a_damaged_backup(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        put(engine, "one")
        arn = back_up(engine)
        storage = _storage(engine)
        storage.write(lambda writer: _change(writer, items=7))
        (problem,) = engine.verify()
        assert problem.subject == f"backup {arn.rpartition('/')[2]}"
        assert "7 items" in problem.fact


def _storage(engine: Engine) -> SqliteStorage:
    return engine._storage  # to create states that only a crash leaves


def _leave_unfinished(storage: SqliteStorage, arn: str) -> None:
    """Make a backup look as if its process had just died."""
    (backup,) = storage.read(lambda reader: reader.list_records(BACKUP_RECORD))
    assert backup[0] == arn.rpartition("/")[2]
    storage.write(lambda writer: _change(writer, status="CREATING"))
    assert find_stale_backups(storage, 0.0) == []


def _change(writer: StorageWriter, **facts: Any) -> None:
    ((name, record),) = writer.list_records(BACKUP_RECORD)
    writer.set_record(BACKUP_RECORD, name, orjson.dumps({**orjson.loads(record), **facts}))


def _let_machine_time_pass(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    import time

    monkeypatch.setattr("keyfold.engine.leases.machine_time", lambda: time.time() + seconds)
