"""Auto scaling settings of a table and its replicas, stored with the table."""

from __future__ import annotations

from typing import Any

from keyfold.engine.metadata_operations import MetadataCall
from keyfold.engine.replication.auto_scaling import merge_scaling
from keyfold.engine.tables.extras import ScalingBody
from keyfold.engine.tables.table import TableBody
from keyfold.errors import ResourceNotFoundException, ValidationException
from keyfold.values.wording import INVALID

_READ, _WRITE = "ProvisionedReadCapacityAutoScaling", "ProvisionedWriteCapacityAutoScaling"


def _scaled_regions(body: TableBody, call: MetadataCall) -> list[str]:
    """Return the engine's region and those of the table's replicas."""
    return [call.context.region, *body.get("replicas", {})]


def change_scaling(body: TableBody, call: MetadataCall) -> dict[str, Any]:
    """Record the auto scaling settings of a table and its replicas.

    Raises ValidationException if the request changes nothing, and ResourceNotFoundException for an
    unknown region or index.
    """
    request, regions = call.request, _scaled_regions(body, call)
    scaling: dict[str, ScalingBody] = {
        region: body.get("auto_scaling", {}).get(region, ScalingBody(indexes={}))
        for region in regions
    }
    write = request.get(f"{_WRITE}Update")
    indexes: list[dict[str, Any]] = request.get("GlobalSecondaryIndexUpdates") or []
    replicas: list[dict[str, Any]] = request.get("ReplicaUpdates") or []
    if write is None and not indexes and not replicas:
        raise ValidationException(
            f"{INVALID}At least one of GlobalSecondaryIndexUpdates, "
            f"{_WRITE}Update or ReplicaUpdates is required"
        )
    for region in regions:
        # Every write is replicated, so write capacity is the same in all regions.
        if write is not None:
            scaling[region]["write"] = merge_scaling(scaling[region].get("write"), write)
        for update in indexes:
            _change_index(scaling[region], body, update, "write", f"{_WRITE}Update")
    for replica in replicas:
        region = replica["RegionName"]
        if region not in scaling:
            raise ResourceNotFoundException(
                f"Requested resource not found: Replica in region: {region} not found"
            )
        read = replica.get(f"Replica{_READ}Update")
        if read is not None:
            scaling[region]["read"] = merge_scaling(scaling[region].get("read"), read)
        own: list[dict[str, Any]] = replica.get("ReplicaGlobalSecondaryIndexUpdates") or []
        for update in own:
            _change_index(scaling[region], body, update, "read", f"{_READ}Update")
    body["auto_scaling"] = scaling
    return describe_scaling({**body, "status": "UPDATING"}, call)


def _change_index(
    scaling: ScalingBody, body: TableBody, update: dict[str, Any], kind: str, parameter: str
) -> None:
    name = update.get("IndexName")
    if not any(each["name"] == name and each["is_global"] for each in body["indexes"]):
        raise ResourceNotFoundException(
            f"Requested resource not found: Index: {name} of table: {body['name']} not found"
        )
    assert name is not None  # it is the name of one of the table's indexes
    if update.get(parameter) is not None:
        known = scaling["indexes"].setdefault(name, {})
        known[kind] = merge_scaling(known.get(kind), update[parameter])


def describe_scaling(body: TableBody, call: MetadataCall) -> dict[str, Any]:
    """Return the auto scaling settings of a table in every region."""
    replicas: list[dict[str, Any]] = []
    for region in _scaled_regions(body, call):
        scaling = body.get("auto_scaling", {}).get(region, ScalingBody(indexes={}))
        described: dict[str, Any] = {"RegionName": region, "ReplicaStatus": "ACTIVE"}
        if "read" in scaling:
            described[f"Replica{_READ}Settings"] = scaling["read"]
        if "write" in scaling:
            described[f"Replica{_WRITE}Settings"] = scaling["write"]
        described["GlobalSecondaryIndexes"] = [
            _describe_index(each["name"], each["status"], scaling["indexes"].get(each["name"], {}))
            for each in body["indexes"]
            if each["is_global"]
        ]
        replicas.append(described)
    described = {"TableName": body["name"], "TableStatus": body["status"], "Replicas": replicas}
    return {"TableAutoScalingDescription": described}


def _describe_index(name: str, status: str, scaling: dict[str, dict[str, Any]]) -> dict[str, Any]:
    described: dict[str, Any] = {"IndexName": name, "IndexStatus": status}
    for kind, heading in (("read", _READ), ("write", _WRITE)):
        if kind in scaling:
            described[f"{heading}Settings"] = scaling[kind]
    return described
