"""Plans of reads: get, query, scan, count and lookups."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from keyfold.errors import ItemInvalid, KeyfoldError
from keyfold.model._calls import ApiCall, Calls
from keyfold.model._formatting import show_item
from keyfold.model._index_reads import check_countable, check_readable
from keyfold.model._paged_reads import Count, First, Query, Scan
from keyfold.model._reads import Get
from keyfold.model._results import Page, RawItem
from keyfold.store._decoding import SKIPPED, Decoder
from keyfold.store._plans import Plan, Response, RunContext, attempt, report_capacity, retry
from keyfold.store._read_ratios import MAX_LIMIT
from keyfold.values import Item

F = TypeVar("F")

# The least Limit of a further call, where some of the items read are skipped.
_MIN_LIMIT = 8
# Reading a few items too many is cheaper than another call.
_MARGIN = 1.25
# The binding of a cursor must not depend on the time of the call.
_NEVER = datetime.fromtimestamp(0, UTC)


def plan_get(context: RunContext, request: Get[Any], calls: Calls) -> Plan[Any]:
    """Read one item; return None if it does not exist, has expired or is of another entity."""
    (call,) = calls
    if context.store.reports_capacity:
        call.request["ReturnConsumedCapacity"] = "TOTAL"
    try:
        response = yield call
    except KeyfoldError as error:
        response = yield from retry(context, request, call, error)
    item = response.get("Item")
    if item is None:
        return None
    found = Decoder(context, request, on_invalid="raise").decode(item, request.known)
    return None if found is SKIPPED else found


@dataclass(slots=True)
class PageRead:
    """What was read for a page; `position` is the key to continue after, None at the end."""

    invalid: list[RawItem]
    values: list[Any] = field(default_factory=list[Any])
    position: Item | None = None
    consumed: float = 0.0
    scanned: int = 0
    reads: int = 0


def plan_page(
    context: RunContext, request: Query[Any] | Scan[Any], calls: Calls
) -> Plan[Page[Any]]:
    """Read until a page is full, skipping expired and filtered items and those of other entities."""
    check_readable(request)
    found = yield from read_page(context, request, calls[0], start_of(context, request))
    return make_page(context, request, found, calls[0])


def make_page(
    context: RunContext,
    request: Query[Any] | Scan[Any],
    found: PageRead,
    call: ApiCall | None = None,
) -> Page[Any]:
    """Return what was read by a call as a page, with a cursor if there is more."""
    cursor = None
    if found.position is not None:
        cursor = context.store.seal(found.position, binding_of(request, call))
    return Page(
        found.values,
        invalid=found.invalid,
        cursor=cursor,
        consumed=found.consumed,
        scanned=found.scanned,
        reads=found.reads,
    )


def start_of(context: RunContext, request: Query[Any] | Scan[Any]) -> Item | None:
    """Return the position of a request's cursor; raises CursorInvalid."""
    if request.cursor is None:
        return None
    return context.store.open(request.cursor, binding_of(request))


def read_page(
    context: RunContext, request: Query[Any] | Scan[Any], call: ApiCall, start: Item | None
) -> Plan[PageRead]:
    """Read from a position until a page is full, or to the end."""
    payload = call.request
    payload["ReturnConsumedCapacity"] = "TOTAL"
    decoder = Decoder(context, request, on_invalid=context.store.on_invalid)
    decode = _decoding(context, request, decoder)
    limit = request.page_limit
    kind, ratios = _kind_of_page(request), context.store.read_ratios
    call_limit = limit if kind is None or limit is None else ratios.suggest_limit(kind, limit)
    found = PageRead(decoder.invalid)
    # A read of the whole table knows no other entities.
    has_others, report_unknown = request.shape.schema is not None, decoder.report_unknown
    # Tells items of another entity by their sort key, before anything of them is decoded.
    sort_name, is_other = _find_sort_name(request), None
    while True:
        if start is not None:
            payload["ExclusiveStartKey"] = start
        if call_limit is not None:
            payload["Limit"] = call_limit
        response = yield from attempt(context, request, call)
        call = ApiCall(call.operation, payload)
        found.reads += 1
        found.consumed += _consumed(response)
        found.scanned += response["ScannedCount"]
        items, last = response["Items"], response.get("LastEvaluatedKey")
        values = found.values
        before = len(values)
        for place, item in enumerate(items):
            if is_other is not None and is_other(item[sort_name]["S"]):
                continue
            value = decode(item)
            if value is SKIPPED:
                if has_others:
                    report_unknown(item)
                    is_other = decoder.is_other if sort_name else None
                continue
            values.append(value)
            if len(values) == limit:
                left = len(items) - place - 1
                found.position = position_of(request, item) if left else last
                if kind is not None:
                    ratios.note(kind, read=found.scanned - left, returned=len(values))
                return found
        found.position = start = last
        is_spent = request.read_limit is not None and found.reads >= request.read_limit
        if last is None or is_spent or (limit is None and (found.values or found.invalid)):
            if kind is not None and values:
                ratios.note(kind, read=found.scanned, returned=len(values))
            return found
        if limit is not None:
            missing, matched = limit - len(found.values), len(found.values) - before
            read = response["ScannedCount"]
            call_limit = suggest_limit(
                missing, matched=matched, read=read, requested=call_limit or limit
            )


