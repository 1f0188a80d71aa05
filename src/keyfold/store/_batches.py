"""The plan of batches: retries unprocessed members, returns results in the order requested."""

from __future__ import annotations

from typing import Any

from keyfold.api import OPERATIONS
from keyfold.errors import Unavailable
from keyfold.model._batches import Batch, BatchCall
from keyfold.model._keys import identify
from keyfold.model._requests import Get
from keyfold.model._writes import Put
from keyfold.store._plans import MAX_ATTEMPTS, Plan, RunContext, attempt, pause
from keyfold.store._refusals import find_oversize
from keyfold.store._writing import decode_for, written
from keyfold.values import Item


def plan_batch(context: RunContext, request: Batch[Any]) -> Plan[list[Any]]:
    """Run any number of gets, puts and deletes; return a result for each, in order."""
    results: list[Any] = [
        written(context, each) if isinstance(each, Put) else None for each in request.requests
    ]
    calls = list(request.split(context.now))
    if len(calls) > 1:
        # A single call is refused as a whole. Of several, the first would be carried out already.
        _check_sizes(context, request)
    for call in calls:
        for table, item in (yield from _carry_out(context, request, call)):
            names = next(each.key.names for each in request.tables if each.name == table)
            identity = identify(table, {name: item[name] for name in names})
            for place in call.positions[identity]:
                get = request.requests[place]
                assert isinstance(get, Get)  # only gets have items in the response
                results[place] = decode_for(context, get, item)
    return results


def _check_sizes(context: RunContext, request: Batch[Any]) -> None:
    for each in request.requests:
        found = find_oversize(each, "", context.now)
        if found is not None:
            raise found


def _carry_out(
    context: RunContext, request: Batch[Any], call: BatchCall
) -> Plan[list[tuple[str, Item]]]:
    """Repeat a call until all its members are processed, and return the items it found.

    Raises Unavailable after several calls without progress.
    """
    found: list[tuple[str, Item]] = []
    wanted: dict[str, Any] = call.request["RequestItems"]
    left, idle, calls = _count(wanted), 0, 0
    while True:
        payload: dict[str, Any] = {"RequestItems": wanted}
        if context.store.reports_capacity:
            payload["ReturnConsumedCapacity"] = "TOTAL"
        response = yield from attempt(context, request, call.operation, payload, earlier=calls)
        calls += 1
        for table, items in response.get("Responses", {}).items():
            found += [(table, item) for item in items]
        wanted = response.get(OPERATIONS[call.operation].unprocessed) or {}
        if not wanted:
            return found
        idle = idle + 1 if _count(wanted) >= left else 1
        left = _count(wanted)
        if idle == MAX_ATTEMPTS:
            raise Unavailable(call.operation, calls, f"{left} of its members are unprocessed")
        yield pause(context, idle)


def _count(wanted: dict[str, Any]) -> int:
    return sum(len(each["Keys"]) if "Keys" in each else len(each) for each in wanted.values())
