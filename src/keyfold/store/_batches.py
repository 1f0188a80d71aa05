"""Plans of batches: tried again, and answered in the order asked for."""

from __future__ import annotations

from typing import Any

from keyfold.errors import Unavailable
from keyfold.model._batches import Batch, BatchCall
from keyfold.model._keys import identify
from keyfold.model._requests import Get
from keyfold.model._writes import Put
from keyfold.store._plans import MOST_ATTEMPTS, Plan, RunContext, attempt, pause
from keyfold.store._refusals import find_oversize
from keyfold.store._writing import decode_for, written
from keyfold.values import Item

_LEFT = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}


def plan_batch(run: RunContext, request: Batch[Any]) -> Plan[list[Any]]:
    """Carry out any number of gets, puts and deletions."""
    results: list[Any] = [
        written(run, each) if isinstance(each, Put) else None for each in request.requests
    ]
    calls = list(request.split(run.now))
    if len(calls) > 1:
        # One call is refused as a whole; of several, some would have been carried out.
        _check_sizes(run, request)
    for call in calls:
        for table, item in (yield from _carry_out(run, request, call)):
            names = next(each.key.names for each in request.tables if each.name == table)
            identity = identify(table, {name: item[name] for name in names})
            for place in call.places[identity]:
                get = request.requests[place]
                assert isinstance(get, Get)  # nothing else has items in its answer
                results[place] = decode_for(run, get, item)
    return results


def _check_sizes(run: RunContext, request: Batch[Any]) -> None:
    for each in request.requests:
        found = find_oversize(each, "", run.now)
        if found is not None:
            raise found


def _carry_out(
    run: RunContext, request: Batch[Any], call: BatchCall
) -> Plan[list[tuple[str, Item]]]:
    """Make a call until nothing of it is left; give up when that is no nearer for long."""
    found: list[tuple[str, Item]] = []
    wanted: dict[str, Any] = call.request["RequestItems"]
    left, idle, calls = _count(wanted), 0, 0
    while True:
        asked: dict[str, Any] = {"RequestItems": wanted}
        if run.store.reports_capacity:
            asked["ReturnConsumedCapacity"] = "TOTAL"
        response = yield from attempt(run, request, call.operation, asked, earlier=calls)
        calls += 1
        for table, items in response.get("Responses", {}).items():
            found += [(table, item) for item in items]
        wanted = response.get(_LEFT[call.operation]) or {}
        if not wanted:
            return found
        idle = idle + 1 if _count(wanted) >= left else 1
        left = _count(wanted)
        if idle == MOST_ATTEMPTS:
            raise Unavailable(call.operation, calls, f"{left} of its members are left")
        yield pause(run, idle)


def _count(wanted: dict[str, Any]) -> int:
    return sum(len(each["Keys"]) if "Keys" in each else len(each) for each in wanted.values())
