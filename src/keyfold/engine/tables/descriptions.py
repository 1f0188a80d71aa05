"""Table descriptions of the API."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.replication.replicas import describe_replicas
from keyfold.engine.tables.extras import VectorBody, to_vector_definition
from keyfold.engine.tables.stats import NOTHING, ItemCounts
from keyfold.engine.tables.table import IndexBody, TableBody
from keyfold.engine.tables.throughput import describe_warm


def to_table_description(
    context: EngineContext, body: TableBody, counts: ItemCounts = NOTHING
) -> dict[str, Any]:
    """Return the TableDescription of the API."""
    arn = context.table_arn(body["name"])
    described: dict[str, Any] = {
        "AttributeDefinitions": body["definitions"],
        "TableName": body["name"],
        "KeySchema": body["key"],
        "TableStatus": body["status"],
        "CreationDateTime": body["created_at"],
        "ProvisionedThroughput": _describe_throughput(body["throughput"]),
        "TableSizeBytes": counts.size_bytes,
        "ItemCount": counts.items,
        "TableArn": arn,
        "TableId": body["id"],
        "DeletionProtectionEnabled": body["is_protected"],
    }
    if body["billing_mode"] == "PAY_PER_REQUEST" or "billing_changed_at" in body:
        summary: dict[str, Any] = {"BillingMode": body["billing_mode"]}
        if "billing_changed_at" in body:
            summary["LastUpdateToPayPerRequestDateTime"] = body["billing_changed_at"]
        described["BillingModeSummary"] = summary
    for heading, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
        indexes = [
            _describe_index(
                each, arn, body["billing_mode"], counts.by_index.get(each["name"], (0, 0))
            )
            for each in body["indexes"]
            if each["is_global"] is is_global
        ]
        if indexes:
            described[heading] = indexes
    if body.get("vectors"):
        described["VectorIndexes"] = [
            _describe_vector_index(each, arn, counts.by_index.get(each["name"], (0, 0)))
            for each in body.get("vectors", [])
        ]
    described.update(describe_replicas(context, body))
    if "stream" in body:
        view = body["stream"]["view"]
        described["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    if "latest_stream" in body:
        described["LatestStreamLabel"] = body["latest_stream"]
        described["LatestStreamArn"] = f"{arn}/stream/{body['latest_stream']}"
    described.update(body["settings"])
    if "WarmThroughput" in described:
        described["WarmThroughput"] = describe_warm(
            described["WarmThroughput"], body["billing_mode"], body["throughput"], body["status"]
        )
    return described


def _describe_throughput(throughput: dict[str, Any]) -> dict[str, Any]:
    return {"NumberOfDecreasesToday": 0, **throughput}


def _describe_index(
    body: IndexBody, table_arn: str, mode: str, counts: tuple[int, int]
) -> dict[str, Any]:
    items, size_bytes = counts
    described: dict[str, Any] = {
        "IndexName": body["name"],
        "KeySchema": body["key"],
        "Projection": body["projection"],
        "IndexSizeBytes": size_bytes,
        "ItemCount": items,
        "IndexArn": f"{table_arn}/index/{body['name']}",
    }
    if body["is_global"]:
        described["IndexStatus"] = body["status"]
        if body["status"] == "CREATING":
            described["Backfilling"] = True
        throughput = body.get("throughput", {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0})
        described["ProvisionedThroughput"] = _describe_throughput(throughput)
    if "on_demand" in body:
        described["OnDemandThroughput"] = body["on_demand"]
    if "warm" in body:
        # Warm throughput has only these two statuses, even while the index is being created.
        status = "ACTIVE" if body["status"] == "ACTIVE" else "UPDATING"
        units = body.get("throughput")
        described["WarmThroughput"] = describe_warm(body["warm"], mode, units, status)
    return described


def _describe_vector_index(
    body: VectorBody, table_arn: str, counts: tuple[int, int]
) -> dict[str, Any]:
    items, size_bytes = counts
    described: dict[str, Any] = {
        **to_vector_definition(body),
        "IndexStatus": body["status"],
        "IndexSizeBytes": size_bytes,
        "ItemCount": items,
        "IndexArn": f"{table_arn}/index/{body['name']}",
    }
    if body["status"] == "CREATING":
        described["Backfilling"] = True
    return described
