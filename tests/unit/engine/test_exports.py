"""Exports: folders in DynamoDB's layout, complete or absent."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.engine.recovery.copy_job import BATCH_ROWS
from keyfold.errors import OptionInvalid, ResourceInUseException, ValidationException
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import TABLE, create, put
from tests.unit.engine.test_backups import fill, items_of
from tests.unit.engine.test_recovery import START, switch

ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
HOUR = 3_600


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    folder = tmp_path / "buckets" / "orders"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def engine(clock: Clock, bucket: Path) -> Iterator[Engine]:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None, buckets=bucket.parent) as engine:
        create(engine)
        switch(engine)
        yield engine
        assert engine.verify() == []


def export(engine: Engine, **more: Any) -> dict[str, Any]:
    request = {"TableArn": ARN, "S3Bucket": "orders", **more}
    begun = engine.execute("ExportTableToPointInTime", request)["ExportDescription"]
    engine.run_upkeep()
    arn = begun["ExportArn"]
    return engine.execute("DescribeExport", {"ExportArn": arn})["ExportDescription"]


def read_lines(bucket: Path, described: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of an export, found through its summary and manifest."""
    summary_file = bucket / described["ExportManifest"]
    summary = json.loads(summary_file.read_bytes())
    files_file = bucket / summary["manifestFilesS3Key"]
    for file in (summary_file, files_file):
        digest = hashlib.md5(file.read_bytes()).digest()
        assert file.with_suffix(".checksum").read_bytes() == base64.b64encode(digest)
    lines: list[dict[str, Any]] = []
    for entry in map(json.loads, files_file.read_text().splitlines()):
        content = (bucket / entry["dataFileS3Key"]).read_bytes()
        digest = hashlib.md5(content)
        assert entry["md5Checksum"] == base64.b64encode(digest.digest()).decode()
        found = [json.loads(line) for line in gzip.decompress(content).splitlines()]
        assert entry["itemCount"] == len(found)
        lines += found
    assert summary["itemCount"] == described["ItemCount"] == len(lines)
    assert summary["billedSizeBytes"] == described["BilledSizeBytes"]
    return lines


def test_an_export_holds_the_table_as_it_was(engine: Engine, clock: Clock, bucket: Path) -> None:
    fill(engine, 250)
    put(engine, "raw", data={"B": b"\x00\xff"})
    before = items_of(engine, TABLE)
    clock.let_pass(10)
    put(engine, "later")
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": "thing-1"}}})
    described = export(engine, ExportTime=START + 5, S3Prefix="daily/one")
    assert described["ExportStatus"] == "COMPLETED"
    id_ = described["ExportArn"].rpartition("/")[2]
    assert described["ExportManifest"] == f"daily/one/AWSDynamoDB/{id_}/manifest-summary.json"
    lines = read_lines(bucket, described)
    before["raw"]["data"] = {"B": "AP8="}
    assert {line["Item"]["pk"]["S"]: line["Item"] for line in lines} == before
    summary = json.loads((bucket / described["ExportManifest"]).read_bytes())
    assert summary["exportTime"] == "2023-11-14T22:13:25.000Z"
    assert summary["exportType"] == "FULL_EXPORT"
    assert (bucket / described["ExportManifest"]).with_name("_started").read_bytes() == b""


def test_an_empty_table_has_an_empty_file(engine: Engine, bucket: Path) -> None:
    described = export(engine)
    assert read_lines(bucket, described) == []
    assert len(list(bucket.rglob("*.json.gz"))) == 1