def _kind_of_page(request: Query[Any] | Scan[Any]) -> Hashable | None:
    """Return what pages have in common that read about as many items for each that they return.

    None for a page whose ratio is not remembered: it has no limit, or skips nothing but what a filter or
    a test lets through, which depends on their values.
    """
    schema, limit = request.shape.schema, request.page_limit
    if limit is None or schema is None or request.filter is not None or request.test is not None:
        return None
    if not isinstance(request, Query):
        return None
    index, keys = request.index, request.keys
    name = None if index is None else index.name
    return (request.table.name, name, schema.name, request.is_reversed, limit, *keys.known)


def _find_sort_name(request: Query[Any] | Scan[Any]) -> str:
    """Return the sort key of a query of a table, whose items share a partition key; else, nothing."""
    is_query = isinstance(request, Query) and request.index is None
    return next(iter(request.table.key.sort), "") if is_query else ""


def _decoding(
    context: RunContext, request: Query[Any] | Scan[Any], decoder: Decoder
) -> Callable[[Item], Any]:
    """Return the function that decodes the items of a request, and tests them if it has a test."""
    decode, test, now = decoder.decode, request.test, context.now
    if test is None:
        return decode

    def decode_and_test(item: Item) -> Any:
        value = decode(item)
        return value if value is SKIPPED or test(value, now) else SKIPPED

    return decode_and_test


def suggest_limit(missing: int, *, matched: int, read: int, requested: int) -> int:
    """Return the Limit of the next call, given how many of the items read last matched.

    >>> suggest_limit(10, matched=5, read=50, requested=50)
    125
    """
    wanted = math.ceil(missing * read / matched * _MARGIN) if matched else requested * 2
    return max(missing, _MIN_LIMIT, min(wanted, MAX_LIMIT))


def plan_first(context: RunContext, request: First[Any], calls: Calls) -> Plan[Any]:
    """Read until an item matches, and return it; None if none does.

    Raises ItemInvalid if an item that does not fit comes first; one of no entity does not count.
    """
    query = request.query
    check_readable(query)
    found = yield from read_page(context, query, calls[0], start_of(context, query))
    for each in _own(query, found.invalid):
        raise ItemInvalid(query.table.name, show_item(each.key), each.reason)
    return found.values[0] if found.values else None


def plan_lookup(
    context: RunContext, request: Get[Any], call: ApiCall, follow: Callable[[Any], F | None]
) -> Plan[F | None]:
    """Read one item, and return what `follow` makes of it.

    Return None if there is no item, or if it cannot be decoded.
    """
    report_capacity(context, call)
    response = yield from attempt(context, request, call)
    item = response.get("Item")
    if item is None:
        return None
    found = Decoder(context, request, on_invalid="report").decode(item, request.known)
    return None if found is SKIPPED else follow(found)


def plan_search(
    context: RunContext,
    query: Query[Any] | Scan[Any],
    call: ApiCall,
    follow: Callable[[Any], F | None],
) -> Plan[F | None]:
    """Read until `follow` accepts an item, skipping those that cannot be decoded.

    Reads to the end if it has to: stopping early would reveal that skipped items exist.
    """
    check_readable(query)
    decode = _decoding(context, query, Decoder(context, query, on_invalid="report"))
    start = start_of(context, query)
    call.request["Limit"] = _MIN_LIMIT
    if start is not None:
        call.request["ExclusiveStartKey"] = start
    report_capacity(context, call)
    while True:
        response = yield from attempt(context, query, call)
        for item in response["Items"]:
            found = decode(item)
            if found is SKIPPED:
                continue
            following = follow(found)
            if following is not None:
                return following
        if "LastEvaluatedKey" not in response:
            return None
        call.request["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def plan_count(context: RunContext, request: Count, calls: Calls) -> Plan[int]:
    """Count the items of a query, without expired ones and those of other entities.

    Those that fail the validation of the entity count: they are stored.
    """
    query = request.source
    check_countable(request)
    return (yield from count_from(context, query, calls[0], start_of(context, query)))


def count_from(
    context: RunContext, query: Query[Any] | Scan[Any], call: ApiCall, start: Item | None
) -> Plan[int]:
    """Count the items from a position to the end."""
    total = 0
    while True:
        found = yield from read_page(context, query, call, start)
        total += len(found.values) + len(_own(query, found.invalid))
        if found.position is None:
            return total
        call, start = ApiCall(call.operation, call.request), found.position


def _own(request: Query[Any] | Scan[Any], invalid: list[RawItem]) -> list[RawItem]:
    """Return the invalid items of the entity that a request is for, or all if it is for none."""
    schema = request.shape.schema
    return invalid if schema is None else [each for each in invalid if each.entity == schema.name]


def binding_of(request: Query[Any] | Scan[Any], call: ApiCall | None = None) -> str:
    """Return what a cursor is bound to: its query, apart from page size, consistency and fields.

    If the call of the request is given, it is taken from there where that is the same.
    """
    schema = request.shape.schema
    kind = "" if schema is None else schema.name
    selection = None if call is None else request.selection_in(call.request)
    if selection is None:
        selection = request.to_selection(now=_NEVER)
    return repr((request.operation, kind, selection))


def position_of(request: Query[Any] | Scan[Any], item: Item) -> Item:
    """Return the key of an item, from which a query or scan can continue."""
    names = [*request.table.key.names, *(request.index.key.names if request.index else ())]
    return {name: item[name] for name in names}


def _consumed(response: Response) -> float:
    return float(response.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0))
