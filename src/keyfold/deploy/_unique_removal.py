"""Removes the guards of fields that are no longer unique.

Old guards would be wrong as soon as items change without them. So their name is taken off the list of
complete ones first: a program that declares the field unique again gets new guards by `apply`. The name is
listed as being removed until no guard is left, so that an interrupted removal is found and continued.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

from keyfold.errors import AccessDeniedException
from keyfold.expressions import RequestPrinter
from keyfold.model import Table
from keyfold.store._guards import NAME
from keyfold.store._plans import MakeCall, Plan, Response, repeat_batch
from keyfold.store._unique_marker import (
    guard_names,
    plan_forget,
    plan_marker,
    plan_record_removal,
    recorded_names,
)
from keyfold.values import Item

_MAX_DELETES = 25


def plan_deployed_marker(call: MakeCall, table: Table) -> Plan[Item | None]:
    """Read the marker of a table to deploy; None if there is none, or if it cannot matter."""
    if any(table.key_types()[name] != "S" for name in table.key.names):
        return None  # guards have keys of text
    try:
        return (yield from plan_marker(call, table, table.name))
    except AccessDeniedException:
        if table.has_guards:
            raise
        # Whoever deploys a table without unique fields need not be allowed to read its items.
        return None


def undeclared_names(table: Table, marker: Item | None) -> list[str]:
    """Return the names of guards that a table has, although none of its fields is unique by them."""
    return sorted(recorded_names(marker) - guard_names(table))


def plan_remove_guards(
    call: MakeCall, table: Table, names: Collection[str], on_items: Callable[[int], object]
) -> Plan[None]:
    """Delete all guards of these names; `on_items` is called with the number of items read."""
    yield from plan_record_removal(call, table, table.name, names)
    printer = RequestPrinter()
    projection = ", ".join(map(printer.write_name, (*table.key.names, NAME)))
    request: dict[str, Any] = {
        "TableName": table.name,
        "ConsistentRead": True,
        "ProjectionExpression": projection,
    }
    printer.add_to(request)
    count = 0
    while True:
        page = yield from call("Scan", request)
        count += len(page["Items"])
        guards = [item for item in page["Items"] if item.get(NAME, {}).get("S") in names]
        yield from _delete(call, table, guards)
        on_items(count)
        if "LastEvaluatedKey" not in page:
            break
        request = {**request, "ExclusiveStartKey": page["LastEvaluatedKey"]}
    yield from plan_forget(call, table, table.name, names)


def _delete(call: MakeCall, table: Table, guards: list[Item]) -> Plan[None]:
    def make_call(wanted: dict[str, Any], _: int) -> Plan[Response]:
        return call("BatchWriteItem", {"RequestItems": wanted})

    for start in range(0, len(guards), _MAX_DELETES):
        deletes = [
            {"DeleteRequest": {"Key": {name: guard[name] for name in table.key.names}}}
            for guard in guards[start : start + _MAX_DELETES]
        ]
        yield from repeat_batch(random.random, "BatchWriteItem", {table.name: deletes}, make_call)
