"""The marker: one item of a table that lists the unique fields whose guards are complete.

It tells `plan` without a scan that a field was made unique after the table had items. It is an item,
and not a tag, because a table's items can be read and written wherever the table can be used.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from keyfold.errors import ResourceNotFoundException
from keyfold.expressions import AddTo, Path, RequestPrinter
from keyfold.model._keys import TableLike
from keyfold.model._tables import Table
from keyfold.store._guards import reserved_key
from keyfold.store._plans import MakeCall, Plan
from keyfold.values import Item

# A guard's name is not empty, so this is not the key of a guard.
_MARKER = "#complete"
_NAMES = "keyfold_complete"


def guard_names(table: Table) -> frozenset[str]:
    """Return the names of the guards of a table's unique fields."""
    schemas = table.entities.values()
    return frozenset(field.guard for schema in schemas for field in schema.unique.values())


def marker_key(table: TableLike) -> Item:
    """Return the key of a table's marker."""
    return reserved_key(table, _MARKER)


def plan_complete_names(call: MakeCall, table: TableLike, table_name: str) -> Plan[frozenset[str]]:
    """Read the names of the guards that are complete; none for a table that does not exist yet."""
    request = {"TableName": table_name, "Key": marker_key(table), "ConsistentRead": True}
    try:
        item: Item = (yield from call("GetItem", request)).get("Item") or {}
    except ResourceNotFoundException:
        return frozenset()
    return frozenset(item.get(_NAMES, {}).get("SS", ()))


def plan_record_complete(
    call: MakeCall, table: TableLike, table_name: str, names: Collection[str]
) -> Plan[None]:
    """Record that the guards of these names are complete."""
    if not names:
        return
    printer = RequestPrinter()
    update = printer.write_update([AddTo(Path((_NAMES,)), {"SS": sorted(names)})])
    request: dict[str, Any] = {
        "TableName": table_name,
        "Key": marker_key(table),
        "UpdateExpression": update,
    }
    printer.add_to(request)
    yield from call("UpdateItem", request)
