"""The accesses of writes: PutItem, UpdateItem, DeleteItem, and writes in batches and transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyfold.api import WRITE_MEMBERS
from keyfold.expressions.conditions import BoundCondition
from keyfold.expressions.parameters import (
    check_expression_use,
    check_old_or_none,
    read_condition_paths,
    read_update,
    read_update_expressions,
)
from keyfold.expressions.parser import parse_update
from keyfold.expressions.trees import Action, AddTo, DeleteFrom, Remove, SetTo
from keyfold.expressions.updates import UpdatePlan
from keyfold.policy._access import Access
from keyfold.policy._rights import ALL, Right
from keyfold.policy.accesses._existence import find_existence
from keyfold.policy.accesses._named_tables import KeyLookup, NamedTable, find_table
from keyfold.values import AttributeValue, Item, normalise_item

_PUT = Right.CREATE | Right.UPDATE


def read_put_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of PutItem."""
    check_expression_use("PutItem", request)
    item, _ = normalise_item(request["Item"])
    check_old_or_none(request)
    access = _put_access("PutItem", find_table(request["TableName"], keys), item, request)
    return [_with_return_values(access, request)]


def read_delete_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of DeleteItem."""
    check_expression_use("DeleteItem", request)
    key, _ = normalise_item(request["Key"])
    check_old_or_none(request)
    target = find_table(request["TableName"], keys)
    access = _key_access("DeleteItem", target, key, request, Right.DELETE)
    return [_with_return_values(access, request)]


def read_update_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of UpdateItem."""
    key, plan, condition = read_update(request)
    target = find_table(request["TableName"], keys)
    access = _update_access(target, key, plan, condition, request)
    return [_with_return_values(access, request)]


def read_batch_write_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the accesses of BatchWriteItem, one for each put and each delete."""
    accesses: list[Access] = []
    for name, members in request["RequestItems"].items():
        target = find_table(name, keys)
        for member in members:
            put, delete = member.get("PutRequest"), member.get("DeleteRequest")
            if (put is None) is (delete is None):
                accesses.append(_unreadable("BatchWriteItem", target.table))
                continue
            if put is not None:
                item, _ = normalise_item(put["Item"])
                accesses.append(_put_access("BatchWriteItem", target, item, {}))
            else:
                key, _ = normalise_item(delete["Key"])
                access = _key_access("BatchWriteItem", target, key, {}, Right.DELETE)
                accesses.append(access)
    return accesses


def read_transact_write_items(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the accesses of TransactWriteItems, one for each member."""
    return [
        access._replace(enclosing="TransactWriteItems")
        for member in request["TransactItems"]
        for access in _read_member(member, keys)
    ]


def _read_member(member: dict[str, Any], keys: KeyLookup) -> Iterator[Access]:
    if all(member.get(kind) is None for kind in WRITE_MEMBERS):
        yield _unreadable("PutItem", None)
    # The engine refuses a member with several actions; the accesses include all of them.
    for kind, action, parameter, _ in WRITE_MEMBERS.values():
        body: dict[str, Any] | None = member.get(kind)
        if body is None:
            continue
        item, _ = normalise_item(body[parameter])
        check_expression_use(kind, body)
        target = find_table(body["TableName"], keys)
        match kind:
            case "Put":
                access = _put_access(action, target, item, body)
            case "Update":
                plan, condition = read_update_expressions(body)
                access = _update_access(target, item, plan, condition, body)
            case "Delete":
                access = _key_access(action, target, item, body, Right.DELETE)
            case _:
                access = _key_access(action, target, item, body, Right.GET)
        yield access


def _unreadable(action: str, table: str | None) -> Access:
    """Return the access of a member that the engine refuses: one that needs all rights."""
    return Access(action, table, rights=ALL, attributes=None, is_opaque=True)


def _with_return_values(access: Access, request: dict[str, Any]) -> Access:
    return access._replace(return_values=request.get("ReturnValues") or "NONE")


def _put_access(action: str, target: NamedTable, item: Item, request: dict[str, Any]) -> Access:
    named = frozenset(item) | _names_in(read_condition_paths(request))
    return Access(
        action,
        target.table,
        rights=_put_rights(target, request),
        partition=target.partition_of(item),
        sort_key=target.sort_key_of(item),
        attributes=named,
        named=named,
        written=item,
        returns_on_failure=_returns_on_failure(request),
    )


def _key_access(
    action: str, target: NamedTable, key: Item, request: dict[str, Any], rights: Right
) -> Access:
    named = frozenset(key) | _names_in(read_condition_paths(request))
    return Access(
        action,
        target.table,
        rights=rights,
        partition=target.partition_of(key),
        sort_key=target.sort_key_of(key),
        attributes=named,
        named=named,
        returns_on_failure=_returns_on_failure(request),
    )


def _update_access(
    target: NamedTable,
    key: Item,
    plan: UpdatePlan | None,
    condition: BoundCondition | None,
    request: dict[str, Any],
) -> Access:
    named = frozenset(key) | _names_in(condition)
    if plan is not None:
        named |= {str(path[0]) for path in plan.paths}
    return Access(
        "UpdateItem",
        target.table,
        rights=_put_rights(target, request),
        partition=target.partition_of(key),
        sort_key=target.sort_key_of(key),
        attributes=named,
        named=named,
        written={**key, **_read_written(plan, request)},
        returns_on_failure=_returns_on_failure(request),
    )


def _read_written(
    plan: UpdatePlan | None, request: dict[str, Any]
) -> dict[str, AttributeValue | None]:
    """Return the attributes that an update writes: {} for removed, None for unknown values."""
    if plan is None:
        return {}
    text: str | None = request.get("UpdateExpression")
    legacy: dict[str, Any] = request.get("AttributeUpdates") or {}
    if text is not None:
        kinds = [type(action) for action in parse_update(text)]
    else:
        kinds = [_legacy_kind(update) for update in legacy.values()]
    written: dict[str, AttributeValue | None] = {}
    for change, kind in zip(plan.changes, kinds, strict=True):
        value = None
        if len(change.steps) == 1:
            # The result of adding to an existing value is unknown.
            value = change.given if kind is SetTo else {} if kind is Remove else None
        written[str(change.steps[0])] = value
    return written


def _legacy_kind(update: dict[str, Any]) -> type[Action]:
    match update.get("Action") or "PUT":
        case "PUT":
            return SetTo
        case "ADD":
            return AddTo
        case _:
            return Remove if update.get("Value") is None else DeleteFrom


def _returns_on_failure(request: dict[str, Any]) -> bool:
    return request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def _put_rights(target: NamedTable, request: dict[str, Any]) -> Right:
    """Return the rights of a write that may create an item or replace it, as its condition allows."""
    existence = None if target.keys is None else find_existence(request, target.keys)
    return existence or _PUT


def _names_in(condition: BoundCondition | None) -> frozenset[str]:
    return frozenset() if condition is None else condition.attributes
