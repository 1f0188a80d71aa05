"""The BatchGetItem operation."""

from __future__ import annotations

from typing import Any

import orjson

from keyfold.api import OPERATIONS
from keyfold.api.expression_use import check_not_mixed
from keyfold.capacity import read_units
from keyfold.engine.context import EngineContext
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.expression_checks import check_paths
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.single_reads import ThrottledMembers, count_read
from keyfold.engine.tables.table import EngineTable, encode_key_of
from keyfold.errors import ValidationException
from keyfold.expressions.parameters import check_expression_use, read_projection
from keyfold.expressions.paths import Projection
from keyfold.values import Item, normalise_item

MAX_KEYS = 100
MAX_BYTES = 16 * 1024 * 1024
# The JSON of an item may be ten times as long as its size.
MAX_JSON_BYTES = 2 * MAX_BYTES

_DUPLICATES = "Provided list of item keys contains duplicates"


def batch_get_item(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Return items of several tables by key; keys beyond 16 MB are returned as unprocessed."""
    wanted: dict[str, dict[str, Any]] = request["RequestItems"]
    try:
        prepared = {name: _prepare(each) for name, each in wanted.items()}
        _check_alike(wanted)
    except ValidationException as error:
        error.set_validation(OPERATIONS["BatchGetItem"].validation)
        raise
    if sum(len(keys) for keys, _ in prepared.values()) > MAX_KEYS:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    targets = {name: _find_target(context, name, keys) for name, (keys, _) in prepared.items()}
    # The same table may appear twice: by name and by ARN.
    all_keys = [(table.name, key) for table, keys in targets.values() for key in keys]
    if len(set(all_keys)) != len(all_keys):
        raise ValidationException(_DUPLICATES)
    responses: dict[str, Any] = {}
    unprocessed: dict[str, Any] = {}
    bytes_left, json_left = MAX_BYTES, MAX_JSON_BYTES
    throttled_members = ThrottledMembers()
    for name, each in wanted.items():
        table, row_keys = targets[name]
        projection = prepared[name][1]
        check_paths(table, projection)
        is_consistent = bool(each.get("ConsistentRead"))
        values: list[bytes] = []
        unprocessed_keys: list[Any] = []
        for place, (key, row_key) in enumerate(zip(each["Keys"], row_keys, strict=True)):
            if table.monitor is not None and throttled_members.is_throttled(
                table, prepared[name][0][place]
            ):
                unprocessed_keys.append(key)
                continue
            is_full = bytes_left < 0 or json_left < 0
            row = None if is_full else context.storage.get(table.rows, row_key)
            size = 0 if row is None else row[1]
            bytes_left -= size
            if is_full or bytes_left < 0:
                unprocessed_keys.append(key)
                continue
            if row is not None:
                values.append(row[0])
                json_left -= len(row[0])
            if table.monitor is not None:
                normalised = prepared[name][0][place]
                count_read(table, normalised, size, is_consistent=is_consistent)
            if meter.is_on:
                meter.use_of(table).units += read_units(size, is_consistent=is_consistent)
        responses[name] = _render(values, projection, rendering)
        if unprocessed_keys:
            unprocessed[name] = {**each, "Keys": unprocessed_keys}
    throttled_members.raise_if_all(len(all_keys))
    response: dict[str, Any] = {"Responses": responses, "UnprocessedKeys": unprocessed}
    meter.report_all(response)
    return response


def _check_alike(wanted: dict[str, dict[str, Any]]) -> None:
    """Raise ValidationException for an expression for one table and AttributesToGet for another."""
    if len(wanted) > 1:
        given = {
            name: value
            for each in wanted.values()
            for name, value in each.items()
            if value is not None
        }
        check_not_mixed("BatchGetItem", given)


def _prepare(request: dict[str, Any]) -> tuple[list[Item], Projection | None]:
    check_expression_use("BatchGetItem", request)
    keys = [normalise_item(key)[0] for key in request["Keys"]]
    projection = read_projection(request)
    if any(key in keys[:place] for place, key in enumerate(keys)):
        raise ValidationException(_DUPLICATES)
    return keys, projection


def _find_target(
    context: EngineContext, name: str, keys: list[Item]
) -> tuple[EngineTable, list[bytes]]:
    table = context.catalog.find(name)
    return table, [encode_key_of(table, key) for key in keys]


def _render(values: list[bytes], projection: Projection | None, rendering: Rendering) -> Any:
    if projection is None:
        return rendering.stored_list(values)
    return rendering.items([projection.apply(orjson.loads(value)) for value in values])
