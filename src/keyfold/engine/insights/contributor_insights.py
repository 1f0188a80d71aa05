"""Contributor insights: their status, and the CloudWatch rules that report them."""

from __future__ import annotations

from typing import Any

from keyfold.engine.insights.usage import ACCESSED_AND_THROTTLED
from keyfold.engine.storage import StorageReader
from keyfold.engine.tables.catalog import require_body
from keyfold.engine.tables.extras import InsightsBody
from keyfold.engine.tables.table import TableBody
from keyfold.errors import ResourceNotFoundException

_OFF = InsightsBody(is_enabled=False, mode=ACCESSED_AND_THROTTLED, changed_at=0.0)

# Characters of the resource in a rule's name, which has at most 128.
_LONGEST_RESOURCE = 80


def find_counted(reader: StorageReader, table: str, index: str | None) -> TableBody:
    """Return the body of a table. Raises ResourceNotFoundException for the table or the index."""
    body = require_body(reader, table)
    if index is not None and index not in _counted_indexes(body):
        raise ResourceNotFoundException(
            f"Requested resource not found: Table: {table} Index: {index} not found"
        )
    return body


def _counted_indexes(body: TableBody) -> list[str]:
    return [each["name"] for each in body["indexes"] if each["is_global"]]


def summarise(body: TableBody) -> list[dict[str, Any]]:
    """Return the ContributorInsightsSummary of a table, and of each index that has insights."""
    insights = body.get("insights", {})
    names = ["", *(name for name in _counted_indexes(body) if name in insights)]
    return [describe(body, name) for name in names]


def describe(body: TableBody, index: str) -> dict[str, Any]:
    """Return the members that all contributor insights responses share, for a table or index."""
    insights = body.get("insights", {}).get(index, _OFF)
    described: dict[str, Any] = {"TableName": body["name"]}
    if index:
        described["IndexName"] = index
    described["ContributorInsightsStatus"] = "ENABLED" if insights["is_enabled"] else "DISABLED"
    if insights["is_enabled"]:
        described["ContributorInsightsMode"] = insights["mode"]
    return described


def list_rules(body: TableBody, index: str) -> list[str]:
    """Return the names of the CloudWatch rules that would report the insights.

    P stands for partition keys, S for whole keys; C for consumed, T for throttled.
    """
    insights = body.get("insights", {}).get(index, _OFF)
    if not insights["is_enabled"]:
        return []
    schema = body["key"]
    for each in body["indexes"]:
        if each["name"] == index:
            schema = each["key"]
    kinds = "CT" if insights["mode"] == ACCESSED_AND_THROTTLED else "T"
    keys = "PS" if any(each["KeyType"] == "RANGE" for each in schema) else "P"
    resource = f"{body['name']}-{index}" if index else body["name"]
    changed_ms = int(insights["changed_at"] * 1000)
    return [
        f"DynamoDBContributorInsights-{key}K{kind}-{resource[:_LONGEST_RESOURCE]}-{changed_ms}"
        for kind in kinds
        for key in keys
    ]
