"""The ListContributorInsights operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.insights.contributor_insights import summarise
from keyfold.engine.tables.catalog import require_body
from keyfold.errors import ValidationException

PAGE_SUMMARIES = 100


def list_contributor_insights(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the Contributor Insights settings of one table, or of all tables."""
    if request.get("TableName") is not None:
        name = table_name(request)
        bodies = [context.storage.read(lambda reader: require_body(reader, name))]
    else:
        bodies = [body for body in context.catalog.bodies() if body.get("insights")]
    summaries = [summary for body in bodies for summary in summarise(body)]
    first = _read_token(request.get("NextToken"))
    limit = request.get("MaxResults") or PAGE_SUMMARIES
    response: dict[str, Any] = {"ContributorInsightsSummaries": summaries[first : first + limit]}
    if first + limit < len(summaries):
        response["NextToken"] = str(first + limit)
    return response


def _read_token(token: str | None) -> int:
    if token is None:
        return 0
    if not token.isascii() or not token.isdigit():
        raise ValidationException("Invalid NextToken")
    return int(token)
