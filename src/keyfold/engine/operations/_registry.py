"""Operations by the names that clients use, loaded when they are first called.

An operation's module is named after it, and so is its function there: PutItem is `put_item`
in `put_item.py`. Most programs call a few of them, and all together take longer to import
than anything else of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from keyfold.engine._loading import load_module
from keyfold.engine._responses import Rendering
from keyfold.engine._services import Services
from keyfold.errors import UnknownOperationException

Run = Callable[[Services, dict[str, Any], Rendering], dict[str, Any]]

# A quick road is tried before a request is even checked. It answers only what it is sure of, and
# returns None for the rest.
QuickRun = Callable[[Services, dict[str, Any], Rendering], dict[str, Any] | None]

OPERATIONS = frozenset(
    {
        "BatchExecuteStatement",
        "BatchGetItem",
        "BatchWriteItem",
        "CreateBackup",
        "CreateGlobalTable",
        "CreateTable",
        "DeleteBackup",
        "DeleteItem",
        "DeleteResourcePolicy",
        "DeleteTable",
        "DescribeBackup",
        "DescribeContinuousBackups",
        "DescribeContributorInsights",
        "DescribeEndpoints",
        "DescribeExport",
        "DescribeGlobalTable",
        "DescribeGlobalTableSettings",
        "DescribeImport",
        "DescribeKinesisStreamingDestination",
        "DescribeLimits",
        "DescribeStream",
        "DescribeTable",
        "DescribeTableReplicaAutoScaling",
        "DescribeTimeToLive",
        "ExecuteStatement",
        "ExecuteTransaction",
        "DisableKinesisStreamingDestination",
        "EnableKinesisStreamingDestination",
        "ExportTableToPointInTime",
        "GetItem",
        "GetRecords",
        "GetResourcePolicy",
        "GetShardIterator",
        "ImportTable",
        "ListBackups",
        "ListContributorInsights",
        "ListExports",
        "ListGlobalTables",
        "ListImports",
        "ListStreams",
        "ListTables",
        "ListTagsOfResource",
        "PutItem",
        "PutResourcePolicy",
        "Query",
        "RestoreTableFromBackup",
        "RestoreTableToPointInTime",
        "Scan",
        "SearchVectors",
        "TagResource",
        "TransactGetItems",
        "TransactWriteItems",
        "UntagResource",
        "UpdateContinuousBackups",
        "UpdateContributorInsights",
        "UpdateGlobalTable",
        "UpdateGlobalTableSettings",
        "UpdateItem",
        "UpdateKinesisStreamingDestination",
        "UpdateTable",
        "UpdateTableReplicaAutoScaling",
        "UpdateTimeToLive",
    }
)

# Those with a quick road: `get_item_plainly` beside `get_item`.
_QUICK = frozenset({"GetItem", "PutItem", "Query"})

_next_word = re.compile(r"(?<!^)(?=[A-Z])")


class Operation(NamedTuple):
    """What carries out one operation."""

    run: Run
    quick: QuickRun | None


LOADED: dict[str, Operation] = {}


def load_operation(name: str) -> Operation:
    """Return an operation, and keep it in `LOADED`; raises UnknownOperationException."""
    if name not in OPERATIONS:
        raise UnknownOperationException
    function = _next_word.sub("_", name).lower()
    module = load_module(f"keyfold.engine.operations.{function}")
    quick = getattr(module, f"{function}_plainly") if name in _QUICK else None
    operation = LOADED[name] = Operation(getattr(module, function), quick)
    return operation
