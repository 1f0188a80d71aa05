"""Sets of operations that a fault profile and a lagging replica treat alike."""

from __future__ import annotations

from typing import Any

from keyfold.api import OPERATIONS, find_operation, names_where
from keyfold.api.statements import only_selects, statements_in

ITEM_OPERATIONS = names_where(lambda each: each.subject == "items")
SINGLE_WRITES = names_where(
    lambda each: each.subject == "items" and each.effect == "write" and not each.members
)
BATCHES = names_where(lambda each: each.is_batch)
# The names of transactions, with the parameter that holds their members.
TRANSACTIONS = {name: row.members for name, row in OPERATIONS.items() if row.is_transaction}

# They create tables from data that only the engine has, so a replica cannot repeat them.
TABLE_MAKERS = names_where(lambda each: each.creates_from_data)
# Their effects are not visible to reads by key, query or scan.
BACKUP_WRITES = names_where(
    lambda each: each.subject == "backups" and each.effect == "write" and not each.creates_from_data
)


def changes_tables(operation: str) -> bool:
    """Return whether an operation may change something other than items."""
    row = find_operation(operation)
    return row.subject != "items" and not row.is_read


def writes_items(operation: str, request: dict[str, Any]) -> bool:
    """Return whether a call may change items."""
    row = find_operation(operation)
    if row.has_statements:
        return not only_selects(request)
    return row.subject == "items" and not row.is_read


def is_eventual_read(operation: str, request: dict[str, Any]) -> bool:
    """Return whether a call is a read that a lagging replica may answer."""
    row = find_operation(operation)
    if row.takes_consistency:
        return not _asks_for_latest(request)
    if not row.has_statements or row.is_transaction:
        return False
    return only_selects(request) and not any(map(_asks_for_latest, statements_in(request)))


def _asks_for_latest(request: dict[str, Any]) -> bool:
    """Return whether a read is strongly consistent for any of its tables."""
    if "RequestItems" not in request:
        return bool(request.get("ConsistentRead"))
    try:
        return any(each.get("ConsistentRead") for each in request["RequestItems"].values())
    except AttributeError:
        # A malformed batch, which the engine rejects.
        return True
