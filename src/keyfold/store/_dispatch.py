"""Selects the plan that runs a request, by the request's type."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from keyfold.errors import (
    AccessDenied,
    AlreadyExists,
    ItemInvalid,
    OutcomeUnknown,
    QueryInvalid,
    WriteRefused,
)
from keyfold.model._batches import Batch
from keyfold.model._collections import CollectionGet
from keyfold.model._formatting import show_item
from keyfold.model._paged_reads import Count, First, Query, Scan
from keyfold.model._reads import Get
from keyfold.model._requests import Chain, Mapped, Request
from keyfold.model._results import RawItem
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update, touches_unique
from keyfold.model._writes import Check, CreateOrGet, Delete, Put, Write
from keyfold.store._batches import plan_batch
from keyfold.store._plans import Plan, RunContext
from keyfold.store._reads import (
    plan_collection,
    plan_count,
    plan_first,
    plan_get,
    plan_lookup,
    plan_page,
    plan_search,
)
from keyfold.store._transacting import plan_guarded, plan_transaction
from keyfold.store._writing import plan_write


class Starter(Protocol):
    """The settings of a store, which check a request before it runs."""

    def start(self, request: Request[Any]) -> RunContext:
        """Return the context for running a request now; raises WrongTable, AccessDenied."""
        ...


def plan(store: Starter, request: Request[Any]) -> Plan[Any]:
    """Return the plan that runs a request now; raises WrongTable, AccessDenied, QueryInvalid."""
    make = _find(request)
    return make(store.start(request), request)


def _find(request: Request[Any]) -> Callable[[RunContext, Any], Plan[Any]]:
    make = _PLANS.get(type(request))
    if make is None:
        fact = f"{request!r:.80} is not a request"
        raise QueryInvalid("run()", fact, "Make one with an entity or an access pattern.")
    return make


def _plan_mapped(context: RunContext, request: Mapped[Any]) -> Plan[Any]:
    found = yield from _find(request.request)(context, request.request)
    return request.make(found, context.now)


def _plan_chain(context: RunContext, request: Chain[Any]) -> Plan[Any]:
    if request.is_lookup and context.store.is_guarded:
        return (yield from _plan_lookup(context, request))
    found = yield from _find(request.first)(context, request.first)
    if found is None:
        return None
    if isinstance(found, RawItem):
        # There is no entity to make the next request from.
        raise ItemInvalid(request.tables[0].name, show_item(found.key), found.reason)
    following = request.make(found)
    make = _find(following)
    context.store.check(following)
    return (yield from make(context, following))


def _plan_lookup(context: RunContext, request: Chain[Any]) -> Plan[Any]:
    """Run a chain for a principal that may not run its first step, and perhaps not the second.

    To a principal that may not see an item, the item must look the same as one that does not exist
    and as one that cannot be decoded: all three are skipped.
    """

    def follow(found: Any) -> Request[Any] | None:
        following = request.make(found)
        _find(following)
        with suppress(AccessDenied):
            context.store.check(following)
            return following
        return None

    match request.first:
        case First(query=query):
            following = yield from plan_search(context, query, follow)
        case Get() as get:
            following = yield from plan_lookup(context, get, follow)
        case _:
            fact = "a lookup starts with get() or first()"
            raise QueryInvalid(repr(request), fact, "Use then() instead of lookup_then().")
    if following is not None:
        # The next request may be a chain, of which a later step is denied.
        with suppress(AccessDenied):
            return (yield from _find(following)(context, following))
    return None


def _plan_write(context: RunContext, request: Write[Any]) -> Plan[Any]:
    return (
        plan_guarded(context, request) if touches_unique(request) else plan_write(context, request)
    )


def _plan_create_or_get(context: RunContext, request: CreateOrGet[Any]) -> Plan[Any]:
    # If the outcome of the first attempt is unknown, the second finds the item that it created.
    with suppress(OutcomeUnknown):
        return (yield from _create_or_get(context, request))
    return (yield from _create_or_get(context, request))


def _create_or_get(context: RunContext, request: CreateOrGet[Any]) -> Plan[Any]:
    try:
        return (yield from _plan_write(context, request.put))
    except AlreadyExists as error:
        # The existing item is not of this entity, so there is nothing to return.
        if error.found is None:
            raise
        return error.found


def _refuse_check(context: RunContext, request: Check) -> Plan[Any]:  # noqa: ARG001 - one signature for all
    fact = "a check on its own changes nothing"
    raise WriteRefused(repr(request), fact, "Put it into a transaction.")


_PLANS: dict[type[Any], Callable[[RunContext, Any], Plan[Any]]] = {
    Batch: plan_batch,
    Chain: _plan_chain,
    Check: _refuse_check,
    CollectionGet: plan_collection,
    Count: plan_count,
    CreateOrGet: _plan_create_or_get,
    Delete: _plan_write,
    First: plan_first,
    Get: plan_get,
    Mapped: _plan_mapped,
    Put: _plan_write,
    Query: plan_page,
    Scan: plan_page,
    Transaction: plan_transaction,
    Update: _plan_write,
}
