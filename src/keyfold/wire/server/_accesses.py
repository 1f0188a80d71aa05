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

import re
from collections.abc import Callable, Mapping
from typing import Any

from keyfold.api import OPERATIONS
from keyfold.api.shapes import check, check_types, plain_name
from keyfold.errors import ServiceError, ValidationException
from keyfold.expressions.partiql import (
    DeleteStatement,
    Exists,
    InsertStatement,
    Prepared,
    SelectStatement,
    UpdateStatement,
    parse_with,
    prepare,
    read_parameters,
)
from keyfold.policy import Access
from keyfold.wire.server._item_accesses import (
    KeyLookup,
    read_batch_get_item,
    read_batch_write_item,
    read_delete_item,
    read_get_item,
    read_put_item,
    read_query_access,
    read_scan_access,
    read_search_vectors,
    read_transact_get_items,
    read_transact_write_items,
    read_update_item,
)

Read = Callable[[dict[str, Any], KeyLookup], list[Access]]

_READERS: dict[str, Read] = {
    "BatchGetItem": read_batch_get_item,
    "BatchWriteItem": read_batch_write_item,
    "DeleteItem": read_delete_item,
    "GetItem": read_get_item,
    "PutItem": read_put_item,
    "Query": read_query_access,
    "Scan": read_scan_access,
    "SearchVectors": read_search_vectors,
    "TransactGetItems": read_transact_get_items,
    "TransactWriteItems": read_transact_write_items,
    "UpdateItem": read_update_item,
}

_ARN = re.compile(r"arn:[^:]*:dynamodb:[^:]*:[^:]*:table/([^/]+)(?:/(.+))?", re.DOTALL)


def read_accesses(operation: str, request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the accesses of a request: one for each table, item or partition that it concerns.

    `keys` returns the key attributes of a table by its name.

    >>> from keyfold.engine import TableKeyNames
    >>> request = {"TableName": "Music", "Key": {"artist": {"S": "Fela"}}}
    >>> names = TableKeyNames("artist", None, {})
    >>> [access] = read_accesses("GetItem", request, lambda table: names)
    >>> access.action, access.table, access.partition
    ('GetItem', 'Music', ({'S': 'Fela'},))

    Raises the engine's ServiceError for a request that is invalid whatever the tables hold.
    """
    check(operation, request)
    try:
        reader = _READERS.get(operation)
        if reader is not None:
            return reader(request, keys)
        if operation in _STATEMENTS:
            return _STATEMENTS[operation](request)
        return _read_tables(operation, request)
    except ServiceError:
        # As in the engine, wrong JSON types inside attribute values precede other faults.
        check_types(operation, request)
        raise


def _read_tables(operation: str, request: dict[str, Any]) -> list[Access]:
    """Return the accesses of an operation on whole tables, by the parameters that name them."""
    named = [
        text
        for resource in OPERATIONS[operation].resources
        if (text := _read_resource(request, resource)) is not None
    ]
    index_name = request.get("IndexName")
    accesses: list[Access] = []
    for text in dict.fromkeys(named):
        found = _ARN.fullmatch(text)
        # Text other than a table's ARN is taken as a table name; the engine refuses invalid ones.
        table, part = (text, None) if found is None else (found[1], found[2])
        accesses.append(Access(operation, table, index_name, part=part))
    return accesses or [Access(operation, None)]


def _read_resource(request: dict[str, Any], resource: str) -> str | None:
    """Return the name or ARN that a parameter gives; `a.b` is the member `b` of `a`."""
    given: Any = request
    for name in resource.split("."):
        given = given.get(name)
        if given is None:
            return None
    # An iterator begins with the ARN of its stream.
    return given.rsplit("|", 2)[0] if resource == "ShardIterator" else given


def _read_statement(request: dict[str, Any]) -> list[Access]:
    return [_statement_access("ExecuteStatement", prepare(request))]


def _read_statements(request: dict[str, Any]) -> list[Access]:
    """Return the accesses of BatchExecuteStatement, whose members fail individually."""
    operation = "BatchExecuteStatement"
    accesses: list[Access] = []
    for member in request["Statements"]:
        try:
            accesses.append(_statement_access(operation, prepare(member)))
        except ValidationException:
            unreadable = Access("PartiQLSelect", None, attributes=None, is_opaque=True)
            accesses.append(unreadable._replace(enclosing=operation))
    return accesses


def _read_transaction(request: dict[str, Any]) -> list[Access]:
    members = request["TransactStatements"]
    parameters = [read_parameters(member.get("Parameters")) for member in members]
    accesses: list[Access] = []
    for index, (member, given) in enumerate(zip(members, parameters, strict=True)):
        try:
            prepared = parse_with(member["Statement"], given)
        except ValidationException as fault:
            message = f"Validation failed in TransactStatements[{index}]: {fault.message}"
            raise ValidationException(message) from None
        accesses.append(_statement_access("ExecuteTransaction", prepared))
    return accesses


_STATEMENTS: dict[str, Callable[[dict[str, Any]], list[Access]]] = {
    "BatchExecuteStatement": _read_statements,
    "ExecuteStatement": _read_statement,
    "ExecuteTransaction": _read_transaction,
}


_STATEMENT_ACTIONS: Mapping[type, str] = {
    DeleteStatement: "PartiQLDelete",
    InsertStatement: "PartiQLInsert",
    SelectStatement: "PartiQLSelect",
    UpdateStatement: "PartiQLUpdate",
}


def _statement_access(operation: str, prepared: Prepared) -> Access:
    """Return the access of a statement, with IAM's action: PartiQLSelect, PartiQLInsert etc."""
    statement = prepared.statement
    select = statement.select if isinstance(statement, Exists) else statement
    table, index_name = select.source
    return Access(
        _STATEMENT_ACTIONS[type(select)],
        plain_name(table),
        index_name,
        attributes=None,
        enclosing=operation,
        is_opaque=True,
    )
