"""The Query operation, and its fast path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from keyfold.api import OPERATIONS
from keyfold.engine.context import EngineContext
from keyfold.engine.items.consumed_capacity import LEVELS, CapacityMeter
from keyfold.engine.items.expression_checks import check_paths, check_read_filter
from keyfold.engine.items.key_conditions import resolve_key_condition
from keyfold.engine.items.query_plans import find_plan
from keyfold.engine.items.reads import PAGE_BYTES, PageQuery, cursor_key, read_page
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.selection import (
    find_index,
    normalise_start_key,
    read_start_key,
    resolve_selection,
)
from keyfold.engine.items.spans import condition_span, partition_of, resume_span
from keyfold.engine.items.work import INLINE_BYTES
from keyfold.engine.storage import Span
from keyfold.engine.tables.table import EngineIndex, EngineTable
from keyfold.errors import ValidationException
from keyfold.expressions.comparison import show_value
from keyfold.expressions.parameters import FLAG_TYPES, check_select, read_query
from keyfold.values import Item

LARGEST_LIMIT = 1 << 31
# The levels of ReturnConsumedCapacity that need no counting.
_UNCOUNTED = (None, "NONE")
# A request with only these parameters may take the fast path.
_FAST_PARAMETERS = frozenset(
    {
        "TableName",
        "IndexName",
        "KeyConditionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "FilterExpression",
        "ProjectionExpression",
        "Select",
        "Limit",
        "ScanIndexForward",
        "ConsistentRead",
        "ExclusiveStartKey",
        "ReturnConsumedCapacity",
    }
)


def try_fast_query(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any] | None:
    """Return the response to a query that has a plan; None for other requests."""
    table = context.catalog.known(request.get("TableName"))
    values: Any = request.get("ExpressionAttributeValues")
    limit: Any = request.get("Limit")
    forward, consistent = request.get("ScanIndexForward"), request.get("ConsistentRead")
    level: Any = request.get("ReturnConsumedCapacity")
    if (
        table is None
        or values.__class__ is not dict
        or not _FAST_PARAMETERS.issuperset(request)
        or forward.__class__ not in FLAG_TYPES
        or consistent.__class__ not in FLAG_TYPES
        or level not in LEVELS
        or (limit is not None and (limit.__class__ is not int or not 0 < limit < LARGEST_LIMIT))
    ):
        return None
    plan = find_plan(table, request)
    if plan is None or plan.value_count != len(values):
        return None
    index, holds = plan.through, None
    bounds = plan.span(values)
    if bounds is None or (consistent and index is not None and index.is_global):
        return None
    if plan.filter is not None:
        holds = plan.filter.bind(values)
        if holds is None:
            return None
    span = Span(*bounds, forward is False, None if index is None else index.column)
    if "ExclusiveStartKey" in request:
        try:
            span = _resumed(table, index, span, normalise_start_key(request))
        except ValidationException:
            return None
    finds_one = index is None and not table.key.sort
    if level in _UNCOUNTED and plan.is_whole and plan.selection.wants_items:
        count = -1 if limit is None else limit
        most = INLINE_BYTES if rendering.is_inline else PAGE_BYTES
        found = context.storage.read_values(table.rows, span, limit=count, max_bytes=most)
        if found is not None:
            last = found[-1] if len(found) == limit and not finds_one else None
            return _respond(table, index, found, last, holds, rendering)
    wants_items, _, project, fetches, _ = plan.selection
    page = PageQuery(
        table, index, span, limit, bool(consistent), wants_items, holds, project, fetches, finds_one
    )
    if plan.filter is not None:
        page = page._replace(weight=plan.filter.weight)
    return read_page(context.storage, page, CapacityMeter(level), rendering)


def _respond(
    table: EngineTable,
    index: EngineIndex | None,
    values: list[bytes],
    last: bytes | None,
    holds: Callable[[Item], bool] | None,
    rendering: Rendering,
) -> dict[str, Any]:
    scanned = len(values)
    if holds is not None:
        values = [value for value in values if holds(orjson.loads(value))]
    response = {
        "Items": rendering.stored_list(values),
        "Count": len(values),
        "ScannedCount": scanned,
    }
    if last is not None:
        response["LastEvaluatedKey"] = cursor_key(table, index, last, rendering)
    return response


def query(context: EngineContext, request: dict[str, Any], rendering: Rendering) -> dict[str, Any]:
    """Return a page of the items of one partition, in order of their sort keys."""
    try:
        check_select(request)
        key_condition, parameters = read_query(request)
        start = normalise_start_key(request)
    except ValidationException as error:
        error.set_validation(OPERATIONS["Query"].validation)
        raise
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    table = context.catalog.find(request["TableName"])
    index = find_index(table, request)
    schema = table.key if index is None else index.key
    index_name = None if index is None else index.name
    condition = resolve_key_condition(key_condition, schema.partition, schema.sort, index_name)
    check_read_filter(parameters, schema)
    check_paths(table, parameters.filter, parameters.projection)
    selection = resolve_selection(request, index, parameters.projection, parameters.filter)
    low, high = condition_span(condition, schema)
    reverse = request.get("ScanIndexForward") is False
    column = None if index is None else index.column
    span = _resumed(table, index, Span(low, high, reverse, column), start)
    page = selection.to_page(request, table, index, span)
    if index is None and not table.key.sort:
        page = page._replace(finds_one=True)
    if table.monitor is not None:
        names = [attribute.name for attribute in schema.partition]
        page = page._replace(partition=dict(zip(names, condition.partition, strict=True)))
    return read_page(context.storage, page, meter, rendering)


def _resumed(table: EngineTable, index: EngineIndex | None, span: Span, start: Item | None) -> Span:
    """Return the part of a span after the start key, if there is one; raises ValidationException."""
    if start is None:
        return span
    if index is None and not table.key.sort and len(start) == 1:
        # The partition has a single item, so there is no item after the start key.
        ((name, value),) = start.items()
        raise ValidationException(
            "The provided exclusive start key is invalid: "
            f"ExclusiveStartKey: {{{name}={show_value(value)}}}"
        )
    place = read_start_key("Query", table, index, start)
    position = place.row_key if place.entry is None else place.entry
    if not span.low <= position < span.high:
        if not position.startswith(partition_of(span.low)):
            raise ValidationException(
                "The provided starting key is outside query boundaries based on provided conditions"
            )
        raise ValidationException(
            "The provided starting key does not match the range key predicate"
        )
    return resume_span(
        span.low,
        span.high,
        reverse=span.reverse,
        column=span.column,
        entry=place.entry,
        row_key=place.row_key,
    )
