"""Bulk operations: load files into an existing table, with conditions and reports."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.engine.bulk.bulk_job import BATCH_RECORDS
from keyfold.errors import (
    FileBusy,
    IdempotentParameterMismatchException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from tests.unit.engine.clocks import Clock
from tests.unit.engine.stream_reading import read_stream
from tests.unit.engine.test_backups import items_of

TABLE = "Orders"
DEFINITION: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-n",
            "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
MANY = BATCH_RECORDS * 55


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    folder = tmp_path / "buckets" / "orders"
    (folder / "in").mkdir(parents=True)
    return folder


@pytest.fixture
def engine(bucket: Path, clock: Clock) -> Iterator[Engine]:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None, buckets=bucket.parent) as engine:
        engine.execute("CreateTable", DEFINITION)
        yield engine
        assert engine.verify() == []


def begin(engine: Engine, source: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    request: dict[str, Any] = {
        "TableName": TABLE,
        "InputS3Configuration": {
            "S3Bucket": "orders",
            "S3KeyPrefix": "in/",
            "InputFormat": "DYNAMODB_JSON",
            **(source or {}),
        },
        "OutputS3Configuration": {
            "S3Bucket": "orders",
            "S3KeyPrefix": "out/",
            "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"],
        },
        **more,
    }
    return engine.execute("StartBulkPutItems", request)["BulkOperationDescription"]


def describe(engine: Engine, begun: dict[str, Any]) -> dict[str, Any]:
    request = {"BulkOperationArn": begun["BulkOperationArn"]}
    return engine.execute("DescribeBulkOperation", request)["BulkOperationDescription"]


def run(engine: Engine, source: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    begun = begin(engine, source, **more)
    engine.run_upkeep()
    return describe(engine, begun)


def counts(described: dict[str, Any]) -> tuple[str, int, int]:
    status = described["BulkOperationStatus"]
    return status, described["ProcessedItemCount"], described["FailedItemCount"]


def write_records(path: Path, *records: dict[str, Any] | str) -> None:
    lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
    path.write_text("\n".join(lines) + "\n")


def record(pk: str, n: int = 1, **more: Any) -> dict[str, Any]:
    return {"Item": {"pk": {"S": pk}, "n": {"N": str(n)}}, **more}


def read_report(bucket: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the summary and the lines of the only report."""
    (path,) = (bucket / "out" / "AWSDynamoDB").glob("*/manifest-summary.json")
    summary = json.loads(path.read_text())
    lines: list[dict[str, Any]] = []
    for file in summary["files"]:
        content = (bucket / file["dataFileS3Key"]).read_bytes()
        digest = hashlib.md5(content, usedforsecurity=False).digest()
        assert base64.b64encode(digest).decode() == file["md5Checksum"]
        found = [json.loads(line) for line in content.splitlines()]
        assert len(found) == file["itemCount"]
        lines += found
    return summary, lines


def test_items_replace_existing_ones(engine: Engine, bucket: Path) -> None:
    old = {"pk": {"S": "b"}, "note": {"S": "old"}}
    engine.execute("PutItem", {"TableName": TABLE, "Item": old})
    write_records(bucket / "in" / "1.json", record("a", 1), "", record("b", 2))
    write_records(bucket / "in" / "2.json", record("c", 3))
    write_records(bucket / "other.json", record("d"))
    described = run(engine)
    assert counts(described) == ("COMPLETED", 3, 0)
    assert items_of(engine, TABLE) == {
        name: record(name, place)["Item"] for place, name in enumerate("abc", start=1)
    }
    size = sum(file.stat().st_size for file in (bucket / "in").iterdir())
    assert described["TotalInputBytes"] == described["ProcessedInputBytes"] == size
    # Six bytes each, and the index holds all of them.
    assert described["BulkOperationUsage"] == [
        {
            "TableName": TABLE,
            "Table": {"BulkPutBytes": 18},
            "GlobalSecondaryIndexes": {"by-n": {"BulkPutBytes": 18}},
            "BulkPutBytes": 36,
        }
    ]
    assert read_report(bucket)[0]["files"] == []


