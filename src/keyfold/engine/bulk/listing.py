"""Pagination of lists of exports, imports and bulk operations."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.work_records import BULK_OPERATIONS, WorkKind, list_work
from keyfold.engine.context import EngineContext
from keyfold.errors import ValidationException

# How long the service lists finished jobs.
LISTED_SECONDS = 90 * 86_400
# The service's tokens consist of groups of eight bytes, seven groups at least.
_GROUP_BYTES = 8
_LEAST_BYTES = 56


def list_page(
    context: EngineContext,
    request: dict[str, Any],
    kind: WorkKind,
    *,
    limit: int,
    summary: tuple[str, ...],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a page of the work of the past 90 days: the members of its descriptions in `summary`.

    Exports and imports are in descending order of ARN, bulk operations of id. The second value
    holds the response's `NextToken`, if there are more. Raises ValidationException if the
    request's token is invalid.
    """
    since, table = context.clock() - LISTED_SECONDS, request.get("TableArn")
    token = request.get("NextToken")
    after = None if token is None else _read_token(token)
    found: list[tuple[str, dict[str, Any]]] = []
    for work in context.storage.read(lambda reader: list_work(reader, kind)):
        described = work["description"]
        # Ids sort by creation time, ARNs by table name.
        name = work["id"] if kind is BULK_OPERATIONS else described[kind.arn]
        is_of_table = "TableArn" not in described or table in (None, described["TableArn"])
        if described["StartTime"] >= since and is_of_table and (after is None or name < after):
            found.append((name, described))
    found.sort(key=lambda each: each[0], reverse=True)
    page = found[:limit]
    rest = {"NextToken": _to_token(page[-1][0])} if len(found) > limit else {}
    return [{name: each[name] for name in summary if name in each} for _, each in page], rest


def _to_token(arn: str) -> str:
    text = arn.encode()
    length = max(len(text) + -len(text) % _GROUP_BYTES, _LEAST_BYTES)
    return text.ljust(length).hex()


def _read_token(token: str) -> str:
    try:
        return bytes.fromhex(token).decode().rstrip()
    except ValueError:
        raise ValidationException("The provided NextToken is invalid") from None
