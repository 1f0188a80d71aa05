"""Global tables of version 2017.11.29: stored and described; nothing is replicated."""

from __future__ import annotations

from typing import Any, NamedTuple, NotRequired, TypedDict, cast

import orjson

from keyfold.engine.metadata_operations import MetadataCall
from keyfold.engine.replication.auto_scaling import merge_scaling
from keyfold.engine.replication.replicas import warn_unreplicated
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.engine.tables.catalog import read_body
from keyfold.engine.tables.table import IndexBody, TableBody
from keyfold.errors import (
    GlobalTableAlreadyExistsException,
    GlobalTableNotFoundException,
    IndexNotFoundException,
    ReplicaAlreadyExistsException,
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


class GlobalTable(NamedTuple):
    """A global table, and its table in the engine's region."""

    body: GlobalTableBody
    table: TableBody


def read_global_table(reader: StorageReader, call: MetadataCall) -> GlobalTableBody:
    """Return the global table that a request names. Raises GlobalTableNotFoundException."""
    name = call.request["GlobalTableName"]
    record = reader.get_record(GLOBAL_TABLE_RECORD, name)
    if record is None:
        raise GlobalTableNotFoundException(f"Global table not found: {name}")
    return cast(GlobalTableBody, orjson.loads(record))


def find_global_table(reader: StorageReader, call: MetadataCall) -> GlobalTable:
    """Return the global table that a request names, with its table.

    Raises GlobalTableNotFoundException and TableNotFoundException.
    """
    return GlobalTable(read_global_table(reader, call), _require_table(reader, call))


def start_global_table(reader: StorageReader, call: MetadataCall) -> GlobalTable:
    """Return a new global table without replicas.

    Raises TableNotFoundException and GlobalTableAlreadyExistsException.
    """
    table, name = _require_table(reader, call), call.request["GlobalTableName"]
    if reader.get_record(GLOBAL_TABLE_RECORD, name) is not None:
        raise GlobalTableAlreadyExistsException(f"Global table already exists: {name}")
    created_at = call.context.clock()
    return GlobalTable(GlobalTableBody(name=name, created_at=created_at, replicas={}), table)


def _require_table(reader: StorageReader, call: MetadataCall) -> TableBody:
    name = call.request["GlobalTableName"]
    body = read_body(reader, name)
    if body is None:
        raise TableNotFoundException(f"Table not found: {name} in region {call.context.region}")
    return body


def list_global_tables(reader: StorageReader) -> list[GlobalTableBody]:
    """Return every global table, sorted by name."""
    records = reader.list_records(GLOBAL_TABLE_RECORD)
    return [cast(GlobalTableBody, orjson.loads(record)) for _, record in records]


def save_global_table(writer: StorageWriter, found: GlobalTable) -> None:
    """Write a global table to the file."""
    writer.set_record(GLOBAL_TABLE_RECORD, found.body["name"], orjson.dumps(found.body))


def drop_global_table(writer: StorageWriter, name: str) -> None:
    """Delete the global table that a deleted table was part of."""
    writer.set_record(GLOBAL_TABLE_RECORD, name, None)


def check_regions(request: dict[str, Any]) -> None:
    """Raise ValidationException for a new global table without regions, or with one twice."""
    regions = [each.get("RegionName") for each in request["ReplicationGroup"]]
    if not regions or not all(regions):
        raise ValidationException(f"{INVALID}RegionName must be specified for every replica")
    if len(set(regions)) != len(regions):
        raise ValidationException(f"{INVALID}A region is specified more than once")


def add_replicas(found: GlobalTable, call: MetadataCall) -> dict[str, Any]:
    """Give a new global table its replicas."""
    for each in call.request["ReplicationGroup"]:
        found.body["replicas"][each["RegionName"]] = _new_replica()
    return describe_global_table(found.body, call, "CREATING")


def check_replica_updates(request: dict[str, Any]) -> None:
    """Raise ValidationException for a change of a global table's replicas without changes."""
    if not request["ReplicaUpdates"]:
        raise ValidationException(f"{INVALID}List of ReplicaUpdates is empty")


def change_replicas(found: GlobalTable, call: MetadataCall) -> dict[str, Any]:
    """Add or remove replicas of a global table.

    Raises ReplicaAlreadyExistsException and ReplicaNotFoundException.
    """
    for update in call.request["ReplicaUpdates"]:
        _change_replica(found.body["replicas"], update)
    return describe_global_table(found.body, call, "UPDATING")


def _change_replica(replicas: dict[str, ReplicaSettings], update: dict[str, Any]) -> None:
    created, deleted = update.get("Create"), update.get("Delete")
    if (created is None) is (deleted is None):
        message = "Exactly one of Create or Delete must be specified per ReplicaUpdate"
        raise ValidationException(f"{INVALID}{message}")
    if created is not None:
        region = created["RegionName"]
        if region in replicas:
            raise ReplicaAlreadyExistsException(f"Replica already exists: {region}")
        replicas[region] = _new_replica()
    elif deleted is not None:
        region = deleted["RegionName"]
        if region not in replicas:
            raise ReplicaNotFoundException(f"Replica not found: {region}")
        del replicas[region]


def _new_replica() -> ReplicaSettings:
    return ReplicaSettings(table={}, indexes={})


def describe_global_table(
    body: GlobalTableBody, call: MetadataCall, status: str = "ACTIVE"
) -> dict[str, Any]:
    """Return the description of a global table, with its replicas."""
    context, name = call.context, body["name"]
    described = {
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
    return {"GlobalTableDescription": described}


def warn_not_replicated(response: dict[str, Any]) -> None:
    """Log a warning that the global table of a response is not replicated."""
    described = response["GlobalTableDescription"]
    regions = ", ".join(each["RegionName"] for each in described["ReplicationGroup"])
    warn_unreplicated(f"global table {described['GlobalTableName']}, replicas in {regions}")


def change_settings(found: GlobalTable, call: MetadataCall) -> dict[str, Any]:
    """Change the settings of a global table, in every region or in some.

    Raises ReplicaNotFoundException and IndexNotFoundException.
    """
    (body, table), request = found, call.request
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
    return describe_settings(found, call)


def _listed(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return given.get(name) or []


def _set_capacity(kept: dict[str, Any], given: dict[str, Any], prefix: str, heading: str) -> None:
    units = given.get(f"{prefix}Units")
    if units is not None:
        kept[f"{heading}Units"] = units
    update = given.get(f"{prefix}AutoScalingSettingsUpdate")
    if update is not None:
        name = f"{heading}AutoScalingSettings"
        kept[name] = merge_scaling(kept.get(name), update)


def _index_of(replica: ReplicaSettings, update: dict[str, Any], table: TableBody) -> dict[str, Any]:
    name = update["IndexName"]
    if name not in [index["name"] for index in _global_indexes(table)]:
        raise IndexNotFoundException(f"Index not found: {name}")
    return replica["indexes"].setdefault(name, {})


def _global_indexes(table: TableBody) -> list[IndexBody]:
    return [index for index in table["indexes"] if index["is_global"]]


def describe_settings(found: GlobalTable, _: MetadataCall) -> dict[str, Any]:
    """Return the settings of a global table in every region."""
    body, table = found
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
