"""Accesses of operations that are not about items: they concern the resources they name."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.api import OPERATIONS
from keyfold.engine import TableKeyNames
from keyfold.policy import Right
from keyfold.policy.accesses import read_accesses

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/Shop"


def find_keys(table: str) -> TableKeyNames | None:
    return TableKeyNames("pk", "sk", {}) if table == "Shop" else None


STREAM = f"{ARN}/stream/2026-01-31T00:00:00.000"
BACKUP = f"{ARN}/backup/01700000000000-0000abcd"
OTHERS: dict[str, tuple[dict[str, Any], list[tuple[str | None, str | None]]]] = {
    "CancelBulkOperation": (
        {"BulkOperationArn": f"{ARN}/bulk-operation/1"},
        [("Shop", "bulk-operation/1")],
    ),
    "CreateBackup": ({"TableName": "Shop", "BackupName": "first"}, [("Shop", None)]),
    "CreateGlobalTable": (
        {"GlobalTableName": "Shop", "ReplicationGroup": [{"RegionName": "eu-west-1"}]},
        [("Shop", None)],
    ),
    "CreateTable": (
        {
            "TableName": "Shop",
            "AttributeDefinitions": [],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        },
        [("Shop", None)],
    ),
    "DeleteBackup": ({"BackupArn": BACKUP}, [("Shop", "backup/01700000000000-0000abcd")]),
    "DeleteResourcePolicy": ({"ResourceArn": ARN}, [("Shop", None)]),
    "DescribeBackup": ({"BackupArn": BACKUP}, [("Shop", "backup/01700000000000-0000abcd")]),
    "DescribeBulkOperation": (
        {"BulkOperationArn": f"{ARN}/bulk-operation/1"},
        [("Shop", "bulk-operation/1")],
    ),
    "DescribeEndpoints": ({}, [(None, None)]),
    "DescribeExport": (
        {"ExportArn": f"{ARN}/export/01700000000000-0000abcd"},
        [("Shop", "export/01700000000000-0000abcd")],
    ),
    "DescribeGlobalTable": ({"GlobalTableName": "Shop"}, [("Shop", None)]),
    "DescribeGlobalTableSettings": ({"GlobalTableName": "Shop"}, [("Shop", None)]),
    "DescribeImport": (
        {"ImportArn": f"{ARN}/import/01700000000000-0000abcd"},
        [("Shop", "import/01700000000000-0000abcd")],
    ),
    "DescribeLimits": ({}, [(None, None)]),
    "DescribeStream": ({"StreamArn": STREAM}, [("Shop", "stream/2026-01-31T00:00:00.000")]),
    "DisableKinesisStreamingDestination": (
        {"TableName": "Shop", "StreamArn": "arn:aws:kinesis:eu-west-1:000000000000:stream/s"},
        [("Shop", None)],
    ),
    "EnableKinesisStreamingDestination": (
        {"TableName": "Shop", "StreamArn": "arn:aws:kinesis:eu-west-1:000000000000:stream/s"},
        [("Shop", None)],
    ),
    "ExportTableToPointInTime": ({"TableArn": ARN, "S3Bucket": "bucket"}, [("Shop", None)]),
    "GetRecords": (
        {"ShardIterator": f"{STREAM}|1|xyz"},
        [("Shop", "stream/2026-01-31T00:00:00.000")],
    ),
    "GetResourcePolicy": ({"ResourceArn": STREAM}, [("Shop", "stream/2026-01-31T00:00:00.000")]),
    "GetShardIterator": (
        {
            "StreamArn": STREAM,
            "ShardId": "shardId-00000000000000000001-00000001",
            "ShardIteratorType": "LATEST",
        },
        [("Shop", "stream/2026-01-31T00:00:00.000")],
    ),
    "ImportTable": (
        {
            "S3BucketSource": {"S3Bucket": "bucket"},
            "InputFormat": "CSV",
            "TableCreationParameters": {
                "TableName": "Shop",
                "AttributeDefinitions": [],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            },
        },
        [("Shop", None)],
    ),
    "ListBackups": ({"TableName": "Shop"}, [("Shop", None)]),
    "ListBulkOperations": ({}, [(None, None)]),
    "ListContributorInsights": ({}, [(None, None)]),
    "ListExports": ({"TableArn": ARN}, [("Shop", None)]),
    "ListGlobalTables": ({}, [(None, None)]),
    "ListImports": ({"TableArn": ARN}, [("Shop", None)]),
    "ListStreams": ({"TableName": "Shop"}, [("Shop", None)]),
    "ListTables": ({}, [(None, None)]),
    "ListTagsOfResource": ({"ResourceArn": ARN}, [("Shop", None)]),
    "PutResourcePolicy": ({"ResourceArn": ARN, "Policy": "{}"}, [("Shop", None)]),
    "RestoreTableFromBackup": (
        {"TargetTableName": "Copy", "BackupArn": BACKUP},
        [("Shop", "backup/01700000000000-0000abcd"), ("Copy", None)],
    ),
    "RestoreTableToPointInTime": (
        {"SourceTableName": "Shop", "TargetTableName": "Copy"},
        [("Shop", None), ("Copy", None)],
    ),
    "StartBulkPutItems": (
        {
            "TableName": "Shop",
            "InputS3Configuration": {"S3Bucket": "bucket", "InputFormat": "ION"},
            "OutputS3Configuration": {"S3Bucket": "bucket", "OutputType": ["ERROR"]},
        },
        [("Shop", None)],
    ),
    "TagResource": (
        {"ResourceArn": ARN, "Tags": [{"Key": "k", "Value": "v"}]},
        [("Shop", None)],
    ),
    "UntagResource": ({"ResourceArn": ARN, "TagKeys": ["k"]}, [("Shop", None)]),
    "UpdateContinuousBackups": (
        {
            "TableName": "Shop",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        },
        [("Shop", None)],
    ),
    "UpdateContributorInsights": (
        {"TableName": "Shop", "ContributorInsightsAction": "ENABLE"},
        [("Shop", None)],
    ),
    "UpdateGlobalTable": ({"GlobalTableName": "Shop", "ReplicaUpdates": []}, [("Shop", None)]),
    "UpdateGlobalTableSettings": ({"GlobalTableName": "Shop"}, [("Shop", None)]),
    "UpdateKinesisStreamingDestination": (
        {"TableName": "Shop", "StreamArn": "arn:aws:kinesis:eu-west-1:000000000000:stream/s"},
        [("Shop", None)],
    ),
    "UpdateTimeToLive": (
        {
            "TableName": "Shop",
            "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
        },
        [("Shop", None)],
    ),
    **{
        name: ({"TableName": "Shop"}, [("Shop", None)])
        for name in (
            "DeleteTable",
            "DescribeContinuousBackups",
            "DescribeContributorInsights",
            "DescribeKinesisStreamingDestination",
            "DescribeTable",
            "DescribeTableReplicaAutoScaling",
            "DescribeTimeToLive",
            "UpdateTable",
            "UpdateTableReplicaAutoScaling",
        )
    },
}
ON_ITEMS = {
    "BatchExecuteStatement",
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "ExecuteStatement",
    "ExecuteTransaction",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "SearchVectors",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
}


def test_every_operation_has_a_case() -> None:
    assert OTHERS.keys() | ON_ITEMS == OPERATIONS.keys()


def test_other_operations_access_the_resources_they_name(subtests: pytest.Subtests) -> None:
    for operation, (request, expected) in OTHERS.items():
        with subtests.test(operation=operation):
            accesses = read_accesses(operation, request, find_keys)
            assert [(each.table, each.part) for each in accesses] == expected
            assert {(each.action, each.rights) for each in accesses} == {(operation, Right(0))}


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("ListTagsOfResource", {"ResourceArn": "arn:aws:s3:::bucket"}),
        ("DescribeStream", {"StreamArn": "arn:aws:dynamodb:eu-west-1:0:tables/Shop/stream/x" * 2}),
        ("DescribeBackup", {"BackupArn": "arn:aws:dynamodb:eu-west-1:0:Shop/backup/" + "1" * 40}),
    ],
)
def test_an_arn_of_another_kind_is_not_taken_for_a_table(
    operation: str, request_: dict[str, Any]
) -> None:
    (access,) = read_accesses(operation, request_, find_keys)
    assert access.table not in (None, "Shop")
