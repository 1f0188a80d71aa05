"""The operations, by what hardships can do to them."""

from __future__ import annotations

from typing import Any, cast

SINGLE_WRITES = frozenset({"DeleteItem", "PutItem", "UpdateItem"})
# By the parameter that holds their members.
TRANSACTIONS = {
    "ExecuteTransaction": "TransactStatements",
    "TransactGetItems": "TransactItems",
    "TransactWriteItems": "TransactItems",
}
BATCHES = frozenset({"BatchGetItem", "BatchWriteItem"})

# Reads that are eventually consistent unless they ask for more.
EVENTUAL_READS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan"})

ITEM_READS = EVENTUAL_READS | {"TransactGetItems"}
ITEM_WRITES = SINGLE_WRITES | {"BatchWriteItem", "TransactWriteItems"}
# Reads or writes, by what their statements say.
STATEMENTS = frozenset({"BatchExecuteStatement", "ExecuteStatement", "ExecuteTransaction"})
ITEM_OPERATIONS = ITEM_READS | ITEM_WRITES | STATEMENTS
STREAM_READS = frozenset({"GetRecords", "GetShardIterator"})

# They make tables from what only the engine has, so nothing can repeat them.
TABLE_MAKERS = frozenset({"ImportTable", "RestoreTableFromBackup", "RestoreTableToPointInTime"})
# They change nothing that is read by key, query or scan.
BACKUP_KEEPERS = frozenset(
    {"CreateBackup", "DeleteBackup", "ExportTableToPointInTime", "UpdateContinuousBackups"}
)


def changes_tables(operation: str) -> bool:
    """Tell whether an operation may change something other than items."""
    return (
        operation not in ITEM_OPERATIONS
        and operation not in STREAM_READS
        and not operation.startswith(("Describe", "List"))
    )


def writes_items(operation: str, request: dict[str, Any]) -> bool:
    """Tell whether a call may change items."""
    return operation in ITEM_WRITES or (
        operation in STATEMENTS and not all(map(_is_select, _members(request)))
    )


def is_eventual_read(operation: str, request: dict[str, Any]) -> bool:
    """Tell whether a call is a read that may be answered by a copy that lags."""
    if operation in EVENTUAL_READS:
        return not _asks_for_latest(request)
    if operation not in ("BatchExecuteStatement", "ExecuteStatement"):
        return False
    members = _members(request)
    return all(map(_is_select, members)) and not any(map(_asks_for_latest, members))


def _asks_for_latest(request: dict[str, Any]) -> bool:
    """Tell whether a read asks for the latest, if only of one of its tables."""
    if "RequestItems" not in request:
        return bool(request.get("ConsistentRead"))
    try:
        return any(each.get("ConsistentRead") for each in request["RequestItems"].values())
    except AttributeError:
        # Not the shape of a batch; the engine says so.
        return True


def _members(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the statements of a request; the engine says so where it is none."""
    given: Any = request.get("Statements", request.get("TransactStatements", [request]))
    members = cast("list[Any]", given) if isinstance(given, list) else []
    return [member for member in members if isinstance(member, dict)]


def _is_select(member: dict[str, Any]) -> bool:
    text: Any = member.get("Statement")
    return isinstance(text, str) and text.lstrip()[:6].lower() == "select"
