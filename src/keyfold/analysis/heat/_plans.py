"""How a table is partitioned: by its declaration, at its expected sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keyfold.analysis.heat._populations import partition_names
from keyfold.analysis.sizes import TableSizes
from keyfold.capacity import KeyLayout, ResourceLimits, UnitKind
from keyfold.model import Table

_MAXIMUMS: Mapping[UnitKind, str] = {
    "Read": "MaxReadRequestUnits",
    "Write": "MaxWriteRequestUnits",
}


@dataclass(frozen=True, slots=True)
class HeatPlan:
    """How a table is partitioned: its keys, and what it may consume."""

    table: Table
    layouts: Mapping[str, KeyLayout]
    limits: Mapping[str, ResourceLimits]


def plan_heat(table: Table, sizes: TableSizes | None = None) -> HeatPlan:
    """Return how a table is partitioned by its declaration, at its expected sizes."""
    request = table.to_dynamodb()
    described = {
        "": request,
        **{each["IndexName"]: each for each in request.get("GlobalSecondaryIndexes", ())},
    }
    layouts: dict[str, KeyLayout] = {}
    limits: dict[str, ResourceLimits] = {}
    partitions = partition_names(table)
    for name, each in described.items():
        whole = [key["AttributeName"] for key in each["KeySchema"]]
        sort = tuple(key for key in whole if key not in partitions[name])
        has_local = not name and bool(request.get("LocalSecondaryIndexes"))
        layouts[name] = KeyLayout(partitions[name], sort, has_local)
        given = each.get("ProvisionedThroughput")
        units: dict[UnitKind, int] | None = None
        if given is not None:
            units = {"Read": given["ReadCapacityUnits"], "Write": given["WriteCapacityUnits"]}
        size = 0 if sizes is None else round(sizes.total(name or None).bytes)
        most = each.get("OnDemandThroughput", {})
        maximums: dict[UnitKind, int] = {
            kind: most[key] for kind, key in _MAXIMUMS.items() if key in most
        }
        limits[name] = ResourceLimits(units, maximums=maximums, size_bytes=size)
    return HeatPlan(table, layouts, limits)