def test_puts_of_a_bulk_operation_are_in_the_stream(engine: Engine, bucket: Path) -> None:
    engine.execute("PutItem", {"TableName": TABLE, "Item": record("same")["Item"]})
    write_records(bucket / "in" / "1.json", record("same"), record("new", 1), record("new", 2))
    run(engine)
    arn = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]
    seen = [
        (each["eventName"], each["dynamodb"]["Keys"]["pk"]["S"])
        for each in read_stream(engine, arn)
    ]
    # Putting an identical item changes nothing.
    assert seen == [("INSERT", "same"), ("INSERT", "new"), ("MODIFY", "new")]


def test_puts_of_a_bulk_operation_are_in_point_in_time_recovery(
    engine: Engine, bucket: Path, clock: Clock
) -> None:
    recovery = {"PointInTimeRecoveryEnabled": True}
    request = {"TableName": TABLE, "PointInTimeRecoverySpecification": recovery}
    engine.execute("UpdateContinuousBackups", request)
    before = clock()
    clock.let_pass(60)
    write_records(bucket / "in" / "1.json", record("a"))
    run(engine)
    restore = {"SourceTableName": TABLE, "TargetTableName": "Before", "RestoreDateTime": before}
    engine.execute("RestoreTableToPointInTime", restore)
    assert items_of(engine, "Before") == {}
    assert items_of(engine, TABLE).keys() == {"a"}


def test_records_may_have_conditions(engine: Engine, bucket: Path) -> None:
    engine.execute("PutItem", {"TableName": TABLE, "Item": record("there", 5)["Item"]})
    absent = {
        "ConditionExpression": "attribute_not_exists(#key)",
        "ExpressionAttributeNames": {"#key": "pk"},
    }
    larger = {
        "ConditionExpression": "n < :n",
        "ExpressionAttributeValues": {":n": {"N": "7"}},
    }
    write_records(
        bucket / "in" / "1.json",
        record("there", 6, **absent),
        record("new", 1, **absent),
        record("there", 7, **larger),
        record("gone", 8, **larger),
    )
    described = run(engine)
    assert counts(described) == ("COMPLETED", 4, 0)
    assert items_of(engine, TABLE) == {
        "there": record("there", 7)["Item"],
        "new": record("new", 1)["Item"],
    }
    failed = {
        "OutputType": "CONDITION_CHECK_FAILURE",
        "S3Key": "in/1.json",
        "ErrorCode": "ConditionalCheckFailedException",
        "ErrorMessage": "The conditional request failed",
    }
    assert read_report(bucket)[1] == [
        {**failed, "Record": 1, **record("there", 6), "ExistingItem": record("there", 5)["Item"]},
        {**failed, "Record": 4, **record("gone", 8)},
    ]


