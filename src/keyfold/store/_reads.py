"""Plans of requests that read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from keyfold.errors import KeyfoldError, QueryInvalid
from keyfold.model._collections import CollectionGet
from keyfold.model._expressions import names_in
from keyfold.model._keys import Index
from keyfold.model._requests import Count, First, Get, Query, Scan
from keyfold.model._results import Page, RawItem
from keyfold.model._tables import Table
from keyfold.store._decoding import SKIPPED, Decoder
from keyfold.store._plans import ApiCall, Plan, Response, RunContext, attempt, try_again
from keyfold.values import Item

F = TypeVar("F")

# Bounds on how many items are asked for at a time, where some are left out after reading.
_LEAST_ASKED = 8
_MOST_ASKED = 1_000
# A few more than are needed are cheaper than another call.
_MARGIN = 1.25
# What cursors are tied to must not change with the moment.
_NEVER = datetime.fromtimestamp(0, UTC)


def plan_get(run: RunContext, request: Get[Any]) -> Plan[Any]:
    """Read one item."""
    asked = request.to_dynamodb(now=run.now)
    if run.store.reports_capacity:
        asked["ReturnConsumedCapacity"] = "TOTAL"
    call = ApiCall("GetItem", asked)
    try:
        response = yield call
    except KeyfoldError as error:
        response = yield from try_again(run, request, call, error)
    item = response.get("Item")
    if item is None:
        return None
    found = Decoder(run, request).decode(item, request.known)
    return None if found is SKIPPED else found


@dataclass(slots=True)
class _Found:
    """What was read for a page; `position` is where to go on, None at the end."""

    values: list[Any] = field(default_factory=list[Any])
    position: Item | None = None
    consumed: float = 0.0
    scanned: int = 0
    reads: int = 0


def plan_page(run: RunContext, request: Query[Any] | Scan[Any]) -> Plan[Page[Any]]:
    """Read until a page is full, past whatever is expired, filtered out, or of another kind."""
    check_readable(request)
    start = None
    if request.cursor is not None:
        start = run.store.open(request.cursor, binding_of(request))
    found = yield from _read(run, request, start)
    cursor = None
    if found.position is not None:
        cursor = run.store.seal(found.position, binding_of(request))
    return Page(
        found.values,
        cursor=cursor,
        consumed=found.consumed,
        scanned=found.scanned,
        reads=found.reads,
    )


def _read(run: RunContext, request: Query[Any] | Scan[Any], start: Item | None) -> Plan[_Found]:
    asked = request.to_dynamodb(now=run.now)
    asked["ReturnConsumedCapacity"] = "TOTAL"
    decoder = Decoder(run, request)
    ask = limit = request.page_limit
    found = _Found()
    while True:
        if start is not None:
            asked["ExclusiveStartKey"] = start
        if ask is not None:
            asked["Limit"] = ask
        response = yield from attempt(run, request, request.operation, asked)
        found.reads += 1
        found.consumed += _consumed(response)
        found.scanned += response["ScannedCount"]
        items, last = response["Items"], response.get("LastEvaluatedKey")
        before = len(found.values)
        for place, item in enumerate(items):
            value = decoder.decode(item)
            if value is SKIPPED:
                continue
            found.values.append(value)
            if limit is not None and len(found.values) == limit:
                is_last = place == len(items) - 1
                found.position = last if is_last else _position_of(request, item)
                return found
        found.position = start = last
        is_spent = request.most_reads is not None and found.reads >= request.most_reads
        if last is None or is_spent or (limit is None and found.values):
            return found
        if limit is not None:
            missing, matched = limit - len(found.values), len(found.values) - before
            read = response["ScannedCount"]
            ask = suggest_limit(missing, matched=matched, read=read, asked=ask or limit)


def suggest_limit(missing: int, *, matched: int, read: int, asked: int) -> int:
    """Return how many items to ask for next, by how many of the last were wanted.

    >>> suggest_limit(10, matched=5, read=50, asked=50)
    125
    """
    wanted = math.ceil(missing * read / matched * _MARGIN) if matched else asked * 2
    return max(missing, _LEAST_ASKED, min(wanted, _MOST_ASKED))


def plan_first(run: RunContext, request: First[Any]) -> Plan[Any]:
    """Read until one is found."""
    query = request.query
    check_readable(query)
    start = None if query.cursor is None else run.store.open(query.cursor, binding_of(query))
    found = yield from _read(run, query, start)
    return found.values[0] if found.values else None


def plan_lookup(
    run: RunContext, request: Get[Any], follow: Callable[[Any], F | None]
) -> Plan[F | None]:
    """Read one item, and return what is made of it; None too for one that cannot be read."""
    response = yield from attempt(run, request, "GetItem", _ask(run, request))
    item = response.get("Item")
    if item is None:
        return None
    found = Decoder(run, request, on_invalid="raw").decode(item, request.known)
    return None if found is SKIPPED or isinstance(found, RawItem) else follow(found)


def plan_search(
    run: RunContext, query: Query[Any] | Scan[Any], follow: Callable[[Any], F | None]
) -> Plan[F | None]:
    """Read until something can be made of an item; what cannot be read is passed over.

    It reads on however much there is: to stop early would tell that something lies before.
    """
    check_readable(query)
    decoder = Decoder(run, query, on_invalid="raw")
    asked = _ask(run, replace(query, page_limit=_LEAST_ASKED))
    if query.cursor is not None:
        asked["ExclusiveStartKey"] = run.store.open(query.cursor, binding_of(query))
    while True:
        response = yield from attempt(run, query, query.operation, asked)
        for item in response["Items"]:
            found = decoder.decode(item)
            if found is SKIPPED or isinstance(found, RawItem):
                continue
            following = follow(found)
            if following is not None:
                return following
        if "LastEvaluatedKey" not in response:
            return None
        asked["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def _ask(run: RunContext, request: Get[Any] | Query[Any] | Scan[Any]) -> dict[str, Any]:
    asked = request.to_dynamodb(now=run.now)
    if run.store.reports_capacity:
        asked["ReturnConsumedCapacity"] = "TOTAL"
    return asked


def plan_count(run: RunContext, request: Count) -> Plan[int]:
    """Count what a query finds; what is expired or of another kind does not count."""
    # Keys tell what an item is, so that any index will do.
    query = replace(
        request.query,
        shape=replace(request.query.shape, only=None, as_refs=True),
        page_limit=None,
        most_reads=None,
    )
    index = query.index
    check_readable(query)
    if index is not None and _hides_expiry(query, index):
        fact = f"{index.name} does not hold {query.table.ttl!r}, so what expired would count"
        raise QueryInvalid(repr(request), fact, "Count in the table, or include_expired().")
    start = None if query.cursor is None else run.store.open(query.cursor, binding_of(query))
    total = 0
    while True:
        found = yield from _read(run, query, start)
        total += len(found.values)
        if found.position is None:
            return total
        start = found.position


def plan_collection(run: RunContext, request: CollectionGet[Any]) -> Plan[Any]:
    """Read entities of several types, and group them."""
    groups: dict[str, list[Any]] = {member.name: [] for member in request.members}
    query = request.query
    decoders = {
        member.name: Decoder(run, replace(query, shape=replace(query.shape, schema=member.schema)))
        for member in request.members
    }
    asked = _ask(run, query)
    while True:
        response = yield from attempt(run, request, "Query", asked)
        for item in response["Items"]:
            for name, decoder in decoders.items():
                value = decoder.decode(item)
                if value is not SKIPPED:
                    if _matches(value, request.parts):
                        groups[name].append(value)
                    break
        if "LastEvaluatedKey" not in response:
            break
        asked["ExclusiveStartKey"] = response["LastEvaluatedKey"]
    values: dict[str, Any] = {}
    for member in request.members:
        group = groups[member.name]
        if member.is_list:
            values[member.name] = group
        elif group:
            values[member.name] = group[0]
        elif member.is_required:
            return None
        else:
            values[member.name] = None
    return request.collection.model_construct(**values)


def _matches(value: Any, parts: dict[str, Any]) -> bool:
    return all(getattr(value, name, given) == given for name, given in parts.items())


def check_readable(request: Query[Any] | Scan[Any]) -> None:
    """Raise for a query whose index does not hold what it wants."""
    index, shape = request.index, request.shape
    if index is None or index.project == "all":
        return
    if request.filter is not None:
        lacking = index.find_lacking(request.table, sorted(names_in(request.filter)))
        if lacking:
            fact = f"{index.name} does not hold {', '.join(lacking)}, which where() looks at"
            raise QueryInvalid(repr(request), fact, "Query the table, or look at other fields.")
    if shape.as_refs:
        return
    if shape.only is None or shape.schema is None:
        fact = f"{index.name} holds only some attributes of its items"
        raise QueryInvalid(repr(request), fact, "Ask for refs(), or only() some of the fields.")
    wanted = shape.projection(request.table, None) or ()
    lacking = index.find_lacking(request.table, wanted)
    lacking = [name for name in lacking if name != request.table.ttl]
    if lacking:
        fact = f"{index.name} does not hold {', '.join(lacking)}"
        raise QueryInvalid(repr(request), fact, "Ask for other fields, or for refs().")
    if _hides_expiry(request, index):
        fact = f"{index.name} does not hold {request.table.ttl!r}, so what expired would be found"
        raise QueryInvalid(repr(request), fact, "Ask for refs(), or include_expired().")


def _hides_expiry(request: Query[Any] | Scan[Any], index: Index) -> bool:
    """Tell whether items may be expired without their index showing it."""
    table, schema = _table_of(request), request.shape.schema
    if table.ttl is None or request.includes_expired:
        return False
    if not index.find_lacking(table, [table.ttl]):
        return False
    schemas = table.entities.values() if schema is None else [schema]
    return any(each.ttl_field is not None or each.codec.has_extra for each in schemas)


def binding_of(request: Query[Any] | Scan[Any]) -> str:
    """Return what a cursor is tied to: the query that made it, whatever its pages hold."""
    shape = replace(request.shape, only=None, as_refs=False)
    plain = replace(request, page_limit=None, is_consistent=False, shape=shape)
    kind = "" if shape.schema is None else shape.schema.name
    return repr((request.operation, kind, plain.to_dynamodb(now=_NEVER)))


def _position_of(request: Query[Any] | Scan[Any], item: Item) -> Item:
    names = [*request.table.key.names, *(request.index.key.names if request.index else ())]
    return {name: item[name] for name in names}


def _consumed(response: Response) -> float:
    return float(response.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0))


def _table_of(request: Any) -> Table:
    table = request.table
    assert isinstance(table, Table)  # the one that made the request
    return table
