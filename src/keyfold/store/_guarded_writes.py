"""Writes of items with their guards, for transfers and backfills, which have items, not entities."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keyfold.errors import ServiceError, TransactionCanceledException, Unavailable
from keyfold.model._schemas import EntitySchema
from keyfold.store._guard_actions import (
    GuardAction,
    UniqueValues,
    add_condition,
    find_guard_actions,
    leave_foreign,
    unchanged_condition,
    unique_state,
    unique_values_in,
)
from keyfold.store._plans import MakeCall, Plan
from keyfold.values import Item

_MAX_RACES = 20


@dataclass(frozen=True, slots=True)
class GuardedOutcome:
    """The result of a write with guards: it was done, it was overtaken, or a value is taken.

    `taken` is the field whose value another item has.
    """

    is_done: bool
    taken: str | None = None


def plan_guarded_put(
    call: MakeCall, schema: EntitySchema, table_name: str, item: Item, now: datetime
) -> Plan[str | None]:
    """Put an item at the time `now`, replacing any item with its key, and move its guards.

    Returns the field whose value another item has, if nothing was written for that reason.
    """
    # An item of a file may lack a part of it, which the service refuses.
    key = {name: item[name] for name in schema.table.key.names if name in item}
    lookup = {
        "TableName": table_name,
        "Key": key,
        "ConsistentRead": True,
        "ReturnConsumedCapacity": "TOTAL",
    }
    for _ in range(_MAX_RACES):
        old: Item | None = (yield from call("GetItem", lookup)).get("Item")
        body: dict[str, Any] = {"TableName": table_name, "Item": item}
        condition = unchanged_condition(schema, unique_state(schema, old))
        add_condition(body, schema.with_former_names(condition))
        before: UniqueValues = dict.fromkeys(schema.unique)
        if old is not None:
            before = unique_values_in(schema, old, now)
        guards = find_guard_actions(schema, key, before, unique_values_in(schema, item, now))
        outcome = yield from plan_guarded_write(call, table_name, {"Put": body}, guards, now)
        if outcome.is_done or outcome.taken is not None:
            return outcome.taken
    raise Unavailable("TransactWriteItems", _MAX_RACES, "other writers keep changing the item")


def plan_guarded_write(
    call: MakeCall,
    table_name: str,
    own: dict[str, Any],
    guards: Iterable[GuardAction],
    now: datetime,
) -> Plan[GuardedOutcome]:
    """Write an item and its guards in one transaction; `own` is the write of the item.

    The write is overtaken if its own condition does not hold.
    """
    listed = list(guards)
    foreign: set[Hashable] = set()
    for _ in range(_MAX_RACES):
        actions = leave_foreign(listed, foreign)
        members = [own, *(each.to_member(table_name, now) for each in actions)]
        request = {"TransactItems": members, "ReturnConsumedCapacity": "TOTAL"}
        try:
            yield from call("TransactWriteItems", request)
        except TransactionCanceledException as error:
            failed = _failed_members(error)
            if not failed:
                raise
            if 0 in failed:
                return GuardedOutcome(is_done=False)
            for each in (actions[number - 1] for number in failed):
                if each.kind == "take":
                    return GuardedOutcome(is_done=False, taken=each.field)
                foreign ^= {each.identity}
        else:
            return GuardedOutcome(is_done=True)
    raise Unavailable("TransactWriteItems", _MAX_RACES, "other writers keep changing its guards")


def find_invalid(error: ServiceError) -> str | None:
    """Return what is wrong with an item that the service refused; None for another error."""
    if isinstance(error, TransactionCanceledException):
        reasons: list[dict[str, Any]] = error.fields["CancellationReasons"]
        invalid = [each for each in reasons if each.get("Code") == "ValidationError"]
        return str(invalid[0].get("Message", "")) if invalid else None
    return error.message if error.type == "ValidationException" else None


def _failed_members(error: TransactionCanceledException) -> list[int]:
    """Return the positions of the members whose conditions failed; none for another reason."""
    codes = [reason.get("Code", "None") for reason in error.fields["CancellationReasons"]]
    if any(code not in ("None", "ConditionalCheckFailed") for code in codes):
        return []
    return [number for number, code in enumerate(codes) if code != "None"]
