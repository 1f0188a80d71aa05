"""The operations, by what hardships can do to them."""

from __future__ import annotations

SINGLE_WRITES = frozenset({"DeleteItem", "PutItem", "UpdateItem"})
TRANSACTIONS = frozenset({"TransactGetItems", "TransactWriteItems"})
BATCHES = frozenset({"BatchGetItem", "BatchWriteItem"})

# Reads that are eventually consistent unless they ask for more.
EVENTUAL_READS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan"})

ITEM_READS = EVENTUAL_READS | {"TransactGetItems"}
ITEM_WRITES = SINGLE_WRITES | {"BatchWriteItem", "TransactWriteItems"}
ITEM_OPERATIONS = ITEM_READS | ITEM_WRITES
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
