"""BatchGetItem."""

from __future__ import annotations

from typing import Any

import orjson

from keyfold.engine._capacity import CapacityMeter, read_units
from keyfold.engine._context import EngineContext
from keyfold.engine._parameters import check_expression_use, check_paths, read_projection
from keyfold.engine._responses import Rendering
from keyfold.engine._single_reads import Refusal, count_read
from keyfold.engine._tables import EngineTable, encode_key_of
from keyfold.engine.expressions import Projection
from keyfold.errors import ValidationException
from keyfold.values import Item, normalise_item

MAX_KEYS = 100
MAX_BYTES = 16 * 1024 * 1024

_DUPLICATES = "Provided list of item keys contains duplicates"


def batch_get_item(
    services: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Return items of several tables by their keys; what passes 16 MB is left for later."""
    wanted: dict[str, dict[str, Any]] = request["RequestItems"]
    prepared = {name: _prepare(each) for name, each in wanted.items()}
    if sum(len(keys) for keys, _ in prepared.values()) > MAX_KEYS:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    places = {name: _places(services, name, keys) for name, (keys, _) in prepared.items()}
    # One table may be named twice: by its name and by its ARN.
    all_places = [(table.name, key) for table, keys in places.values() for key in keys]
    if len(set(all_places)) != len(all_places):
        raise ValidationException(_DUPLICATES)
    responses: dict[str, Any] = {}
    unprocessed: dict[str, Any] = {}
    room = MAX_BYTES
    refusal = Refusal()
    for name, each in wanted.items():
        table, row_keys = places[name]
        projection = prepared[name][1]
        check_paths(table, projection)
        is_consistent = bool(each.get("ConsistentRead"))
        values: list[bytes] = []
        left: list[Any] = []
        for place, (key, row_key) in enumerate(zip(each["Keys"], row_keys, strict=True)):
            if table.watch is not None and refusal.of(table, prepared[name][0][place]):
                left.append(key)
                continue
            row = services.storage.get(table.rows, row_key) if room >= 0 else None
            size = 0 if row is None else row[1]
            room -= size
            if room < 0:
                left.append(key)
                continue
            if row is not None:
                values.append(row[0])
            if table.watch is not None:
                normal = prepared[name][0][place]
                count_read(table, normal, size, is_consistent=is_consistent)
            if meter.is_on:
                meter.use_of(table).units += read_units(size, is_consistent=is_consistent)
        responses[name] = _render(values, projection, rendering)
        if left:
            unprocessed[name] = {**each, "Keys": left}
    refusal.raise_for(len(all_places))
    response: dict[str, Any] = {"Responses": responses, "UnprocessedKeys": unprocessed}
    meter.report_all(response)
    return response


def _prepare(request: dict[str, Any]) -> tuple[list[Item], Projection | None]:
    check_expression_use("BatchGetItem", request)
    keys = [normalise_item(key)[0] for key in request["Keys"]]
    projection = read_projection(request)
    if any(key in keys[:place] for place, key in enumerate(keys)):
        raise ValidationException(_DUPLICATES)
    return keys, projection


def _places(
    services: EngineContext, name: str, keys: list[Item]
) -> tuple[EngineTable, list[bytes]]:
    table = services.catalog.find(name)
    return table, [encode_key_of(table, key) for key in keys]


def _render(values: list[bytes], projection: Projection | None, rendering: Rendering) -> Any:
    if projection is None:
        return rendering.stored_list(values)
    return rendering.items([projection.apply(orjson.loads(value)) for value in values])
