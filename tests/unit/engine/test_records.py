"""Damaged records of backups and jobs: reported, without affecting other operations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import FileDamaged
from tests.unit.engine.storage.tables import create, put

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
