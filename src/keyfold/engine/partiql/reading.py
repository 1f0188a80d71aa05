"""SELECT statements: read pages of items, or plan the read of a single item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from keyfold.engine.context import EngineContext
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.keys import END
from keyfold.engine.items.reads import PageQuery, cursor_key, read_spans
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.selection import (
    INDEX_UNKNOWN,
    VECTOR_SCAN,
    check_filled,
    read_start_key,
    resolve_selection,
)
from keyfold.engine.items.spans import resume_span
from keyfold.engine.partiql.access import find_one_key, find_ranges, names_partition
from keyfold.engine.partiql.sources import find_table
from keyfold.engine.partiql.tokens import INVALID_TOKEN, ReadPosition, read_token, write_token
from keyfold.engine.partiql.translation import as_validation_error, bind_where, path_of
from keyfold.engine.storage import Span
from keyfold.engine.tables.table import EngineIndex, EngineTable
from keyfold.errors import ValidationException
from keyfold.expressions.conditions import BoundCondition, path_reader
from keyfold.expressions.partiql.statements import Prepared
from keyfold.expressions.partiql.trees import (
    Constant,
    Expression,
    Number,
    Ordering,
    Reference,
    SelectStatement,
    Text,
    Unsupported,
    service_name,
)
from keyfold.expressions.paths import Projection, merge_paths
from keyfold.expressions.placeholders import NO_PLACEHOLDERS
from keyfold.expressions.trees import Condition, Steps
from keyfold.values import Item
from keyfold.values.wording import INVALID

# The service reads at most this many key ranges per page.
MAX_PAGE_RANGES = 10

_SEVERAL_ATTRIBUTES = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys "
    "or multi-attribute RANGE keys."
)


class _Columns(NamedTuple):
    """The attributes that a SELECT returns of each item, named by the last step of their paths."""

    projection: Projection
    project: Callable[[Item], Item]


class _SelectTarget(NamedTuple):
    """The table or index that a SELECT reads, its condition and its columns."""

    table: EngineTable
    through: EngineIndex | None
    where: Condition | None
    condition: BoundCondition | None
    columns: _Columns | None


def read_page_of(
    context: EngineContext,
    prepared: Prepared,
    select: SelectStatement,
    request: dict[str, Any],
    rendering: Rendering,
) -> dict[str, Any]:
    """Return the response to a SELECT: a page of items, and the token of the next page."""
    is_consistent = bool(request.get("ConsistentRead"))
    table, index = _find_source(context, prepared, select, is_consistent=is_consistent)
    target = _find_target(prepared, select, table, index)
    spans = _find_spans(target, select)
    projection = None if target.columns is None else target.columns.projection
    is_keyed = index is not None and names_partition(index.key, target.where)
    selection = resolve_selection({}, index, projection, target.condition, is_keyed=is_keyed)
    page = PageQuery(
        table=table,
        through=index,
        span=Span(b"", b""),
        limit=request.get("Limit"),
        is_consistent=is_consistent,
        wants_items=True,
        holds=selection.holds,
        project=None if target.columns is None else target.columns.project,
        fetches=selection.fetches,
        finds_one=index is None and not table.key.sort and spans.finds_one,
        partition=None if table.monitor is None else _named_item(target),
        weight=selection.weight,
    )
    first, ranges = 0, list(spans.ranges)
    token = request.get("NextToken")
    if token is not None:
        position = read_token(table, prepared.text, prepared.parameters, token)
        first = position.place
        if first >= len(ranges):
            # The index has been replaced by another one since the token was made.
            raise ValidationException(INVALID_TOKEN)
        if position.after is not None:
            ranges[first] = _resume(target, ranges[first], position.after)
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    after_these = first + MAX_PAGE_RANGES
    read = read_spans(context.storage, page, ranges[:after_these], first, meter, rendering)
    if read.place is None and after_these < len(ranges):
        read = read._replace(place=after_these)
    response: dict[str, Any] = {"Items": read.items}
    if read.place is not None:
        after: Item | None = None
        if read.last is not None:
            last: Item = orjson.loads(read.last)
            names = table.key.names if index is None else index.cursor_names
            after = {name: last[name] for name in names}
            response["LastEvaluatedKey"] = cursor_key(table, index, read.last, rendering)
        position = ReadPosition(read.place, after)
        response["NextToken"] = write_token(table, prepared.text, prepared.parameters, position)
    meter.report(response)
    return response


def _named_item(target: _SelectTarget) -> Item | None:
    """Return the key of the single item that a SELECT on a table names, if it names one."""
    found = find_one_key(target.table, target.where) if target.through is None else None
    return None if found is None else found.key


class SingleRead(NamedTuple):
    """The single item that a SELECT in a batch or transaction reads."""

    table: EngineTable
    key: Item
    row_key: bytes
    project: Callable[[Item], Item] | None

    def render(self, value: bytes, rendering: Rendering) -> Any:
        """Render the columns of the statement from the item's stored bytes."""
        if self.project is None:
            return rendering.stored(value)
        return rendering.item(self.project(orjson.loads(value)))


