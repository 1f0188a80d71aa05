"""What a PartiQL statement is, by its first word: enough for those who need not parse it."""

from __future__ import annotations

import re
from typing import Any, cast

_SELECT = re.compile(r"\s*SELECT\b", re.IGNORECASE).match
_INSERT = re.compile(r"\s*INSERT\b", re.IGNORECASE).match


def is_select(statement: str) -> bool:
    """Return whether a statement reads.

    >>> is_select(" select * FROM Music"), is_select("UPDATE Music SET a = 1")
    (True, False)
    """
    return _SELECT(statement) is not None


def is_insert(statement: str) -> bool:
    """Return whether a statement inserts an item; a second time, it is refused."""
    return _INSERT(statement) is not None


def statements_in(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a request gives of each of its statements, as far as it has the right shape.

    >>> statements_in({"Statement": "SELECT * FROM Music"})
    [{'Statement': 'SELECT * FROM Music'}]
    """
    given: Any = request.get("Statements", request.get("TransactStatements", [request]))
    members = cast("list[Any]", given) if isinstance(given, list) else []
    return [member for member in members if isinstance(member, dict)]


def only_selects(request: dict[str, Any]) -> bool:
    """Return whether every statement of a request reads."""
    return all(is_select(str(each.get("Statement", ""))) for each in statements_in(request))
