"""Operations by the names that clients use, loaded when they are first called.

An operation's module is named after it, and so is its function there: PutItem is `put_item`
in `put_item.py`. Most programs call a few of them, and all together take longer to import
than anything else of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from keyfold.engine._context import EngineContext
from keyfold.engine._loading import load_module
from keyfold.engine._responses import Rendering
from keyfold.errors import UnknownOperationException

Run = Callable[[EngineContext, dict[str, Any], Rendering], dict[str, Any]]

# A fast path is tried before the request is even validated. It answers only what it is sure of,
# and returns None for the rest.
TryFast = Callable[[EngineContext, dict[str, Any], Rendering], dict[str, Any] | None]

OPERATIONS = frozenset(
    {
        "BatchExecuteStatement",
        "BatchGetItem",
        "BatchWriteItem",
        "CancelBulkOperation",
        "CreateBackup",
        "CreateGlobalTable",
        "CreateTable",
        "DeleteBackup",
        "DeleteItem",
        "DeleteResourcePolicy",
        "DeleteTable",
        "DescribeBackup",
        "DescribeBulkOperation",
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
        "DisableKinesisStreamingDestination",
        "EnableKinesisStreamingDestination",
        "ExecuteStatement",
        "ExecuteTransaction",
        "ExportTableToPointInTime",
        "GetItem",
        "GetRecords",
        "GetResourcePolicy",
        "GetShardIterator",
        "ImportTable",
        "ListBackups",
        "ListBulkOperations",
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
        "StartBulkPutItems",
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

# Operations with a fast path: `try_fast_get_item` beside `get_item`.
_HAVE_FAST_PATH = frozenset({"GetItem", "PutItem", "Query"})

_next_word = re.compile(r"(?<!^)(?=[A-Z])")


class Operation(NamedTuple):
    """What carries out one operation."""

    run: Run
    try_fast: TryFast | None


LOADED: dict[str, Operation] = {}


def load_operation(name: str) -> Operation:
    """Return an operation, and keep it in `LOADED`; raises UnknownOperationException."""
    if name not in OPERATIONS:
        raise UnknownOperationException
    function = _next_word.sub("_", name).lower()
    module = load_module(f"keyfold.engine.operations.{function}")
    try_fast = getattr(module, f"try_fast_{function}") if name in _HAVE_FAST_PATH else None
    operation = LOADED[name] = Operation(getattr(module, function), try_fast)
    return operation