def plan_single_read(
    context: EngineContext, prepared: Prepared, select: SelectStatement
) -> SingleRead | None:
    """Return the read of a SELECT whose only condition is a whole key; None for any other.

    Raises ValidationException, ResourceNotFoundException.
    """
    table, index = _find_source(context, prepared, select, is_consistent=False)
    if index is not None:
        return None
    target = _find_target(prepared, select, table, None)
    found = find_one_key(table, target.where)
    if found is None or not found.has_only_key:
        return None
    project = None if target.columns is None else target.columns.project
    return SingleRead(target.table, found.key, target.table.encode_key(found.key), project)


class ExistsCheck(NamedTuple):
    """The condition that an EXISTS checks on a single item."""

    table: EngineTable
    key: Item
    row_key: bytes
    holds: Callable[[Item], bool]


def plan_check(
    context: EngineContext, prepared: Prepared, select: SelectStatement
) -> ExistsCheck | None:
    """Return the check of an EXISTS; None unless it has a whole key and another condition."""
    table, index = _find_source(context, prepared, select, is_consistent=False)
    if index is not None:
        return None
    target = _find_target(prepared, select, table, None)
    found = find_one_key(table, target.where)
    if found is None or found.has_only_key or target.condition is None:
        return None
    row_key = target.table.encode_key(found.key)
    return ExistsCheck(target.table, found.key, row_key, target.condition.holds)


def _find_source(
    context: EngineContext, prepared: Prepared, select: SelectStatement, *, is_consistent: bool
) -> tuple[EngineTable, EngineIndex | None]:
    """Return the table and index that a SELECT reads; raises ServiceError if it cannot."""
    table = find_table(context, select.source.table, select.where, prepared.parameters)
    index = _find_index(table, select.source.index_name)
    if index is not None and index.is_global and is_consistent:
        raise ValidationException(
            "Strongly consistent read is not supported on Global Secondary Indexes"
        )
    if index is not None and (len(index.key.partition) > 1 or len(index.key.sort) > 1):
        raise ValidationException(_SEVERAL_ATTRIBUTES)
    return table, index


def _find_index(table: EngineTable, name: str | None) -> EngineIndex | None:
    """Return the index that a SELECT names, or None. Its errors have texts of their own."""
    if name is None:
        return None
    index = table.indexes.get(name)
    if index is None:
        raise ValidationException(VECTOR_SCAN if name in table.vectors else INDEX_UNKNOWN)
    check_filled(index)
    return index


def _find_target(
    prepared: Prepared, select: SelectStatement, table: EngineTable, index: EngineIndex | None
) -> _SelectTarget:
    prepared.check_supported()
    columns = None if select.columns is None else _read_columns(select.columns)
    where, condition = bind_where(select.where, prepared.parameters)
    projection = None if columns is None else columns.projection
    check_paths(table, condition, projection)
    if index is not None and index.is_global and projection is not None:
        # The service lists missing attributes in the order of the statement.
        held = index.projected
        names = dict.fromkeys(str(path[0]) for path in projection.paths)
        missing = [] if held is None else [name for name in names if name not in held]
        if missing:
            raise ValidationException(
                f"{INVALID}Global secondary index {index.name} does not project "
                f"[{', '.join(missing)}]"
            )
    return _SelectTarget(table, index, where, condition, columns)


