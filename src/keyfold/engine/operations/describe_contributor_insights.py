"""The DescribeContributorInsights operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.insights.contributor_insights import describe, find_counted, list_rules


def describe_contributor_insights(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Return whether the hottest keys of a table or index are counted, and by which rules."""
    name, index = table_name(request), request.get("IndexName")
    body = context.storage.read(lambda reader: find_counted(reader, name, index))
    described = describe(body, index or "")
    described["ContributorInsightsRuleList"] = list_rules(body, index or "")
    insights = body.get("insights", {}).get(index or "")
    if insights is not None:
        described["LastUpdateDateTime"] = insights["changed_at"]
    return described
