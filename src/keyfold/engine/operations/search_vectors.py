"""The SearchVectors operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from keyfold.engine.context import EngineContext
from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.responses import Rendering
from keyfold.engine.storage import Storage
from keyfold.engine.tables.table import EngineTable
from keyfold.engine.vectors.float32 import float32_vector
from keyfold.engine.vectors.index import (
    FLOAT_BYTES,
    LEAST_REQUEST_BYTES,
    Scored,
    VectorIndex,
    is_float32,
    rank,
    read_vector,
)
from keyfold.errors import ValidationException
from keyfold.expressions.parameters import check_expression_use, read_placeholders
from keyfold.expressions.paths import Projection
from keyfold.expressions.projections import bind_projection
from keyfold.expressions.search_conditions import bind_search_condition
from keyfold.values import AttributeValue, Item, normalise_value

MAX_RESULTS = 100
MAX_RESPONSE_BYTES = 16 * 1024 * 1024
_BATCH_BYTES = 1 << 20

_INVALID_VECTOR = (
    "Search vector contains invalid values. All values in the search vector must be "
    "a 32-bit floating-point number attribute"
)

_Condition = dict[str, AttributeValue]


def search_vectors(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Return the items whose vectors are nearest to the search vector, the nearest first.

    Items beyond 16 MB of projected attributes are omitted.
    """
    check_expression_use("SearchVectors", request)
    top_k: int = request["TopK"]
    if top_k > MAX_RESULTS:
        raise ValidationException(
            f"Provided TopK value '{top_k}' is out of valid range. "
            f"The value must be between 1 and {MAX_RESULTS} inclusive"
        )
    condition, projection = _read_expressions(request)
    elements = _normalise_vector(request["SearchVector"])
    table = context.catalog.find(request["TableName"])
    index = _find_index(table, request["IndexName"])
    if len(elements) != index.dimensions:
        raise ValidationException(
            f"Input search vector dimension {len(elements)} does not match "
            f"vector index dimension {index.dimensions}"
        )
    check_paths(table, projection)
    _check_condition(index, condition)
    examined = 0

    def candidates() -> Iterator[Item]:
        nonlocal examined
        for item in _read_partition(context.storage, table, index, condition or {}, rendering):
            examined += 1
            if all(item.get(name) == value for name, value in (condition or {}).items()):
                yield item

    found = rank(index, read_vector(elements), candidates(), top_k)
    response: dict[str, Any] = {"SearchResults": _render(index, found, projection, rendering)}
    if request.get("ReturnConsumedCapacity") in ("TOTAL", "INDEXES"):
        searched_bytes = max(LEAST_REQUEST_BYTES, examined * index.dimensions * FLOAT_BYTES)
        response["ConsumedCapacity"] = {"VectorSearchRequestBytes": float(searched_bytes)}
    return response


def _read_expressions(request: dict[str, Any]) -> tuple[_Condition | None, Projection | None]:
    text, wanted = request.get("SearchConditionExpression"), request.get("ProjectionExpression")
    placeholders = read_placeholders(request)
    condition = None if text is None else bind_search_condition(text, placeholders)
    projection = None if wanted is None else bind_projection(wanted, placeholders)
    placeholders.check_all_used()
    return condition, projection


def _normalise_vector(elements: list[dict[str, Any]]) -> list[AttributeValue]:
    normalised = [normalise_value(element)[0] for element in elements]
    if not all("N" in element and is_float32(element["N"]) for element in normalised):
        raise ValidationException(_INVALID_VECTOR)
    return normalised


def _find_index(table: EngineTable, name: str) -> VectorIndex:
    index = table.vectors.get(name)
    if index is None and name in table.indexes:
        raise ValidationException("SearchVectors operation not supported on this index type.")
    if index is None:
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.status != "ACTIVE":
        raise ValidationException(f"Cannot search backfilling vector index: {name}")
    return index


def _check_condition(index: VectorIndex, condition: _Condition | None) -> None:
    partition = () if index.partition is None else index.partition.partition
    if partition and condition is None:
        raise ValidationException(
            "SearchConditionExpression must be provided when SearchSchema has a HASH key"
        )
    given = condition or {}
    types = {each.name: each.type for each in (*partition, *index.filters)}
    for name in given:
        if name not in types:
            raise ValidationException(
                "SearchConditionExpression must not contain any attributes that is not in "
                f"SearchSchema. Invalid attribute: {name}"
            )
    for attribute in partition:
        if attribute.name not in given:
            raise _invalid(f"Condition missed the HASH key of SearchSchema: {attribute.name}")
    for name, value in given.items():
        if types[name] not in value:
            (actual,) = value
            raise _invalid(f"Type mismatch for {name}, Expected: {types[name]} Actual: {actual}")


def _invalid(detail: str) -> ValidationException:
    return ValidationException(f"Invalid SearchConditionExpression: {detail}")


def _read_partition(
    storage: Storage,
    table: EngineTable,
    index: VectorIndex,
    condition: _Condition,
    rendering: Rendering,
) -> Iterator[Item]:
    """Yield the items to measure; raises InternalServerError at the deadline.

    Each batch is a read of its own, so that nobody waits for the search: like any read of an index, it
    may see some of the changes that are made meanwhile. No item is seen twice, since batches follow
    the order of keys.
    """
    span = index.span(condition)
    while True:
        values, sizes = storage.read_span(table.rows, span, limit=-1, max_bytes=_BATCH_BYTES)
        item: Item = {}
        for value in values:
            item = orjson.loads(value)
            yield item
        if sum(sizes) < _BATCH_BYTES:
            return
        rendering.deadline.check()
        entry = index.encode(item)
        assert entry is not None  # the row was found by its entry
        span = span._replace(after=(entry, table.encode_key(item)))


def _render(
    index: VectorIndex, found: list[Scored], projection: Projection | None, rendering: Rendering
) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    bytes_left = MAX_RESPONSE_BYTES
    for score, item in found:
        projected = index.project(item)
        if projection is not None:
            if index.attribute in projection.attributes:
                kept = float32_vector(item[index.attribute])
                projected = {**projected, index.attribute: kept}
            projected = projection.apply(projected)
        else:
            # Vectors are long and seldom wanted: they are returned only if a projection names them.
            projected = {
                name: value for name, value in projected.items() if name != index.attribute
            }
        bytes_left -= len(orjson.dumps(projected))
        if bytes_left < 0:
            break
        results.append({"Item": rendering.item(projected), "Score": score})
    return results
