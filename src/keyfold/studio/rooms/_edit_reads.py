"""Reads of items to edit: one by its key, or those that a filter finds, page by page.

Everything is read with the rights of the principal. A role from which attributes are hidden gets the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from keyfold.errors import AccessDenied, KeyfoldError, ServiceError
from keyfold.expressions import Path, RequestPrinter
from keyfold.model._schemas import EntitySchema
from keyfold.policy import PrincipalGuard, find_readable, make_guards
from keyfold.studio._actions import StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.values import Item, normalise_item, restore_binaries


def read_key(call: StudioCall, given: Mapping[str, Any]) -> Item:
    """Return the primary key of an item, given in DynamoDB's JSON; raises StudioProblem."""
    names = call.table.key.names
    try:
        key = normalise_item({name: given[name] for name in names})[0]
    except (KeyError, ServiceError):
        wanted = " and ".join(names)
        message = f"A key of {call.table.name} has {wanted}, in DynamoDB's JSON."
        raise StudioProblem(400, "request-malformed", message) from None
    return key


def read_item(call: StudioCall, key: Item) -> Item | None:
    """Return the normalised item of a key as it is stored now, even if it has expired.

    Without what is hidden from the principal. Raises AccessDenied.
    """
    exact = restore_binaries(key)
    request: dict[str, Any] = {"TableName": call.table.name, "Key": exact, "ConsistentRead": True}
    names = {name for each in call.table.entities.values() for name in each.declared_names}
    hidden = find_hidden(call, key, names)
    found = _read_visible(call, "GetItem", request, names - hidden).get("Item")
    return None if found is None else normalise_item(found)[0]


def find_hidden(call: StudioCall, key: Item, names: Iterable[str]) -> frozenset[str]:
    """Return those of an item's attributes that the principal may not read."""
    every = frozenset(names)
    guard = _find_guard(call)
    readable = None if guard is None else find_readable(guard, restore_binaries(key), every)
    return frozenset() if readable is None else every - readable


def _find_guard(call: StudioCall) -> PrincipalGuard | None:
    if call.principal is None:
        return None
    guards = make_guards([call.table], call.principal.roles, call.principal.ids)
    return guards.get(call.table.name)


def _list_visible(call: StudioCall, schema: EntitySchema | None) -> set[str]:
    """Return the attributes of an entity, or of all, that no role of the principal hides."""
    guard = _find_guard(call)
    roles = () if guard is None else [each.role for each in guard.guards]
    hidden = {name for role in roles for names in role.hidden.values() for name in names}
    every = call.table.entities.values() if schema is None else (schema,)
    return {name for each in every for name in each.declared_names} - hidden


def _read_visible(
    call: StudioCall, operation: str, request: dict[str, Any], visible: Iterable[str]
) -> dict[str, Any]:
    """Read whole items; if some of their attributes are hidden, those that are visible."""
    try:
        return call.store.execute(operation, dict(request))
    except AccessDenied:
        guard = _find_guard(call)
        if guard is None or not any(each.role.hidden for each in guard.guards):
            raise
        printer = RequestPrinter()
        every = sorted({*visible, *call.table.key.names})
        names = [printer.write_path(Path((name,))) for name in every]
        limited = {**request, "ProjectionExpression": ", ".join(names)}
        given: dict[str, str] = request.get("ExpressionAttributeNames", {})
        if printer.names or given:
            limited["ExpressionAttributeNames"] = {**given, **printer.names}
        return call.store.execute(operation, limited)


def read_page(
    call: StudioCall,
    schema: EntitySchema | None,
    partition: Item | None,
    start: Mapping[str, Any] | None,
    limit: int,
) -> tuple[list[Item], dict[str, Any] | None]:
    """Return the items of one page, and the key after which the next begins; None after the last.

    With a `partition`, those of one partition; otherwise, the table is scanned. `schema` is the entity
    that is wanted: it decides which attributes can be named if others are hidden.
    """
    request: dict[str, Any] = {"TableName": call.table.name, "Limit": limit}
    if start is not None:
        request["ExclusiveStartKey"] = restore_binaries(read_key(call, start))
    operation = "Scan"
    if partition is not None:
        operation = "Query"
        ((name, value),) = restore_binaries(partition).items()
        request["KeyConditionExpression"] = "#partition = :partition"
        request["ExpressionAttributeNames"] = {"#partition": name}
        request["ExpressionAttributeValues"] = {":partition": value}
    response = _read_visible(call, operation, request, _list_visible(call, schema))
    last = response.get("LastEvaluatedKey")
    items = [normalise_item(each)[0] for each in response["Items"]]
    return items, None if last is None else normalise_item(last)[0]


def find_partition(schema: EntitySchema | None, equal: Mapping[str, str]) -> Item | None:
    """Return the partition key of an entity's items, if these values of fields determine it."""
    if schema is None:
        return None
    part = schema.partition
    if part.template is None:
        return None
    if any(name not in equal for name in part.fields):
        return None
    try:
        values = schema.coerce({name: equal[name] for name in part.fields})
        rendered = part.render(values)
    except (KeyfoldError, ValueError):
        return None
    return None if rendered is None else {part.attribute: rendered}


def iterate_keys(call: StudioCall, given: list[Any]) -> Iterator[Item]:
    """Yield primary keys that are given in DynamoDB's JSON; raises StudioProblem."""
    for each in given:
        yield read_key(call, cast("dict[str, Any]", each) if isinstance(each, dict) else {})