def test_invalid_records_are_reported(engine: Engine, bucket: Path) -> None:
    write_records(
        bucket / "in" / "1.json",
        record("good"),
        "not JSON",
        {"Item": {"n": {"N": "1"}}},
        {"Item": {"pk": {"S": 7}}},
        {"Item": {"pk": {"S": "x"}, "body": {"S": "x" * 409_600}}},
        record("x", ConditionExpression=7),
        record("x", ConditionExpression="n ="),
        record("x", ExpressionAttributeNames={"#n": "n"}),
        record("last"),
    )
    described = run(engine)
    assert counts(described) == ("COMPLETED_WITH_ERRORS", 9, 7)
    assert items_of(engine, TABLE).keys() == {"good", "last"}
    summary, lines = read_report(bucket)
    assert summary["bulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
    assert (summary["processedItemCount"], summary["failedItemCount"]) == (9, 7)
    assert [line["Record"] for line in lines] == [2, 3, 4, 5, 6, 7, 8]
    assert {line["OutputType"] for line in lines} == {"ERROR"}
    assert lines[0].keys() == {"OutputType", "S3Key", "Record", "ErrorCode", "ErrorMessage"}
    assert "it is not JSON" in lines[0]["ErrorMessage"]
    assert lines[1]["Item"] == {"n": {"N": "1"}}
    assert [line["ErrorCode"] for line in lines[2:5]] == [
        "SerializationException",
        "ValidationException",
        "SerializationException",
    ]


def test_only_requested_outcomes_are_reported(engine: Engine, bucket: Path) -> None:
    write_records(
        bucket / "in" / "1.json",
        "not JSON",
        record("x", ConditionExpression="attribute_exists(pk)"),
    )
    output = {"S3Bucket": "orders", "S3KeyPrefix": "out", "OutputType": ["ERROR"]}
    run(engine, OutputS3Configuration=output)
    assert [line["Record"] for line in read_report(bucket)[1]] == [1]


def test_compressed_files_are_read(engine: Engine, bucket: Path) -> None:
    write_records(bucket / "plain.json", *(record(f"item-{number}") for number in range(20)))
    content = gzip.compress((bucket / "plain.json").read_bytes())
    (bucket / "in" / "1.json.gz").write_bytes(content)
    described = run(engine, {"InputCompressionType": "GZIP"})
    assert counts(described) == ("COMPLETED", 20, 0)
    assert described["TotalInputBytes"] == described["ProcessedInputBytes"] == len(content)


def test_a_long_report_has_several_files(
    engine: Engine, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keyfold.engine.bulk.bulk_reports.FILE_BYTES", 1)
    write_records(bucket / "in" / "1.json", *["wrong"] * 250)
    assert counts(run(engine)) == ("COMPLETED_WITH_ERRORS", 250, 250)
    summary, lines = read_report(bucket)
    assert len(summary["files"]) == 3
    assert [line["Record"] for line in lines] == list(range(1, 251))


def test_a_large_operation_resumes_where_it_stopped(bucket: Path, tmp_path: Path) -> None:
    records = [record(f"item-{number}") for number in range(MANY)]
    write_records(bucket / "in" / "1.json", "wrong", *records[: MANY // 2])
    write_records(bucket / "in" / "2.json", *records[MANY // 2 :])

    def reopen() -> Engine:
        return Engine.open(
            tmp_path / "orders.db",
            durability="process",
            upkeep_seconds=None,
            buckets=bucket.parent,
        )

    with reopen() as engine:
        engine.execute("CreateTable", DEFINITION)
        begun = begin(engine)
        done = BATCH_RECORDS * 50
        assert counts(describe(engine, begun)) == ("IN_PROGRESS", done, 1)
        assert "EndTime" not in describe(engine, begun)
        assert len(items_of(engine, TABLE)) == done - 1
        assert engine.verify() == []
    with reopen() as engine:
        engine.run_upkeep()
        assert counts(describe(engine, begun)) == ("COMPLETED_WITH_ERRORS", MANY + 1, 1)
        assert len(items_of(engine, TABLE)) == MANY
        assert len(read_report(bucket)[1]) == 1
        assert engine.verify() == []


def test_a_cancelled_operation_keeps_what_it_wrote(engine: Engine, bucket: Path) -> None:
    records = [record(f"item-{number}") for number in range(MANY)]
    write_records(bucket / "in" / "1.json", "wrong", *records)
    begun = begin(engine)
    arn = {"BulkOperationArn": begun["BulkOperationArn"]}
    assert engine.execute("CancelBulkOperation", arn) == {
        **arn,
        "BulkOperationStatus": "CANCELLING",
    }
    engine.run_upkeep()
    described = describe(engine, begun)
    assert counts(described) == ("CANCELLED", BATCH_RECORDS * 50, 1)
    assert described["FailureCode"] == "Cancelled"
    assert len(items_of(engine, TABLE)) == BATCH_RECORDS * 50 - 1
    summary, lines = read_report(bucket)
    assert summary["bulkOperationStatus"] == "CANCELLED"
    assert len(lines) == 1
    assert engine.execute("CancelBulkOperation", arn)["BulkOperationStatus"] == "CANCELLED"


def test_a_batch_that_failed_to_be_written_is_read_again(
    engine: Engine, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = BATCH_RECORDS * 2
    write_records(bucket / "in" / "1.json", *(record(f"item-{each}") for each in range(many)))
    storage = engine._storage
    write, calls = storage.write, 0

    def fail_once(work: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise FileBusy("orders.db", "another process kept it locked for too long")
        return write(work)

    monkeypatch.setattr(storage, "write", fail_once)
    begun = begin(engine)
    assert counts(describe(engine, begun)) == ("IN_PROGRESS", BATCH_RECORDS, 0)
    engine.run_upkeep()
    assert counts(describe(engine, begun)) == ("COMPLETED", many, 0)


def test_deleting_the_table_ends_the_operation(engine: Engine, bucket: Path) -> None:
    records = [record(f"item-{number}") for number in range(MANY)]
    write_records(bucket / "in" / "1.json", *records)
    begun = begin(engine)
    engine.execute("DeleteTable", {"TableName": TABLE})
    engine.execute("CreateTable", DEFINITION)
    engine.run_upkeep()
    described = describe(engine, begun)
    assert counts(described) == ("FAILED", BATCH_RECORDS * 50, 0)
    assert described["FailureCode"] == "ResourceNotFoundException"
    assert items_of(engine, TABLE) == {}


def test_without_its_buckets_an_operation_fails_before_any_put(
    engine: Engine, bucket: Path
) -> None:
    assert run(engine)["FailureCode"] == "S3NoSuchKey"
    assert run(engine, {"S3Bucket": "other"})["FailureCode"] == "S3NoSuchBucket"
    write_records(bucket / "in" / "1.json", record("a"))
    output = {"S3Bucket": "other", "OutputType": ["ERROR"]}
    described = run(engine, OutputS3Configuration=output)
    assert counts(described) == ("FAILED", 0, 0)
    assert described["FailureCode"] == "S3NoSuchBucket"
    assert items_of(engine, TABLE) == {}


def test_a_report_that_cannot_be_written_fails_the_operation(engine: Engine, bucket: Path) -> None:
    write_records(bucket / "in" / "1.json", record("a"))
    (bucket / "out").write_text("in the way")
    described = run(engine)
    assert counts(described) == ("FAILED", 1, 0)
    assert items_of(engine, TABLE).keys() == {"a"}


def test_a_token_identifies_one_operation(engine: Engine, bucket: Path, clock: Clock) -> None:
    write_records(bucket / "in" / "1.json", record("a"))
    first = begin(engine, ClientToken="once")
    again = begin(engine, ClientToken="once")
    assert again["BulkOperationArn"] == first["BulkOperationArn"]
    with pytest.raises(IdempotentParameterMismatchException):
        begin(engine, {"S3KeyPrefix": "in"}, ClientToken="once")
    clock.let_pass(8 * 3_600)
    later = begin(engine, ClientToken="once")
    assert later["BulkOperationArn"] != first["BulkOperationArn"]


def test_the_latest_operations_are_listed_first(engine: Engine, bucket: Path, clock: Clock) -> None:
    write_records(bucket / "in" / "1.json", record("a"))
    engine.execute("CreateTable", {**DEFINITION, "TableName": "Another"})
    arns: list[str] = []
    for name in (TABLE, "Another", TABLE):
        clock.let_pass(40 * 86_400)
        arns.append(begin(engine, TableName=name)["BulkOperationArn"])
    listed: list[str] = []
    request: dict[str, Any] = {"MaxResults": 1}
    while True:
        page = engine.execute("ListBulkOperations", request)
        listed += [each["BulkOperationArn"] for each in page["BulkOperationsSummaryList"]]
        if "NextToken" not in page:
            break
        request["NextToken"] = page["NextToken"]
    assert listed == arns[::-1]
    clock.let_pass(20 * 86_400)
    page = engine.execute("ListBulkOperations", {})
    listed = [each["BulkOperationArn"] for each in page["BulkOperationsSummaryList"]]
    assert listed == arns[:0:-1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"InputS3Configuration": {"S3Bucket": "orders", "InputFormat": "ION"}}, "ION"),
        (
            {"OutputS3Configuration": {"OutputType": ["ERROR"]}},
            "OutputS3Configuration.S3Bucket must be specified",
        ),
        (
            {"OutputS3Configuration": {"S3Bucket": "orders", "OutputType": []}},
            "must have one or both values",
        ),
        (
            {
                "OutputS3Configuration": {
                    "S3Bucket": "orders",
                    "S3KeyPrefix": "../elsewhere",
                    "OutputType": ["ERROR"],
                }
            },
            "Invalid OutputS3Configuration.S3KeyPrefix",
        ),
        (
            {
                "OutputS3Configuration": {
                    "S3Bucket": "orders",
                    "OutputType": ["ERROR"],
                    "S3SseAlgorithm": "AES256",
                    "S3SseKmsKeyId": "key",
                }
            },
            "S3SseKmsKeyId cannot be specified",
        ),
    ],
)
def test_invalid_requests_are_refused(engine: Engine, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationException, match=message):
        begin(engine, **more)
    assert engine.execute("ListBulkOperations", {}) == {"BulkOperationsSummaryList": []}


def test_missing_busy_and_global_tables_are_refused(engine: Engine, bucket: Path) -> None:
    with pytest.raises(ResourceNotFoundException):
        begin(engine, TableName="Nowhere")
    write_records(bucket / "in" / "1.json", *(record(f"item-{each}") for each in range(300)))
    run(engine)
    create = {**DEFINITION["GlobalSecondaryIndexes"][0], "IndexName": "again"}
    update = {
        "TableName": TABLE,
        "AttributeDefinitions": DEFINITION["AttributeDefinitions"],
        "GlobalSecondaryIndexUpdates": [{"Create": create}],
    }
    engine.execute("UpdateTable", update)
    with pytest.raises(ResourceInUseException, match="Table is creating an index: Orders"):
        begin(engine)
    engine.run_upkeep()
    replicas = {"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]}
    engine.execute("UpdateTable", {"TableName": TABLE, **replicas})
    with pytest.raises(ValidationException, match="not supported for global tables"):
        begin(engine)


def test_vector_indexes_are_filled_and_counted(engine: Engine, bucket: Path) -> None:
    index = {
        "IndexName": "ByLook",
        "VectorAttribute": {"AttributeName": "look"},
        "Projection": {"ProjectionType": "KEYS_ONLY"},
        "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN",
    }
    update = {"TableName": TABLE, "VectorIndexUpdates": [{"Create": index}]}
    engine.execute("UpdateTable", update)
    engine.run_upkeep()
    look = {"L": [{"N": "1"}, {"N": "2"}]}
    write_records(
        bucket / "in" / "1.json",
        {"Item": {"pk": {"S": "a"}, "look": look}},
        {"Item": {"pk": {"S": "b"}, "look": {"L": []}}},
    )
    described = run(engine)
    assert counts(described) == ("COMPLETED_WITH_ERRORS", 2, 1)
    (usage,) = described["BulkOperationUsage"]
    assert usage["VectorIndexes"] == {"ByLook": {"BulkPutVectorBytes": 1_024}}
    search = {
        "TableName": TABLE,
        "IndexName": "ByLook",
        "SearchVector": look["L"],
        "TopK": 5,
    }
    assert len(engine.execute("SearchVectors", search)["SearchResults"]) == 1
