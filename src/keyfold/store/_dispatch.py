"""Selects the plan that runs a request, by the request's type."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol

from keyfold.errors import (
    AccessDenied,
    AlreadyExists,
    OutcomeUnknown,
    QueryInvalid,
    RequestRefused,
    SizeExceeded,
)
from keyfold.model._batches import Batch
from keyfold.model._calls import Calls
from keyfold.model._collections import CollectionGet
from keyfold.model._deferred_writes import DeferredPut
from keyfold.model._entity_changes import DeferredChange
from keyfold.model._paged_reads import Count, First, Query, Scan
from keyfold.model._reads import Get
from keyfold.model._requests import Chain, Mapped, Request
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update
from keyfold.model._upserts import Upsert
from keyfold.model._writes import Check, CreateOrGet, Delete, Put, Write, refuse_alone
from keyfold.store._batches import plan_batch
from keyfold.store._collection_reads import plan_collection
from keyfold.store._plans import Environment, Plan, RunContext
from keyfold.store._reads import (
    plan_first,
    plan_get,
    plan_lookup,
    plan_page,
    plan_search,
)
from keyfold.store._scans import plan_any_count, plan_scan
from keyfold.store._transacting import plan_guarded, plan_transaction
from keyfold.store._upserting import plan_upsert
from keyfold.store._writing import plan_write


class Starter(Environment, Protocol):
    """The settings of a store, which decide when a request runs and whether it may."""

    now: Callable[[], datetime]


# Makes the plan of a request; it begins with the calls that the request is known to make.
_MakePlan = Callable[[RunContext, Any, Calls], Plan[Any]]


def plan_calls(store: Starter, request: Request[Any]) -> tuple[Plan[Any], Calls]:
    """Return the plan that runs a request now, and the calls that it is known to make.

    Raises WrongTable, AccessDenied, QueryInvalid.
    """
    # Not by _find: this runs for every request.
    make = _PLANS.get(type(request)) or _find(request)
    now = store.now()
    calls = store.admit(request, now)
    return make(RunContext(now, store), request, calls), calls


def plan(store: Starter, request: Request[Any]) -> Plan[Any]:
    """Return the plan that runs a request now; raises WrongTable, AccessDenied, QueryInvalid."""
    return plan_calls(store, request)[0]


def _find(request: Request[Any]) -> _MakePlan:
    make = _PLANS.get(type(request))
    if make is None:
        fact = f"{request!r:.80} is not a request"
        raise QueryInvalid("run()", fact, "Make one with an entity or an access pattern.")
    return make


def _plan_mapped(context: RunContext, request: Mapped[Any], calls: Calls) -> Plan[Any]:
    found = yield from _find(request.request)(context, request.request, calls)
    return request.make(found, context.now)


def _plan_chain(context: RunContext, request: Chain[Any], calls: Calls) -> Plan[Any]:
    if request.is_lookup and context.store.is_guarded:
        return (yield from _plan_lookup(context, request, calls))
    found = yield from _find(request.first)(context, request.first, calls)
    if found is None:
        return None
    following = request.make(found)
    return (yield from _plan_next(context, following))


def _plan_next(context: RunContext, request: Request[Any]) -> Plan[Any]:
    """Return the plan of a further request; raises WrongTable, AccessDenied, QueryInvalid."""
    make = _find(request)
    calls = context.store.admit(request, context.now)
    return make(context, request, tuple(call.on_own_authority() for call in calls))


def _plan_lookup(context: RunContext, request: Chain[Any], calls: Calls) -> Plan[Any]:
    """Run a chain for a principal that may not run its first step, and perhaps not the second.

    To a principal that may not see an item, the item must look the same as one that does not exist
    and as one that cannot be decoded: all three are skipped.
    """

    def follow(found: Any) -> Plan[Any] | None:
        following = request.make(found)
        # A request that is refused as invalid was not allowed before that.
        with suppress(AccessDenied, RequestRefused, SizeExceeded):
            return _plan_next(context, following)
        return None

    lookup = calls[0]._replace(is_lookup=True)
    match request.first:
        case First(query=query):
            following = yield from plan_search(context, query, lookup, follow)
        case Get() as get:
            following = yield from plan_lookup(context, get, lookup, follow)
        case _:
            fact = "a lookup starts with get() or first()"
            raise QueryInvalid(repr(request), fact, "Use then() instead of lookup_then().")
    if following is not None:
        # The next request may be a chain, of which a later step is denied.
        with suppress(AccessDenied):
            return (yield from following)
    return None


def _plan_write(context: RunContext, request: Write[Any], calls: Calls) -> Plan[Any]:
    make = plan_guarded if request.changes_unique else plan_write
    return make(context, request, calls)


def _plan_deferred_put(context: RunContext, request: DeferredPut[Any], calls: Calls) -> Plan[Any]:
    # The call has the item already.
    item = calls[0].request["Item"]
    return _plan_write(context, request.resolve(context.now, item), calls)


def _plan_deferred_change(
    context: RunContext, request: DeferredChange[Any], calls: Calls
) -> Plan[Any]:
    return _plan_write(context, request.resolve(context.now), calls)


def _plan_create_or_get(context: RunContext, request: CreateOrGet[Any], calls: Calls) -> Plan[Any]:
    # If the outcome of the first attempt is unknown, the second finds the item that it created.
    with suppress(OutcomeUnknown):
        return (yield from _create_or_get(context, request, calls))
    return (yield from _create_or_get(context, request, calls))


def _create_or_get(context: RunContext, request: CreateOrGet[Any], calls: Calls) -> Plan[Any]:
    try:
        return (yield from _find(request.put)(context, request.put, calls))
    except AlreadyExists as error:
        # The existing item is not of this entity, so there is nothing to return.
        if error.found is None:
            raise
        return error.found


def _refuse_check(context: RunContext, request: Check, calls: Calls) -> Plan[Any]:  # noqa: ARG001 - one signature for all
    refuse_alone(request)


_PLANS: dict[type[Any], _MakePlan] = {
    Batch: plan_batch,
    Chain: _plan_chain,
    Check: _refuse_check,
    CollectionGet: plan_collection,
    Count: plan_any_count,
    CreateOrGet: _plan_create_or_get,
    DeferredChange: _plan_deferred_change,
    DeferredPut: _plan_deferred_put,
    Delete: _plan_write,
    First: plan_first,
    Get: plan_get,
    Mapped: _plan_mapped,
    Put: _plan_write,
    Query: plan_page,
    Scan: plan_scan,
    Transaction: plan_transaction,
    Update: _plan_write,
    Upsert: plan_upsert,
}
