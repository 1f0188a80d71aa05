"""The ListTables operation."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from keyfold.engine.context import EngineContext

PAGE_TABLES = 100


def list_tables(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the names of all tables, sorted."""
    names = context.catalog.names()
    start = request.get("ExclusiveStartTableName")
    first = 0 if start is None else bisect_right(names, start)
    limit = request.get("Limit") or PAGE_TABLES
    page = names[first : first + limit]
    response: dict[str, Any] = {"TableNames": page}
    if first + limit < len(names):
        response["LastEvaluatedTableName"] = page[-1]
    return response