def _read_columns(columns: tuple[Expression, ...]) -> _Columns:
    paths: dict[str, Steps] = {}
    for column in columns:
        if isinstance(column, Unsupported):
            raise ValidationException(column.message)
        if not isinstance(column, Reference):
            raise ValidationException(f"Unexpected path component at {column.at}")
        name = _last_name(column.steps)
        if name in paths:
            raise ValidationException(f"Duplicate identifiers in select clause: {name}")
        with as_validation_error():
            paths[name] = NO_PLACEHOLDERS.resolve(path_of(column))
    with as_validation_error():
        merge_paths(paths.values())
    projection = Projection.of(tuple(paths.values()))
    if all(len(path) == 1 for path in paths.values()):
        return _Columns(projection, projection.apply)
    readers = [(name, path_reader(steps)) for name, steps in paths.items()]

    def project(item: Item) -> Item:
        found = ((name, read(item)) for name, read in readers)
        return {name: value for name, value in found if value is not None}

    return _Columns(projection, project)


def _last_name(steps: Steps) -> str:
    """Return the name of a column in the response: the last name of its path, and its indexes.

    >>> _last_name(("a", "b", 0, 2))
    'b[0][2]'
    """
    name = ""
    for step in steps:
        name = step if isinstance(step, str) else f"{name}[{step}]"
    return name


class _Spans(NamedTuple):
    ranges: tuple[Span, ...]
    finds_one: bool


def _find_spans(target: _SelectTarget, select: SelectStatement) -> _Spans:
    index = target.through
    schema = target.table.key if index is None else index.key
    column = None if index is None else index.column
    directions = _read_order(select, schema.names)
    partition = schema.partition[0].name
    sort = schema.sort[0].name if schema.sort else None
    reverse = directions.get(sort, False)
    ranges = find_ranges(
        schema,
        None if index is None else index.name,
        target.where,
        reverses_partitions=directions.get(partition, False),
        reverses_sort=reverse,
    )
    if ranges is None:
        if select.order:
            raise ValidationException(
                "Must have at least one non-optional hash key condition in WHERE clause "
                "when using ORDER BY clause."
            )
        return _Spans((Span(b"", END, column=column),), finds_one=False)
    if select.order and ranges.partitions > 1 and partition not in directions:
        raise ValidationException(
            "Must have hash key in ORDER BY clause when more than one hash key condition "
            "specified in WHERE clause."
        )
    spans = tuple(Span(low, high, reverse, column) for low, high in ranges.spans)
    return _Spans(spans, finds_one=True)


def _read_order(select: SelectStatement, names: tuple[str, ...]) -> dict[str | None, bool]:
    """Return the key attributes that ORDER BY names; the value is True for descending order."""
    directions: dict[str | None, bool] = {}
    if select.order and select.where is None:
        raise ValidationException(
            "Must have WHERE clause in the statement when using ORDER BY clause."
        )
    for ordering in select.order:
        name = _ordered_name(ordering)
        if name not in names:
            raise ValidationException(
                f"Variable reference {name} in ORDER BY clause must be part of the primary key"
            )
        directions.setdefault(name, ordering.is_descending)
    return directions


def _ordered_name(ordering: Ordering) -> str:
    match ordering.key:
        case Reference((str(name),)):
            return name
        case Reference():
            kind = "PATH"
        case Text(value) | Number(value) | Constant(value):
            kind = value
        case key:
            kind = service_name(key)
    raise ValidationException(
        f"Argument to ORDER BY must be of type VariableReference. Type: {kind}"
    )


def _resume(target: _SelectTarget, span: Span, after: Item) -> Span:
    place = read_start_key("Query", target.table, target.through, after)
    return resume_span(
        span.low,
        span.high,
        reverse=span.reverse,
        column=span.column,
        entry=place.entry,
        row_key=place.row_key,
    )
