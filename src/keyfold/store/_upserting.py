"""The plan of upserts, which replace an expired item that has the key."""

from __future__ import annotations

from typing import Any

from keyfold.errors import ConditionFailed
from keyfold.model._calls import Calls
from keyfold.model._upserts import Upsert
from keyfold.model._writes import Presence, Put
from keyfold.store._plans import Plan, RunContext
from keyfold.store._writing import is_expired_leftover, plan_write

# How often an upsert is attempted while others replace the expired item.
_MAX_RACES = 5


def plan_upsert(context: RunContext, request: Upsert[Any], calls: Calls) -> Plan[Any]:
    """Update an entity or create it, in one call; in a second one if it has expired."""
    for _ in range(_MAX_RACES):
        try:
            return (yield from plan_write(context, request, calls))
        except ConditionFailed as error:
            failure = error
        is_expired = is_expired_leftover(failure)
        # A request that returns nothing does not learn whether the item has expired.
        if not is_expired and not (request.returns_nothing and request.table.ttl):
            raise failure
        put = _as_create(context, request)
        # The call that failed was admitted; this one writes the same item.
        again = tuple(call.on_own_authority() for call in put.calls(context.now))
        try:
            created = yield from plan_write(context, put, again)
        except ConditionFailed:
            if not is_expired:
                raise failure from None
            calls = tuple(call.on_own_authority() for call in request.calls(context.now))
        else:
            return None if request.returns_nothing else created
    return (yield from plan_write(context, request, calls))


def _as_create(context: RunContext, request: Upsert[Any]) -> Put[Any]:
    entity = request.entity_at(context.now)
    return Put(
        request.table,
        request.schema,
        entity,
        request.schema.encode(entity),
        Presence.MUST_NOT_EXIST,
        expiry=request.expiry,
        returns_nothing=request.returns_nothing,
    )
