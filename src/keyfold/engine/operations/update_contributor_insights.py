"""The UpdateContributorInsights operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.insights.contributor_insights import describe, find_counted
from keyfold.engine.insights.usage import ACCESSED_AND_THROTTLED
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import change_columns
from keyfold.engine.tables.extras import InsightsBody
from keyfold.engine.tables.table import TableBody


def update_contributor_insights(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Start or stop counting the hottest keys of a table or index."""
    name, index = table_name(request), request.get("IndexName")
    is_enabled = request["ContributorInsightsAction"] == "ENABLE"

    def work(writer: StorageWriter) -> TableBody:
        before = find_counted(writer, name, index)
        insights = dict(before.get("insights", {}))
        known = insights.get(index or "")
        mode = request.get("ContributorInsightsMode")
        if mode is None:
            mode = known["mode"] if known is not None else ACCESSED_AND_THROTTLED
        insights[index or ""] = InsightsBody(
            is_enabled=is_enabled, mode=mode, changed_at=context.clock()
        )
        # A new version makes other processes reload the table; their fast paths would not count.
        after: TableBody = {**before, "insights": insights, "version": before["version"] + 1}
        change_columns(writer, before, after)
        return after

    after = context.storage.write(work)
    context.catalog.forget()
    described = describe(after, index or "")
    described["ContributorInsightsStatus"] = "ENABLING" if is_enabled else "DISABLING"
    return described
