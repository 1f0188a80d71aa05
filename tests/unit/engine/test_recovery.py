"""Continuous backups: recovery window, retention, and recovery of deleted tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.engine.recovery.copy_job import BATCH_ROWS
from keyfold.errors import (
    ContinuousBackupsUnavailableException,
    InvalidRestoreTimeException,
    ResourceInUseException,
    ValidationException,
)
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import TABLE, create, put
from tests.unit.engine.test_backups import describe, fill, items_of, restore

START = 1_700_000_000
DAY = 86_400
MANY = BATCH_ROWS * 55


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        create(engine)
        yield engine
        assert engine.verify() == []


def switch(engine: Engine, *, on: bool = True, days: int | None = None) -> dict[str, Any]:
    specification: dict[str, Any] = {"PointInTimeRecoveryEnabled": on}
    if days is not None:
        specification["RecoveryPeriodInDays"] = days
    answer = engine.execute(
        "UpdateContinuousBackups",
        {"TableName": TABLE, "PointInTimeRecoverySpecification": specification},
    )
    return answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]


def rewind(engine: Engine, at: float, name: str = "Restored") -> None:
    request = {"SourceTableName": TABLE, "TargetTableName": name, "RestoreDateTime": at}
    engine.execute("RestoreTableToPointInTime", request)


def test_recovery_includes_the_second_in_which_it_was_enabled(engine: Engine, clock: Clock) -> None:
    clock.let_pass(0.75)
    put(engine, "one")
    assert switch(engine)["EarliestRestorableDateTime"] == START + 0.75
    rewind(engine, START)
    assert items_of(engine, "Restored").keys() == {"one"}
    with pytest.raises(InvalidRestoreTimeException):
        rewind(engine, START - 0.25, "Earlier")


def test_changes_are_kept_for_the_requested_period(engine: Engine, clock: Clock) -> None:
    switch(engine, days=2)
    put(engine, "one", n={"N": "1"})
    clock.let_pass(DAY)
    put(engine, "one", n={"N": "2"})
    clock.let_pass(DAY)
    engine.run_upkeep()
    rewind(engine, START, "First")
    assert items_of(engine, "First")["one"]["n"] == {"N": "1"}
    clock.let_pass(60)
    engine.run_upkeep()
    with pytest.raises(InvalidRestoreTimeException):
        rewind(engine, START + 1, "Late")


def test_lengthening_the_period_does_not_restore_trimmed_changes(
    engine: Engine, clock: Clock
) -> None:
    switch(engine)
    clock.let_pass(10 * DAY)
    assert switch(engine, days=3)["EarliestRestorableDateTime"] == START + 7 * DAY
    assert switch(engine, days=35)["EarliestRestorableDateTime"] == START + 7 * DAY


def test_a_table_without_recovery_has_no_log(engine: Engine) -> None:
    switch(engine)
    switch(engine, on=False)
    assert switch(engine, on=False) == {"PointInTimeRecoveryStatus": "DISABLED"}
    body = engine._context.catalog.bodies()[0]
    assert "log" not in body


def test_the_source_of_a_running_restore_cannot_be_deleted(engine: Engine, clock: Clock) -> None:
    switch(engine)
    fill(engine, MANY)
    clock.let_pass(1)
    rewind(engine, START)
    assert describe(engine, "Restored")["TableStatus"] == "CREATING"
    with pytest.raises(ContinuousBackupsUnavailableException):
        switch(engine, on=False)
    with pytest.raises(ResourceInUseException, match="Table is being restored or exported"):
        engine.execute("DeleteTable", {"TableName": TABLE})
    put(engine, "later")
    engine.run_upkeep()
    assert len(items_of(engine, "Restored")) == MANY
    switch(engine, on=False)


def test_a_restore_continues_when_the_source_gets_an_index(engine: Engine) -> None:
    switch(engine)
    fill(engine, MANY)
    rewind(engine, START)
    ttl = {"AttributeName": "t", "Enabled": True}
    engine.execute("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": ttl})
    engine.run_upkeep()
    assert items_of(engine, "Restored") == items_of(engine, TABLE)


def test_a_deleted_table_can_be_restored_for_35_days(engine: Engine, clock: Clock) -> None:
    switch(engine)
    put(engine, "kept")
    engine.execute("DeleteTable", {"TableName": TABLE})
    (backup,) = engine.execute("ListBackups", {"BackupType": "SYSTEM"})["BackupSummaries"]
    assert backup["BackupName"] == f"{TABLE}$DeletedTableBackup"
    assert backup["BackupExpiryDateTime"] == START + 35 * DAY
    assert engine.verify() == []
    clock.let_pass(35 * DAY - 1)
    engine.run_upkeep()
    restore(engine, backup["BackupArn"], TABLE)
    assert items_of(engine, TABLE).keys() == {"kept"}
    clock.let_pass(1)
    engine.run_upkeep()
    assert engine.execute("ListBackups", {}) == {"BackupSummaries": []}
    engine.execute("DeleteTable", {"TableName": TABLE})
    assert engine.execute("ListBackups", {}) == {"BackupSummaries": []}, "recovery was not enabled"


def test_two_names_of_the_source_must_agree(engine: Engine) -> None:
    switch(engine)
    request = {
        "SourceTableName": TABLE,
        "SourceTableArn": describe(engine, TABLE)["TableArn"],
        "UseLatestRestorableTime": True,
    }
    engine.execute("RestoreTableToPointInTime", {**request, "TargetTableName": "Restored"})
    with pytest.raises(ValidationException, match="must name the same table"):
        engine.execute(
            "RestoreTableToPointInTime",
            {**request, "SourceTableName": "Other", "TargetTableName": "Again"},
        )


def test_no_restore_shows_half_a_transaction() -> None:
    class TickingClock(Clock):
        """Advances with every reading."""

        def __call__(self) -> float:
            self.let_pass(1)
            return self.now

    clock = TickingClock()
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        create(engine)
        start = int(switch(engine)["EarliestRestorableDateTime"])
        puts = [
            {"Put": {"TableName": TABLE, "Item": {"pk": {"S": name}}}} for name in ("one", "two")
        ]
        engine.execute("TransactWriteItems", {"TransactItems": puts})
        end = int(clock())
        found: list[int] = []
        for at in range(start, end + 1):
            rewind(engine, at, f"Restored{at}")
            found.append(len(items_of(engine, f"Restored{at}")))
        assert set(found) == {0, 2}
        assert found == sorted(found)
        assert engine.verify() == []
