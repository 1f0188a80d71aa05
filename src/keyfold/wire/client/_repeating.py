"""Decides which calls may be retried if it is unknown whether the first attempt succeeded."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from keyfold.api import find_operation
from keyfold.api.statements import is_insert, only_selects, statements_in

_OLD_VALUES = {"ALL_OLD", "UPDATED_OLD"}
_SETS = {"BS", "NS", "SS"}


def is_read(operation: str, request: dict[str, Any]) -> bool:
    """Return whether a call changes nothing."""
    row = find_operation(operation)
    if row.has_statements and not row.is_transaction:
        return only_selects(request)
    return row.is_read


def is_repeatable(operation: str, request: dict[str, Any]) -> bool:
    """Return whether a call is idempotent: making it twice has the same effect as making it once.

    False for requests that cannot be analysed.
    """
    row = find_operation(operation)
    if row.repeatable != "by request":
        return row.repeatable == "yes"
    if row.has_statements:
        # A repeated INSERT fails if the first one succeeded.
        return all(is_insert(str(each.get("Statement", ""))) for each in statements_in(request))
    return _is_repeatable_update(request)


def hides_earlier_attempt(
    operation: str, request: dict[str, Any], response: dict[str, Any]
) -> bool:
    """Return whether the old values in a response may have been written by an earlier attempt."""
    if request.get("ReturnValues") not in _OLD_VALUES:
        return False
    found = response.get("Attributes")
    # A deletion that removed an item was the first attempt to succeed. So was a put or an update
    # that found no item.
    return not found if operation == "DeleteItem" else bool(found)


def _is_repeatable_update(request: dict[str, Any]) -> bool:
    expression = request.get("UpdateExpression")
    if expression is None:
        return _is_repeatable_legacy_update(request.get("AttributeUpdates") or {})
    # Imported only here: most programs never need to analyse an update.
    parser = import_module("keyfold.expressions.parser")
    repetition = import_module("keyfold.expressions.repetition")
    try:
        actions = parser.parse_update(expression)
    except parser.ExpressionFault:
        return False
    names, values = (request.get(f"ExpressionAttribute{kind}") for kind in ("Names", "Values"))
    return repetition.is_repeatable(actions, names, values)


def _is_repeatable_legacy_update(updates: dict[str, Any]) -> bool:
    return all(
        update.get("Action", "PUT") in ("PUT", "DELETE")
        or bool(_SETS & set(update.get("Value") or ()))
        for update in updates.values()
    )
