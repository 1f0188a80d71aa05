"""The fast path of Query: plans for the queries that nearly every program makes.

A plan depends on the index, the expressions, their names, and what is selected. It does not depend
on values, limit, order, start key and consumed capacity. So it is compiled once for each table, and
is then only given values. `pk = :p`, alone or with one condition on the sort key, becomes a function from
the values to a range of bytes. Other requests are left to the ordinary path, which alone raises
errors: here, None means "use the ordinary path".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.key_faults import MAX_PARTITION_BYTES, MAX_SORT_BYTES
from keyfold.engine.items.keys import KeyAttribute, KeySchema, end_of, part_encoder
from keyfold.engine.items.selection import Selection, find_index, resolve_selection
from keyfold.engine.items.spans import RANGES, next_after
from keyfold.engine.tables.table import EngineIndex, EngineTable
from keyfold.errors import ValidationException
from keyfold.expressions.fast_conditions import FastCondition, compile_fast_condition
from keyfold.expressions.key_conditions import (
    BeginsWith,
    FastKeyCondition,
    Within,
    read_fast_key_condition,
)
from keyfold.expressions.parameters import check_select
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.projections import bind_projection
from keyfold.values import encode_partition
from keyfold.values.fast_scalars import read_fast_scalar

Values = dict[str, Any]
# A table with more plans than this gets generated texts that do not recur, so its cache is cleared.
KEPT_PLANS = 1_000

_SELECTS = (None, "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "COUNT", "SPECIFIC_ATTRIBUTES")

_Range = tuple[bytes, bytes]
_PartReader = Callable[[Values], bytes | None]


class QueryPlan(NamedTuple):
    """What a query does, apart from its values."""

    through: EngineIndex | None
    span: Callable[[Values], _Range | None]
    filter: FastCondition | None
    # The number of values that the expressions use.
    value_count: int
    selection: Selection
    # Whether stored items are returned whole.
    is_whole: bool


def find_plan(table: EngineTable, request: dict[str, Any]) -> QueryPlan | None:
    """Return the plan of a query, compiling it on first use; None for the ordinary path."""
    names = request.get("ExpressionAttributeNames")
    plans = table.query_plans
    try:
        signature = (
            request["KeyConditionExpression"],
            request.get("IndexName"),
            request.get("FilterExpression"),
            request.get("ProjectionExpression"),
            request.get("Select"),
            None if names is None else tuple(names.items()),
        )
        plan = plans.get(signature)
    except (AttributeError, KeyError, TypeError):
        # Something is missing, or is neither text nor a map of text.
        return None
    if plan is None and signature not in plans:
        if len(plans) >= KEPT_PLANS:
            plans.clear()
        plan = plans[signature] = _compile(table, request, names)
    return plan


def _compile(
    table: EngineTable, request: dict[str, Any], names: dict[str, Any] | None
) -> QueryPlan | None:
    parameters = ("IndexName", "FilterExpression", "ProjectionExpression")
    texts = [request[name] for name in parameters if request.get(name) is not None]
    texts += [request["KeyConditionExpression"], *(names or {}), *(names or {}).values()]
    if any(text.__class__ is not str for text in texts) or request.get("Select") not in _SELECTS:
        return None
    try:
        return _compile_texts(table, request, Placeholders(names, None))
    except ValidationException:
        return None


def _compile_texts(
    table: EngineTable, request: dict[str, Any], placeholders: Placeholders
) -> QueryPlan | None:
    check_select(request)
    index = find_index(table, request)
    schema = table.key if index is None else index.key
    leaves = read_fast_key_condition(request["KeyConditionExpression"], placeholders)
    span = None if leaves is None else _compile_span(schema, leaves)
    if leaves is None or span is None:
        return None
    used = {value for leaf in leaves for value in leaf.values}
    condition = None
    if request.get("FilterExpression") is not None:
        condition = compile_fast_condition(request["FilterExpression"], placeholders)
        if condition is None or not _may_filter(condition, schema, index):
            return None
        used |= condition.placeholders
    projection = None
    if request.get("ProjectionExpression") is not None:
        projection = bind_projection(request["ProjectionExpression"], placeholders)
        check_paths(table, projection)
    placeholders.check_all_used()
    selection = resolve_selection(request, index, projection, None)
    is_whole = selection.project is None and (index is None or index.projected is None)
    return QueryPlan(index, span, condition, len(used), selection, is_whole)


def _may_filter(condition: FastCondition, schema: KeySchema, index: EngineIndex | None) -> bool:
    projected = None if index is None else index.projected
    return condition.attributes.isdisjoint(schema.names) and (
        projected is None or condition.attributes <= projected
    )


def _compile_span(
    schema: KeySchema, leaves: tuple[FastKeyCondition, ...]
) -> Callable[[Values], _Range | None] | None:
    if len(schema.partition) > 1 or len(schema.sort) > 1:
        return None
    by_name = {leaf.name: leaf for leaf in leaves}
    (partition_key, *sort_keys) = schema.attributes
    partition = by_name.pop(partition_key.name, None)
    sort = by_name.pop(sort_keys[0].name, None) if sort_keys else None
    if by_name or partition is None or partition.operator != "=":
        return None
    read_partition = _part_reader(partition_key, partition.values[0], MAX_PARTITION_BYTES)
    if sort is None:

        def whole_partition(values: Values) -> _Range | None:
            part = read_partition(values)
            if part is None:
                return None
            low = encode_partition(part)
            return low, end_of(low)

        return whole_partition
    narrow = _compile_sort(sort_keys[0], sort)
    if narrow is None:
        return None

    def part_of_partition(values: Values) -> _Range | None:
        part = read_partition(values)
        return None if part is None else narrow(encode_partition(part), values)

    return part_of_partition


def _compile_sort(
    attribute: KeyAttribute, leaf: FastKeyCondition
) -> Callable[[bytes, Values], _Range | None] | None:
    constraint = leaf.constraint
    if constraint is BeginsWith and attribute.type != "S":
        return None
    readers = [_part_reader(attribute, value, MAX_SORT_BYTES) for value in leaf.values]
    read_low, read_high = readers[0], readers[-1]
    past = end_of if constraint is BeginsWith else next_after
    make_range = RANGES[constraint]

    def narrow(prefix: bytes, values: Values) -> _Range | None:
        part = read_low(values)
        if part is None:
            return None
        low = prefix + part
        return make_range(prefix, low, past(low))

    def narrow_between(prefix: bytes, values: Values) -> _Range | None:
        first, last = read_low(values), read_high(values)
        # The ordinary path refuses bounds in the wrong order.
        if first is None or last is None or first > last:
            return None
        return prefix + first, past(prefix + last)

    return narrow_between if constraint is Within else narrow


def _part_reader(attribute: KeyAttribute, placeholder: str, longest: int) -> _PartReader:
    kind, encode = attribute.type, part_encoder(attribute)

    def read(values: Values) -> bytes | None:
        data = read_fast_scalar(kind, values.get(placeholder), longest)
        return encode(data) if data else None

    return read
