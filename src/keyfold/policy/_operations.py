"""The operations of the API, by what a role must have to be given them by name."""

from __future__ import annotations

# Whose accesses take rights of their own; nobody is given them by name.
BY_RIGHTS = frozenset(
    {
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "SearchVectors",
        "TransactGetItems",
        "TransactWriteItems",
        "UpdateItem",
    }
)

# What shows items of any partition, to whoever may see them all.
SHOWING = frozenset(
    {
        "DescribeStream",
        "DisableKinesisStreamingDestination",
        "EnableKinesisStreamingDestination",
        "GetRecords",
        "GetShardIterator",
        "ListStreams",
        "UpdateKinesisStreamingDestination",
    }
)

# What reads or writes items of any partition, or decides who may.
MOVING = frozenset(
    {
        "BatchExecuteStatement",
        "CreateBackup",
        "CreateGlobalTable",
        "DeleteResourcePolicy",
        "ExecuteStatement",
        "ExecuteTransaction",
        "ExportTableToPointInTime",
        "ImportTable",
        "PutResourcePolicy",
        "RestoreTableFromBackup",
        "RestoreTableToPointInTime",
        "StartBulkPutItems",
        "UpdateGlobalTable",
    }
)

# What says nothing of items, and changes nothing.
HARMLESS = frozenset(
    {
        "DescribeEndpoints",
        "DescribeLimits",
        "DescribeTable",
        "DescribeTimeToLive",
        "ListTagsOfResource",
    }
)

# How tables are made, changed, removed and looked after.
ADMINISTRATION = frozenset(
    {
        "CancelBulkOperation",
        "CreateTable",
        "DeleteBackup",
        "DeleteTable",
        "DescribeBackup",
        "DescribeBulkOperation",
        "DescribeContinuousBackups",
        "DescribeContributorInsights",
        "DescribeExport",
        "DescribeGlobalTable",
        "DescribeGlobalTableSettings",
        "DescribeImport",
        "DescribeKinesisStreamingDestination",
        "DescribeTableReplicaAutoScaling",
        "GetResourcePolicy",
        "ListBackups",
        "ListBulkOperations",
        "ListContributorInsights",
        "ListExports",
        "ListGlobalTables",
        "ListImports",
        "ListTables",
        "TagResource",
        "UntagResource",
        "UpdateContinuousBackups",
        "UpdateContributorInsights",
        "UpdateGlobalTableSettings",
        "UpdateTable",
        "UpdateTableReplicaAutoScaling",
        "UpdateTimeToLive",
    }
)

BY_NAME = SHOWING | MOVING | HARMLESS | ADMINISTRATION
