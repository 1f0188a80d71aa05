"""Which plan runs which request."""

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
from keyfold.model._requests import Chain, Count, First, Get, Mapped, Query, Request, Scan
from keyfold.model._results import RawItem
from keyfold.model._showing import show_item
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
    """A store that is about to run something."""

    def start(self, request: Request[Any]) -> RunContext:
        """Return what a plan needs to know, now; raises WrongTable."""
        ...


def plan(store: Starter, request: Request[Any]) -> Plan[Any]:
    """Return the plan of a request that a store runs now; raises WrongTable, QueryInvalid."""
    make = _find(request)
    return make(store.start(request), request)


def _find(request: Request[Any]) -> Callable[[RunContext, Any], Plan[Any]]:
    make = _PLANS.get(type(request))
    if make is None:
        fact = f"{request!r:.80} is no request"
        raise QueryInvalid("run()", fact, "Entities and patterns make them.")
    return make


def _plan_mapped(run: RunContext, request: Mapped[Any]) -> Plan[Any]:
    found = yield from _find(request.request)(run, request.request)
    return request.make(found, run.now)


def _plan_chain(run: RunContext, request: Chain[Any]) -> Plan[Any]:
    if request.is_lookup and run.store.is_guarded:
        return (yield from _plan_lookup(run, request))
    found = yield from _find(request.first)(run, request.first)
    if found is None:
        return None
    if isinstance(found, RawItem):
        # There is no entity to make the next request from.
        raise ItemInvalid(request.tables[0].name, show_item(found.key), found.reason)
    following = request.make(found)
    make = _find(following)
    run.store.check(following)
    return (yield from make(run, following))


def _plan_lookup(run: RunContext, request: Chain[Any]) -> Plan[Any]:
    """Run a chain for somebody who may not make its first step, and perhaps not the second.

    Whoever may not see what is found cannot tell it from what is not there, nor from what is
    there and cannot be read: such items are passed over, whatever else they lie beside.
    """

    def follow(found: Any) -> Request[Any] | None:
        following = request.make(found)
        _find(following)
        with suppress(AccessDenied):
            run.store.check(following)
            return following
        return None

    match request.first:
        case First(query=query):
            following = yield from plan_search(run, query, follow)
        case Get() as get:
            following = yield from plan_lookup(run, get, follow)
        case _:
            fact = "only get() and first() look something up for others"
            raise QueryInvalid(repr(request), fact, "Use then() instead of lookup_then().")
    if following is not None:
        # Of several steps, a later one may be denied.
        with suppress(AccessDenied):
            return (yield from _find(following)(run, following))
    return None


def _plan_write(run: RunContext, request: Write[Any]) -> Plan[Any]:
    return plan_guarded(run, request) if touches_unique(request) else plan_write(run, request)


def _plan_create_or_get(run: RunContext, request: CreateOrGet[Any]) -> Plan[Any]:
    # Where it is not known whether the first time made it, the second gets it.
    with suppress(OutcomeUnknown):
        return (yield from _create_or_get(run, request))
    return (yield from _create_or_get(run, request))


def _create_or_get(run: RunContext, request: CreateOrGet[Any]) -> Plan[Any]:
    try:
        return (yield from _plan_write(run, request.put))
    except AlreadyExists as error:
        # Something that is of another entity, or none, was not to be got.
        if error.found is None:
            raise
        return error.found


def _refuse_check(run: RunContext, request: Check) -> Plan[Any]:  # noqa: ARG001 - one signature for all
    fact = "a check alone changes nothing"
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
