"""The TransactWriteItems operation."""

from __future__ import annotations

from typing import Any, NamedTuple

from keyfold.api import WRITE_MEMBERS
from keyfold.engine.context import EngineContext
from keyfold.engine.items.expression_checks import check_paths, check_update
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.transactions import (
    MAX_BYTES,
    check_distinct,
    member_item_fault_error,
    member_key_fault_error,
    prepare_members,
    write_all,
)
from keyfold.engine.items.writes import (
    CheckAction,
    DeleteAction,
    ItemWrite,
    UpdateAction,
    check_item_size,
    make_put,
    report_collections,
    split_condition,
)
from keyfold.engine.tables.table import EngineTable, encode_key_of
from keyfold.errors import ValidationException
from keyfold.expressions.conditions import BoundCondition
from keyfold.expressions.parameters import (
    check_expression_use,
    read_condition,
    read_update_expressions,
)
from keyfold.expressions.updates import UpdatePlan
from keyfold.values import Item, normalise_item, normalise_value


class _Action(NamedTuple):
    """One member of the transaction, with all checks done that do not need its table."""

    kind: str
    table_name: str
    # The item of a Put, or the key of any other member.
    item: Item
    size: int
    # Counts towards the size limit of the transaction.
    payload_bytes: int
    plan: UpdatePlan | None
    condition: BoundCondition | None
    wants_item: bool


def transact_write_items(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Carry out up to 100 writes, all of them or none."""
    actions = _read_actions(request["TransactItems"])
    writes = _make_writes(context, actions)
    wants_items = [action.wants_item for action in actions]
    response: dict[str, Any] = {}
    outcomes = write_all(context, request, writes, wants_items, rendering, response)
    if outcomes is not None:
        report_collections(context.storage, request, outcomes, rendering, response, by_table=True)
    return response


def _read_actions(members: list[dict[str, Any]]) -> list[_Action]:
    actions: list[_Action] = []
    total = 0
    for member in members:
        action = _read_action(member)
        total += action.payload_bytes
        if total > MAX_BYTES:
            raise ValidationException(
                f"Transaction payload size cannot exceed 4MB. Payload Size: {total}"
            )
        actions.append(action)
    return actions


def _read_action(member: dict[str, Any]) -> _Action:
    given = [kind for kind in WRITE_MEMBERS if member.get(kind) is not None]
    if not given:
        raise ValidationException(
            "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
        )
    if len(given) > 1:
        raise ValidationException(
            "TransactItems can only contain one of Check, Put, Update or Delete"
        )
    kind = given[0]
    body: dict[str, Any] = member[kind]
    plan = None
    item, size = normalise_item(body["Item"] if kind == "Put" else body["Key"])
    if kind == "Put":
        check_item_size(size)
    check_expression_use(kind, body)
    if kind == "Update":
        plan, condition = read_update_expressions(body)
    else:
        condition = read_condition(body)
    values: dict[str, Any] = body.get("ExpressionAttributeValues") or {}
    return _Action(
        kind=kind,
        table_name=body["TableName"],
        item=item,
        size=size,
        payload_bytes=size + sum(normalise_value(value)[1] for value in values.values()),
        plan=plan,
        condition=condition,
        wants_item=body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD",
    )


def _make_writes(context: EngineContext, actions: list[_Action]) -> list[ItemWrite]:
    tables = [context.catalog.find(action.table_name) for action in actions]
    writes = prepare_members(tables, actions, _make_write)
    check_distinct([(write.table, write.row_key) for write in writes])
    return writes


def _make_write(table: EngineTable, action: _Action) -> ItemWrite:
    condition = split_condition(action.condition)
    check_paths(table, action.condition)
    if action.kind == "Put":
        row_key, put = make_put(table, action.item, action.size, member_item_fault_error)
        return ItemWrite(table, row_key, put, *condition)
    row_key = encode_key_of(table, action.item, member_key_fault_error)
    match action.kind:
        case "Update":
            check_update(action.plan, table)
            return ItemWrite(table, row_key, UpdateAction(action.item, action.plan), *condition)
        case "Delete":
            return ItemWrite(table, row_key, DeleteAction(action.item), *condition)
        case _:
            return ItemWrite(table, row_key, CheckAction(action.item), *condition)
