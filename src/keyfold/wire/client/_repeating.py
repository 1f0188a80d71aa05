"""Which calls may be made again when nobody knows whether the first was carried out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from keyfold.api import find_operation

if TYPE_CHECKING:
    from keyfold.values import AttributeValue

_OLD_VALUES = {"ALL_OLD", "UPDATED_OLD"}
_SETS = {"BS", "NS", "SS"}

_CLAUSE = re.compile(r"(?<![#:\w.-])(SET|REMOVE|ADD|DELETE)\s", re.IGNORECASE)
# A path without a list's index, which would mean another element the second time.
_PATH = r"[#\w-]+(?:\s*\.\s*[#\w-]+)*"
_VALUE = r":[\w-]+"
_ASSIGNMENT = re.compile(
    rf"({_PATH})\s*=\s*(?:{_VALUE}|if_not_exists\s*\(\s*({_PATH})\s*,\s*{_VALUE}\s*\))"
).fullmatch
_REMOVAL = re.compile(_PATH).fullmatch
_MEMBERS = re.compile(rf"{_PATH}\s+({_VALUE})").fullmatch
_SELECT = re.compile(r"\s*SELECT\b", re.IGNORECASE).match
_INSERT = re.compile(r"\s*INSERT\b", re.IGNORECASE).match


def is_read(operation: str, request: dict[str, Any]) -> bool:
    """Return whether a call changes nothing."""
    row = find_operation(operation)
    if row.has_statements and not row.takes_token:
        return all(_SELECT(statement) is not None for statement in _statements(request))
    return row.is_read


def is_repeatable(operation: str, request: dict[str, Any]) -> bool:
    """Return whether making a call twice leaves what making it once does.

    False for anything that is not understood.
    """
    row = find_operation(operation)
    if row.repeatable != "by request":
        return row.repeatable == "yes"
    if row.has_statements:
        # A repeated INSERT is refused if the first one was carried out.
        return all(_INSERT(statement) is not None for statement in _statements(request))
    return _is_repeatable_update(request)


def says_too_little(operation: str, request: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Tell whether the answer to a repeated call may show what an earlier try of it left."""
    if request.get("ReturnValues") not in _OLD_VALUES:
        return False
    found = answer.get("Attributes")
    # A deletion that removed something was the first to do so. A put or an update that found
    # nothing, likewise.
    return not found if operation == "DeleteItem" else bool(found)


def _statements(request: dict[str, Any]) -> list[str]:
    bodies: list[dict[str, Any]] = request.get("Statements") or [request]
    return [str(body.get("Statement", "")) for body in bodies]


def _is_repeatable_update(request: dict[str, Any]) -> bool:
    expression = request.get("UpdateExpression")
    if not isinstance(expression, str):
        return _is_repeatable_legacy_update(request.get("AttributeUpdates") or {})
    before, *parts = _CLAUSE.split(expression)
    if before.strip():
        return False
    values: dict[str, AttributeValue] = request.get("ExpressionAttributeValues") or {}
    clauses = zip(parts[::2], parts[1::2], strict=True)
    return all(_is_repeatable_clause(word.upper(), body, values) for word, body in clauses)


def _is_repeatable_clause(word: str, body: str, values: dict[str, AttributeValue]) -> bool:
    actions = [action.strip() for action in _split(body)]
    match word:
        case "SET":
            found = [_ASSIGNMENT(action) for action in actions]
            return all(each is not None and each[2] in (None, each[1]) for each in found)
        case "REMOVE":
            return all(_REMOVAL(action) is not None for action in actions)
        case _:
            # Members join a set, or leave it, once. Numbers add up.
            members = [_MEMBERS(action) for action in actions]
            return all(
                each is not None and bool(_SETS & set(values.get(each[1], ()))) for each in members
            )


def _split(body: str) -> list[str]:
    """Split a clause at the commas that are in no parentheses."""
    return re.split(r",(?![^(]*\))", body)


def _is_repeatable_legacy_update(updates: dict[str, Any]) -> bool:
    return all(
        update.get("Action", "PUT") in ("PUT", "DELETE")
        or bool(_SETS & set(update.get("Value") or ()))
        for update in updates.values()
    )
