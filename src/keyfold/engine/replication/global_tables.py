"""Global tables of version 2017.11.29: stored and described; nothing is replicated."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, cast

import orjson

from keyfold.engine.context import EngineContext
from keyfold.engine.replication.auto_scaling import change_scaling
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.engine.tables.catalog import read_body
from keyfold.engine.tables.table import IndexBody, TableBody
from keyfold.errors import (
    GlobalTableNotFoundException,
    IndexNotFoundException,
    ReplicaNotFoundException,
    TableNotFoundException,
    ValidationException,
)
from keyfold.values.wording import INVALID

GLOBAL_TABLE_RECORD = "global-table"

_READ, _WRITE = "ProvisionedReadCapacity", "ProvisionedWriteCapacity"


class ReplicaSettings(TypedDict):
    """The settings of a table and its indexes in one region, as parts of API descriptions."""

    table: dict[str, Any]
    indexes: dict[str, dict[str, Any]]


class GlobalTableBody(TypedDict):
    """A global table as stored in the file."""

    name: str
    created_at: float
    replicas: dict[str, ReplicaSettings]
    billing_mode: NotRequired[str]


def read_global_table(reader: StorageReader, name: str) -> GlobalTableBody | None:
    """Return a global table from the file; None if there is none."""
    record = reader.get_record(GLOBAL_TABLE_RECORD, name)
    return None if record is None else cast(GlobalTableBody, orjson.loads(record))


def require_global_table(reader: StorageReader, name: str) -> GlobalTableBody:
    """Return a global table. Raises GlobalTableNotFoundException."""
    body = read_global_table(reader, name)
    if body is None:
        raise GlobalTableNotFoundException(f"Global table not found: {name}")
    return body


def list_global_tables(reader: StorageReader) -> list[GlobalTableBody]:
    """Return every global table, sorted by name."""
    records = reader.list_records(GLOBAL_TABLE_RECORD)
    return [cast(GlobalTableBody, orjson.loads(record)) for _, record in records]


def write_global_table(writer: StorageWriter, body: GlobalTableBody) -> None:
    """Write a global table to the file."""
    writer.set_record(GLOBAL_TABLE_RECORD, body["name"], orjson.dumps(body))


def drop_global_table(writer: StorageWriter, name: str) -> None:
    """Delete the global table that a deleted table was part of."""
    writer.set_record(GLOBAL_TABLE_RECORD, name, None)


def require_source(context: EngineContext, reader: StorageReader, name: str) -> TableBody:
    """Return this region's table of a global table. Raises TableNotFoundException."""
    body = read_body(reader, name)
    if body is None:
        raise TableNotFoundException(f"Table not found: {name} in region {context.region}")
    return body


def read_regions(replicas: list[dict[str, Any]]) -> list[str]:
    """Return the listed regions. Raises ValidationException for no region, or one listed twice."""
    regions = [each.get("RegionName") or "" for each in replicas]
    if not regions or not all(regions):
        raise ValidationException(f"{INVALID}RegionName must be specified for every replica")
    if len(set(regions)) != len(regions):
        raise ValidationException(f"{INVALID}A region is specified more than once")
    return regions


def new_replica() -> ReplicaSettings:
    """Return the empty settings of a new replica."""
    return ReplicaSettings(table={}, indexes={})


def describe_global_table(
    context: EngineContext, body: GlobalTableBody, status: str = "ACTIVE"
) -> dict[str, Any]:
    """Return the GlobalTableDescription of the API."""
    name = body["name"]
    return {
        "ReplicationGroup": [
            {
                "RegionName": region,
                "ReplicaStatus": status if status == "CREATING" else "ACTIVE",
                "ReplicaArn": context.table_arn(name, region),
            }
            for region in body["replicas"]
        ],
        "GlobalTableArn": f"arn:aws:dynamodb::{context.account}:global-table/{name}",
        "CreationDateTime": body["created_at"],
        "GlobalTableStatus": status,
        "GlobalTableName": name,
    }


