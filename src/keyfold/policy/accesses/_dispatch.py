"""The accesses of a request, derived from the request alone, before any table is read.

Requests are checked in the order of the service. One with wrong JSON types, violated constraints
or unreadable expressions gets the engine's own error, for any principal: such an error reveals
nothing that the sender did not write. Faults that depend on tables, such as a key with the wrong
attributes, are not detected here: if the partition of a request cannot be determined, the access
covers all partitions. So the accesses include everything that the engine might do. A request that
the engine would refuse is refused with the same error, or denied, or allowed to a principal with
sufficient rights and then refused by the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyfold.api import OPERATIONS
from keyfold.api.shapes import check, check_types
from keyfold.api.wordings import Wording, reword
from keyfold.errors import ServiceError, ValidationException
from keyfold.policy._access import Access
from keyfold.policy.accesses._named_tables import KeyLookup
from keyfold.policy.accesses._reads import (
    read_batch_get_item,
    read_get_item,
    read_query,
    read_scan,
    read_search_vectors,
    read_transact_get_items,
)
from keyfold.policy.accesses._statements import (
    read_statement,
    read_statement_batch,
    read_statement_transaction,
)
from keyfold.policy.accesses._tables import read_tables
from keyfold.policy.accesses._writes import (
    read_batch_write_item,
    read_delete_item,
    read_put_item,
    read_transact_write_items,
    read_update_item,
)

# Reads the accesses of a request of one operation.
_ItemReader = Callable[[dict[str, Any], KeyLookup], list[Access]]
_StatementReader = Callable[[dict[str, Any]], list[Access]]

_ITEM_READERS: dict[str, _ItemReader] = {
    "BatchGetItem": read_batch_get_item,
    "BatchWriteItem": read_batch_write_item,
    "DeleteItem": read_delete_item,
    "GetItem": read_get_item,
    "PutItem": read_put_item,
    "Query": read_query,
    "Scan": read_scan,
    "SearchVectors": read_search_vectors,
    "TransactGetItems": read_transact_get_items,
    "TransactWriteItems": read_transact_write_items,
    "UpdateItem": read_update_item,
}
_STATEMENT_READERS: dict[str, _StatementReader] = {
    "BatchExecuteStatement": read_statement_batch,
    "ExecuteStatement": read_statement,
    "ExecuteTransaction": read_statement_transaction,
}


def read_accesses(
    operation: str, request: dict[str, Any], keys: KeyLookup, wording: Wording = "2026"
) -> list[Access]:
    """Return the accesses of a request: one for each table, item or partition that it concerns.

    `keys` returns the key attributes of a table by its name.

    >>> from keyfold.api import TableKeyNames
    >>> request = {"TableName": "Music", "Key": {"artist": {"S": "Fela"}}}
    >>> names = TableKeyNames("artist", None, {})
    >>> [access] = read_accesses("GetItem", request, lambda table: names)
    >>> access.action, access.table, access.partition
    ('GetItem', 'Music', ({'S': 'Fela'},))

    Raises the engine's ServiceError, in the given wording, for a request that is invalid whatever the
    tables hold.
    """
    try:
        check(operation, request)
    except ServiceError as error:
        raise reword(error, wording) from None
    try:
        if operation in _ITEM_READERS:
            capacity = request.get("ReturnConsumedCapacity")
            accesses = _ITEM_READERS[operation](request, keys)
            return [each._replace(capacity=capacity) for each in accesses] if capacity else accesses
        if operation in _STATEMENT_READERS:
            return _STATEMENT_READERS[operation](request)
        return read_tables(operation, request)
    except ServiceError as error:
        # As in the engine, wrong JSON types inside attribute values precede other faults.
        check_types(operation, request)
        if isinstance(error, ValidationException):
            error.set_validation(OPERATIONS[operation].validation)
        raise reword(error, wording) from None
