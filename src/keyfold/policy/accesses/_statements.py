"""The accesses of PartiQL statements, which roles allow by operation, not by right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.api.shapes import plain_name
from keyfold.errors import ValidationException
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
from keyfold.policy._access import Access


def read_statement(request: dict[str, Any]) -> list[Access]:
    """Return the access of ExecuteStatement."""
    return [_statement_access("ExecuteStatement", prepare(request))]


def read_statement_batch(request: dict[str, Any]) -> list[Access]:
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


def read_statement_transaction(request: dict[str, Any]) -> list[Access]:
    """Return the accesses of ExecuteTransaction, one for each member."""
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
