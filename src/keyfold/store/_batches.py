"""The plan of batches: retries unprocessed members, returns results in the order requested."""

from __future__ import annotations

from typing import Any

from keyfold.model._batches import Batch
from keyfold.model._calls import ApiCall, Calls
from keyfold.model._deferred_writes import resolve_write
from keyfold.model._keys import identify
from keyfold.model._reads import Get
from keyfold.model._writes import Put
from keyfold.store._plans import Plan, Response, RunContext, attempt, repeat_batch, report_capacity
from keyfold.store._refusals import find_unstorable
from keyfold.store._writing import decode_for, written
from keyfold.values import Item


def plan_batch(context: RunContext, request: Batch[Any], calls: Calls) -> Plan[list[Any]]:
    """Run any number of gets, puts and deletes; return a result for each, in order."""
    results: list[Any] = [
        written(context, resolve_write(each, context.now)) if isinstance(each, Put) else None
        for each in request.requests
    ]
    if len(calls) > 1:
        # A single call is refused as a whole. Of several, the first would be carried out already.
        _check_storable(context, request)
    found: dict[int, Item] = {}
    for call in calls:
        for table, item in (yield from _carry_out(context, request, call)):
            names = next(each.key.names for each in request.tables if each.name == table)
            identity = identify(table, {name: item[name] for name in names})
            for place in call.positions[identity]:
                found[place] = item
    # Only now, when everything is done: an invalid item raises.
    for place, item in found.items():
        get = request.requests[place]
        assert isinstance(get, Get)  # only gets have items in the response
        results[place] = decode_for(context, get, item)
    return results


def _check_storable(context: RunContext, request: Batch[Any]) -> None:
    for each in request.requests:
        found = find_unstorable(each, "", context.now)
        if found is not None:
            raise found


def _carry_out(
    context: RunContext, request: Batch[Any], call: ApiCall
) -> Plan[list[tuple[str, Item]]]:
    """Make a call until all its members are processed, and return the items that it found."""

    def make_call(wanted: dict[str, Any], earlier: int) -> Plan[Response]:
        # The first call is the one that was admitted, with all its members.
        sent = ApiCall(call.operation, {"RequestItems": wanted}, earlier + 1) if earlier else call
        report_capacity(context, sent)
        return attempt(context, request, sent)

    jitter, wanted = context.store.jitter, call.request["RequestItems"]
    responses = yield from repeat_batch(jitter, call.operation, wanted, make_call)
    return [
        (table, item)
        for response in responses
        for table, items in response.get("Responses", {}).items()
        for item in items
    ]
