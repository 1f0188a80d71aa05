"""The Query operation, and its fast path."""

from __future__ import annotations

from typing import Any

import orjson

from keyfold.engine.capacity import OFF, CapacityMeter
from keyfold.engine.context import EngineContext
from keyfold.engine.items.fast_queries import try_fast_plan
from keyfold.engine.items.key_conditions import resolve_key_condition
from keyfold.engine.items.keys import KeySchema
from keyfold.engine.items.parameters import check_paths, check_read_filter, read_query
from keyfold.engine.items.reads import PAGE_BYTES, PageQuery, cursor_key, read_page
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.selection import (
    check_select,
    find_index,
    normalise_start_key,
    read_start_key,
    resolve_selection,
)
from keyfold.engine.items.spans import condition_span, partition_of, resume_span
from keyfold.engine.storage import Span
from keyfold.engine.tables.table import EngineIndex, EngineTable
from keyfold.errors import ValidationException
from keyfold.expressions.comparison import show_value
from keyfold.expressions.fast_conditions import FastCondition, read_fast_condition
from keyfold.values import Item

LARGEST_LIMIT = 1 << 31
_FLAG_TYPES = (bool, type(None))
# A request with only these parameters may take the fast path.
_FAST_PARAMETERS = frozenset(
    {
        "TableName",
        "IndexName",
        "KeyConditionExpression",
        "ExpressionAttributeValues",
        "FilterExpression",
        "Limit",
        "ScanIndexForward",
        "ConsistentRead",
    }
)


def try_fast_query(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any] | None:
    """Return the response to a query with simple conditions; None for other requests."""
    table = context.catalog.known(request.get("TableName"))
    text: Any = request.get("KeyConditionExpression")
    values: Any = request.get("ExpressionAttributeValues")
    limit: Any = request.get("Limit")
    forward, consistent = request.get("ScanIndexForward"), request.get("ConsistentRead")
    if (
        table is None
        or text.__class__ is not str
        or values.__class__ is not dict
        or not _FAST_PARAMETERS.issuperset(request)
        or forward.__class__ not in _FLAG_TYPES
        or consistent.__class__ not in _FLAG_TYPES
        or (limit is not None and (limit.__class__ is not int or not 0 < limit < LARGEST_LIMIT))
    ):
        return None
    index = None
    if "IndexName" in request:
        index = _try_fast_find(table, request["IndexName"])
        if index is None or (index.is_global and consistent):
            return None
    schema = table.key if index is None else index.key
    plan = try_fast_plan(schema, text)
    span = None if plan is None else plan.span(values)
    if plan is None or span is None:
        return None
    used, holds = plan.placeholders, None
    if "FilterExpression" in request:
        condition = _try_fast_filter(request["FilterExpression"], schema, index)
        holds = None if condition is None else condition.bind(values)
        if condition is None or holds is None:
            return None
        used = used | condition.placeholders
    if len(used) != len(values):
        return None
    where = Span(*span, forward is False, None if index is None else index.column)
    values = None
    if index is None or index.projected is None:
        count = -1 if limit is None else limit
        values = context.storage.read_values(table.rows, where, limit=count, max_bytes=PAGE_BYTES)
    finds_one = index is None and not table.key.sort
    if values is None:
        page = PageQuery(
            table,
            index,
            where,
            limit,
            is_consistent=False,
            wants_items=True,
            holds=holds,
            finds_one=finds_one,
        )
        return read_page(context.storage, page, OFF, rendering)
    scanned = len(values)
    last = values[-1] if scanned == limit and not finds_one else None
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


def _try_fast_find(table: EngineTable, name: Any) -> EngineIndex | None:
    index = table.indexes.get(name) if name.__class__ is str else None
    return index if index is not None and index.status == "ACTIVE" else None


def _try_fast_filter(
    text: Any, schema: KeySchema, index: EngineIndex | None
) -> FastCondition | None:
    condition = read_fast_condition(text) if text.__class__ is str else None
    if condition is None or not condition.attributes.isdisjoint(schema.names):
        return None
    return None if index is not None and index.projected is not None else condition


def query(context: EngineContext, request: dict[str, Any], rendering: Rendering) -> dict[str, Any]:
    """Return a page of the items of one partition, in order of their sort keys."""
    check_select(request)
    key_condition, parameters = read_query(request)
    start = normalise_start_key(request)
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
    span = Span(low, high, reverse, column)
    if start is not None:
        span = _resumed(table, index, span, start)
    page = selection.to_page(request, table, index, span)
    if index is None and not table.key.sort:
        page = page._replace(finds_one=True)
    if table.monitor is not None:
        names = [attribute.name for attribute in schema.partition]
        page = page._replace(partition=dict(zip(names, condition.partition, strict=True)))
    return read_page(context.storage, page, meter, rendering)


def _resumed(table: EngineTable, index: EngineIndex | None, span: Span, start: Item) -> Span:
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