def test_a_large_export_is_written_in_several_files(
    engine: Engine, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(engine, BATCH_ROWS * 60)
    monkeypatch.setattr("keyfold.engine.bulk.export_job.FILE_BYTES", 50_000)
    request = {"TableArn": ARN, "S3Bucket": "orders"}
    begun = engine.execute("ExportTableToPointInTime", request)["ExportDescription"]
    arn = begun["ExportArn"]
    described = engine.execute("DescribeExport", {"ExportArn": arn})["ExportDescription"]
    assert described["ExportStatus"] == "IN_PROGRESS"
    with pytest.raises(ResourceInUseException, match="Table is being restored or exported"):
        engine.execute("DeleteTable", {"TableName": TABLE})
    engine.run_upkeep()
    described = engine.execute("DescribeExport", {"ExportArn": arn})["ExportDescription"]
    lines = read_lines(bucket, described)
    assert len(list(bucket.rglob("*.json.gz"))) > 3
    names = [line["Item"]["pk"]["S"] for line in lines]
    assert len(set(names)) == len(names) == BATCH_ROWS * 60


def test_an_incremental_export_has_the_net_change_of_each_item(
    engine: Engine, clock: Clock, bucket: Path
) -> None:
    for name in ("kept", "changed", "deleted", "replaced"):
        put(engine, name, n={"N": "1"})
    clock.let_pass(HOUR)
    put(engine, "changed", n={"N": "2"})
    put(engine, "changed", n={"N": "3"})
    put(engine, "made", n={"N": "1"})
    put(engine, "in between")
    for name in ("deleted", "in between", "replaced"):
        engine.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": name}}})
    put(engine, "replaced", n={"N": "9"})
    clock.let_pass(HOUR)
    put(engine, "kept", n={"N": "7"})
    period: dict[str, Any] = {"ExportFromTime": START + HOUR, "ExportToTime": START + 2 * HOUR}
    described = export(
        engine, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=period
    )
    lines = {line["Keys"]["pk"]["S"]: line for line in read_lines(bucket, described)}
    micros = {"WriteTimestampMicros": {"N": str((START + HOUR) * 1_000_000)}}
    assert all(line["Metadata"] == micros for line in lines.values())

    def images(name: str) -> tuple[Any, Any]:
        old, new = lines[name].get("OldImage"), lines[name].get("NewImage")
        return old and old["n"]["N"], new and new["n"]["N"]

    assert lines.keys() == {"changed", "deleted", "made", "replaced"}
    assert images("changed") == ("1", "3")
    assert images("deleted") == ("1", None)
    assert images("made") == (None, "1")
    assert images("replaced") == ("1", "9")
    period["ExportViewType"] = "NEW_IMAGE"
    described = export(
        engine, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=period
    )
    assert not any("OldImage" in line for line in read_lines(bucket, described))
    summary = json.loads((bucket / described["ExportManifest"]).read_bytes())
    assert summary["outputView"] == "NEW_IMAGE"
    assert summary["exportFromTime"] == "2023-11-14T23:13:20.000Z"


def test_an_export_that_cannot_be_written_fails_with_a_message(
    engine: Engine, bucket: Path
) -> None:
    (bucket / "AWSDynamoDB").write_text("in the way")
    described = export(engine)
    assert (described["ExportStatus"], described["FailureCode"]) == ("FAILED", "S3Error")
    (bucket / "AWSDynamoDB").unlink()
    shutil.rmtree(bucket)
    described = export(engine)
    assert described["FailureCode"] == "S3NoSuchBucket"
    engine.execute("DeleteTable", {"TableName": TABLE})


def test_a_symbolic_link_out_of_the_bucket_is_not_followed(
    engine: Engine, bucket: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (bucket / "AWSDynamoDB").symlink_to(outside)
    assert export(engine)["FailureCode"] == "AccessDenied"
    assert list(outside.rglob("*")) == []
    (bucket / "AWSDynamoDB").unlink()
    (bucket / "mine").mkdir()
    (bucket / "mine" / "AWSDynamoDB").symlink_to(outside / "missing")
    assert export(engine, S3Prefix="mine")["FailureCode"] == "AccessDenied"
    assert list(outside.rglob("*")) == []
    (bucket.parent / "elsewhere").symlink_to(outside)
    assert export(engine, S3Bucket="elsewhere")["FailureCode"] == "S3NoSuchBucket"


@pytest.mark.parametrize("prefix", ["..", "../x", "a/../b", "/x", "a//b", "a\\b", "c:x", "./a"])
def test_a_prefix_with_path_segments_is_refused(engine: Engine, bucket: Path, prefix: str) -> None:
    with pytest.raises(ValidationException, match="Invalid S3Prefix"):
        export(engine, S3Prefix=prefix)
    assert list(bucket.iterdir()) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"ExportFormat": "ION"}, "ION is not supported here"),
        ({"IncrementalExportSpecification": {"ExportFromTime": START}}, "for no other"),
        (
            {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": {}},
            "ExportFromTime must be specified",
        ),
    ],
)
def test_invalid_requests_are_refused(engine: Engine, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationException, match=message):
        export(engine, **more)


def test_the_error_without_buckets_says_what_to_do(clock: Clock) -> None:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        create(engine)
        switch(engine)
        with pytest.raises(ValidationException, match="open the engine with buckets=PATH"):
            export(engine)


@pytest.mark.parametrize("buckets", ["absent", 7, "a\0b"])
def test_buckets_must_be_an_existing_folder(tmp_path: Path, buckets: Any) -> None:
    given = tmp_path / buckets if buckets == "absent" else buckets
    with pytest.raises(OptionInvalid, match="buckets"):
        Engine.open(":memory:", buckets=given)
