"""Classifies PartiQL statements by their first word, for callers that need not parse them."""

from __future__ import annotations

import re
from typing import Any, cast

_SELECT = re.compile(r"\s*SELECT\b", re.IGNORECASE).match
_INSERT = re.compile(r"\s*INSERT\b", re.IGNORECASE).match


def is_select(statement: str) -> bool:
    """Return whether a statement is a SELECT.

    >>> is_select(" select * FROM Music"), is_select("UPDATE Music SET a = 1")
    (True, False)
    """
    return _SELECT(statement) is not None


def is_insert(statement: str) -> bool:
    """Return whether a statement is an INSERT, which fails if the item already exists."""
    return _INSERT(statement) is not None


def statements_in(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the statements of a request with their parameters, skipping malformed ones.

    >>> statements_in({"Statement": "SELECT * FROM Music"})
    [{'Statement': 'SELECT * FROM Music'}]
    """
    given: Any = request.get("Statements", request.get("TransactStatements", [request]))
    members = cast("list[Any]", given) if isinstance(given, list) else []
    return [member for member in members if isinstance(member, dict)]


def only_selects(request: dict[str, Any]) -> bool:
    """Return whether every statement of a request is a SELECT."""
    return all(is_select(str(each.get("Statement", ""))) for each in statements_in(request))
