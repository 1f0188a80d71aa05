"""The BatchWriteItem operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.insights.throttling_errors import THROTTLED
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.key_faults import key_fault_error
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.single_reads import ThrottledMembers
from keyfold.engine.items.write_checks import check_outcomes
from keyfold.engine.items.writes import (
    DeleteAction,
    ItemWrite,
    WriteOutcome,
    check_item_size,
    evaluate_write,
    make_put,
    report_collections,
    store,
)
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.table import encode_key_of
from keyfold.errors import ValidationException
from keyfold.values import Item, item_size_bytes, normalise_item

MAX_WRITES = 25
MAX_BYTES = 16 * 1024 * 1024

_ONE_OF = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)


def batch_write_item(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Put and delete items of several tables, independently of each other and in any order."""
    wanted: dict[str, list[dict[str, Any]]] = request["RequestItems"]
    members = [(name, each) for name, writes in wanted.items() for each in writes]
    prepared = [(name, *_prepare(each)) for name, each in members]
    if len(prepared) > MAX_WRITES:
        raise ValidationException("Too many items requested for the BatchWriteItem call")
    total = sum(size for _, kind, _, size in prepared if kind == "PutRequest")
    if total > MAX_BYTES:
        raise ValidationException("Item size has exceeded the maximum allowed size")
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    writes = [_make_write(context, name, kind, item, size) for name, kind, item, size in prepared]
    keys = {(write.table.name, write.row_key) for write in writes}
    if len(keys) != len(writes):
        raise ValidationException("Provided list of item keys contains duplicates")
    needs_old = meter.is_on or request.get("ReturnItemCollectionMetrics") == "SIZE"

    def work(writer: StorageWriter) -> tuple[list[WriteOutcome], dict[str, Any]]:
        outcomes: list[WriteOutcome] = []
        unprocessed: dict[str, Any] = {}
        throttled_members = ThrottledMembers()
        for (name, member), write in zip(members, writes, strict=True):
            try:
                outcomes.append(
                    evaluate_write(
                        writer, write, needs_old=needs_old, is_inline=rendering.is_inline
                    )
                )
            except THROTTLED as throttled:
                throttled_members.add(throttled)
                unprocessed.setdefault(name, []).append(member)
        throttled_members.raise_if_all(len(writes))
        check_outcomes(writer, outcomes)
        for outcome in outcomes:
            store(writer, outcome)
        return outcomes, unprocessed

    outcomes, unprocessed = context.storage.write(work)
    response: dict[str, Any] = {"UnprocessedItems": unprocessed}
    if meter.is_on:
        for outcome in outcomes:
            outcome.charge(meter.use_of(outcome.write.table))
        meter.report_all(response)
    report_collections(context.storage, request, outcomes, rendering, response, by_table=True)
    return response


def _prepare(request: dict[str, Any]) -> tuple[str, Item, int]:
    put, delete = request.get("PutRequest"), request.get("DeleteRequest")
    if (put is None) is (delete is None):
        raise ValidationException(_ONE_OF)
    if put is not None:
        item, size = normalise_item(put["Item"])
        check_item_size(size)
        return "PutRequest", item, size
    assert delete is not None  # exactly one of the two is given
    key, _ = normalise_item(delete["Key"])
    return "DeleteRequest", key, item_size_bytes(key)


def _make_write(context: EngineContext, name: str, kind: str, item: Item, size: int) -> ItemWrite:
    table = context.catalog.find(name)
    if kind == "DeleteRequest":
        return ItemWrite(table, encode_key_of(table, item), DeleteAction(item))
    row_key, put = make_put(table, item, size, key_fault_error)
    return ItemWrite(table, row_key, put)
