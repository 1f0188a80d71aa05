"""The marker: one item of a table that lists the unique fields whose guards are complete.

It tells `plan` without a scan that a field was made unique after the table had items, and that guards are
left of a field that is no longer unique. It is an item, and not a tag, because a table's items can be read and
written wherever the table can be used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from keyfold.errors import ConditionalCheckFailedException, ResourceNotFoundException
from keyfold.expressions import Action, AddTo, DeleteFrom, Path, RequestPrinter
from keyfold.model._keys import Key, TableLike
from keyfold.model._tables import Table
from keyfold.policy import UNIQUE_START
from keyfold.store._own_items import own_key
from keyfold.store._plans import MakeCall, Plan
from keyfold.values import AttributeValue, Item

# A guard's name is not empty, so this is not the key of a guard.
_MARKER = "#complete"
_NAMES = "keyfold_complete"
# Names whose guards are being removed: there may be some left.
_REMOVED = "keyfold_removed"
MARKER_ATTRIBUTES = frozenset({_NAMES, _REMOVED})


def guard_names(table: Table) -> frozenset[str]:
    """Return the names of the guards of a table's unique fields."""
    schemas = table.entities.values()
    return frozenset(field.guard for schema in schemas for field in schema.unique.values())


def marker_key(table: TableLike) -> Item:
    """Return the key of a table's marker."""
    return own_key(table.key, UNIQUE_START, _MARKER)


def find_marker(described: Mapping[str, Any]) -> Item | None:
    """Return the key of the marker by a table's description; None if its keys are not text."""
    types = {
        each["AttributeName"]: each["AttributeType"] for each in described["AttributeDefinitions"]
    }
    names: list[str] = [each["AttributeName"] for each in described["KeySchema"]]
    if any(types[name] != "S" for name in names):
        return None
    return own_key(Key(*names), UNIQUE_START, _MARKER)


def complete_names(marker: Item | None) -> frozenset[str]:
    """Return the names that a marker lists; none if there is no marker."""
    return frozenset() if marker is None else frozenset(marker.get(_NAMES, {}).get("SS", ()))


def recorded_names(marker: Item | None) -> frozenset[str]:
    """Return the names that may have guards by a marker: complete ones, and those being removed."""
    if marker is None:
        return frozenset()
    return complete_names(marker).union(marker.get(_REMOVED, {}).get("SS", ()))


def plan_marker(call: MakeCall, table: TableLike, table_name: str) -> Plan[Item | None]:
    """Read the marker; None if it does not exist, or if the table does not exist yet."""
    request = {"TableName": table_name, "Key": marker_key(table), "ConsistentRead": True}
    try:
        return (yield from call("GetItem", request)).get("Item")
    except ResourceNotFoundException:
        return None


def plan_complete_names(call: MakeCall, table: TableLike, table_name: str) -> Plan[frozenset[str]]:
    """Read the names of the guards that are complete; none for a table that does not exist yet."""
    return complete_names((yield from plan_marker(call, table, table_name)))


def plan_record_complete(
    call: MakeCall, table: TableLike, table_name: str, names: Collection[str]
) -> Plan[None]:
    """Record that the guards of these names are complete."""
    if names:
        yield from _update(call, table, table_name, AddTo(Path((_NAMES,)), _set_of(names)))


def plan_record_removal(
    call: MakeCall, table: TableLike, table_name: str, names: Collection[str]
) -> Plan[None]:
    """Record that the guards of these names are being removed, and so are not complete."""
    actions = (
        AddTo(Path((_REMOVED,)), _set_of(names)),
        DeleteFrom(Path((_NAMES,)), _set_of(names)),
    )
    yield from _update(call, table, table_name, *actions)


def plan_forget(
    call: MakeCall, table: TableLike, table_name: str, names: Collection[str]
) -> Plan[None]:
    """Record that these names have no guards any more; delete a marker that lists no names."""
    yield from _update(call, table, table_name, DeleteFrom(Path((_REMOVED,)), _set_of(names)))
    request: dict[str, Any] = {
        "TableName": table_name,
        "Key": marker_key(table),
        "ConditionExpression": f"attribute_not_exists({_NAMES}) AND attribute_not_exists({_REMOVED})",
    }
    with suppress(ConditionalCheckFailedException):
        yield from call("DeleteItem", request)


def _set_of(names: Collection[str]) -> AttributeValue:
    return {"SS": sorted(names)}


def _update(call: MakeCall, table: TableLike, table_name: str, *actions: Action) -> Plan[None]:
    printer = RequestPrinter()
    update = printer.write_update(actions)
    request: dict[str, Any] = {
        "TableName": table_name,
        "Key": marker_key(table),
        "UpdateExpression": update,
    }
    printer.add_to(request)
    yield from call("UpdateItem", request)