def change_settings(request: dict[str, Any], body: GlobalTableBody, table: TableBody) -> None:
    """Change the settings of a global table, in every region or in some."""
    if request.get("GlobalTableBillingMode") is not None:
        body["billing_mode"] = request["GlobalTableBillingMode"]
    for replica in body["replicas"].values():
        _set_capacity(replica["table"], request, f"GlobalTable{_WRITE}", f"Replica{_WRITE}")
        for update in _listed(request, "GlobalTableGlobalSecondaryIndexSettingsUpdate"):
            _set_capacity(_index_of(replica, update, table), update, _WRITE, _WRITE)
    for update in _listed(request, "ReplicaSettingsUpdate"):
        replica = body["replicas"].get(update["RegionName"])
        if replica is None:
            raise ReplicaNotFoundException(f"Replica not found: {update['RegionName']}")
        _set_capacity(replica["table"], update, f"Replica{_READ}", f"Replica{_READ}")
        if update.get("ReplicaTableClass") is not None:
            summary = {"TableClass": update["ReplicaTableClass"]}
            replica["table"]["ReplicaTableClassSummary"] = summary
        for index in _listed(update, "ReplicaGlobalSecondaryIndexSettingsUpdate"):
            _set_capacity(_index_of(replica, index, table), index, _READ, _READ)


def _listed(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return given.get(name) or []


def _set_capacity(kept: dict[str, Any], given: dict[str, Any], prefix: str, heading: str) -> None:
    units = given.get(f"{prefix}Units")
    if units is not None:
        kept[f"{heading}Units"] = units
    update = given.get(f"{prefix}AutoScalingSettingsUpdate")
    if update is not None:
        name = f"{heading}AutoScalingSettings"
        kept[name] = change_scaling(kept.get(name), update)


def _index_of(replica: ReplicaSettings, update: dict[str, Any], table: TableBody) -> dict[str, Any]:
    name = update["IndexName"]
    if name not in [index["name"] for index in _global_indexes(table)]:
        raise IndexNotFoundException(f"Index not found: {name}")
    return replica["indexes"].setdefault(name, {})


def _global_indexes(table: TableBody) -> list[IndexBody]:
    return [index for index in table["indexes"] if index["is_global"]]


def describe_settings(body: GlobalTableBody, table: TableBody) -> dict[str, Any]:
    """Return the settings of a global table in every region."""
    return {
        "GlobalTableName": body["name"],
        "ReplicaSettings": [
            _describe_replica(region, replica, body, table)
            for region, replica in body["replicas"].items()
        ],
    }


def _describe_replica(
    region: str, replica: ReplicaSettings, body: GlobalTableBody, table: TableBody
) -> dict[str, Any]:
    mode = body.get("billing_mode") or table["billing_mode"]
    described: dict[str, Any] = {
        "RegionName": region,
        "ReplicaStatus": "ACTIVE",
        "ReplicaBillingModeSummary": {"BillingMode": mode},
        "ReplicaProvisionedReadCapacityUnits": table["throughput"]["ReadCapacityUnits"],
        "ReplicaProvisionedWriteCapacityUnits": table["throughput"]["WriteCapacityUnits"],
        **replica["table"],
    }
    indexes: list[dict[str, Any]] = []
    for index in _global_indexes(table):
        units = index.get("throughput")
        defaults: dict[str, Any] = {"IndexName": index["name"], "IndexStatus": index["status"]}
        if units is not None:
            defaults[f"{_READ}Units"] = units["ReadCapacityUnits"]
            defaults[f"{_WRITE}Units"] = units["WriteCapacityUnits"]
        indexes.append(defaults | replica["indexes"].get(index["name"], {}))
    if indexes:
        described["ReplicaGlobalSecondaryIndexSettings"] = indexes
    return described
