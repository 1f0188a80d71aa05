"""Damaged records of backups and jobs: reported, without affecting other operations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import FileDamaged
from tests.unit.engine.storage.tables import ADD_INDEX, TABLE, create, put

ID = "01700000000000-0123abcd"
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things/{part}/" + ID

DAMAGED = [b"", b"[]", b"not JSON", b"\xff\xfe", b'{"rows": 7']


@pytest.mark.parametrize("record", DAMAGED)
@pytest.mark.parametrize(
    ("kind", "operation", "request_"),
    [
        ("backup", "DescribeBackup", {"BackupArn": ARN.format(part="backup")}),
        ("export", "DescribeExport", {"ExportArn": ARN.format(part="export")}),
        ("import", "DescribeImport", {"ImportArn": ARN.format(part="import")}),
        ("restore", "DeleteTable", {"TableName": "Things"}),
        ("export-job", "DeleteTable", {"TableName": "Things"}),
        ("import-job", "ListTables", None),
    ],
)
def test_a_damaged_record_is_reported_and_does_no_harm(
    tmp_path: Path, kind: str, operation: str, request_: dict[str, Any] | None, record: bytes
) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        engine._storage.write(lambda writer: writer.set_record(kind, ID, record))
    with Engine.open(path, upkeep_seconds=None) as engine:
        put(engine, "one")
        engine.run_upkeep()
        assert [problem.subject for problem in engine.verify()] == [f"{kind} {ID}"]
        if request_ is not None:
            with pytest.raises(FileDamaged, match="cannot be read"):
                engine.execute(operation, request_)


@pytest.mark.parametrize("place", [0, 1], ids=["first", "second"])
def test_a_status_that_does_not_exist_is_reported(tmp_path: Path, place: int) -> None:
    """One of the table, the other of its index."""
    path = tmp_path / "things.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        engine.execute("UpdateTable", ADD_INDEX)
        engine.run_upkeep()
        record = engine._storage.read(lambda reader: reader.get_record("table", TABLE))
        assert record is not None
        parts = record.split(b'"status":"ACTIVE"')
        assert len(parts) == 3
        left, right = b'"status":"ACTIVE"'.join(parts[: place + 1]), parts[place + 1 :]
        damaged = b'"status":"ACTIVD"'.join([left, b'"status":"ACTIVE"'.join(right)])
        engine._storage.write(lambda writer: writer.set_record("table", TABLE, damaged))
    with Engine.open(path, upkeep_seconds=None) as engine:
        problems = [str(problem) for problem in engine.verify()]
        assert any(TABLE in problem and "cannot be read" in problem for problem in problems)
