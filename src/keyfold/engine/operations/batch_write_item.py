"""The BatchWriteItem operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
    PutAction,
    WriteOutcome,
    check_item_size,
    evaluate_ahead,
    evaluate_write,
    make_put,
    report_collections,
    store,
)
from keyfold.engine.storage import BackgroundStorage, StorageWriter
from keyfold.engine.tables.table import encode_key_of
from keyfold.errors import ValidationException
from keyfold.values import Item, item_size_bytes, normalise_item

MAX_WRITES = 25
MAX_BYTES = 16 * 1024 * 1024
# In the background, about this much is written in one commit: a millisecond or two.
_PART_BYTES = 1 << 19

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

    batch = [
        _Member(name, request, write)
        for (name, request), write in zip(members, writes, strict=True)
    ]
    outcomes: list[WriteOutcome] = []
    unprocessed: dict[str, list[Any]] = {}
    for number, part in enumerate(_split(context, batch, needs_old=needs_old)):
        if number:
            # Others commit now.
            rendering.deadline.pause()
        outcomes += context.storage.write(
            lambda writer, part=part: _write_part(
                writer, part, unprocessed, needs_old=needs_old, is_inline=rendering.is_inline
            )
        )
    response: dict[str, Any] = {"UnprocessedItems": unprocessed}
    if meter.is_on:
        for outcome in outcomes:
            outcome.charge(meter.use_of(outcome.write.table))
        meter.report_all(response)
    report_collections(context.storage, request, outcomes, rendering, response, by_table=True)
    return response


class _Member(NamedTuple):
    """A member of the request: its table's name, itself as received, and the write."""

    name: str
    request: dict[str, Any]
    write: ItemWrite


def _split(
    context: EngineContext, batch: list[_Member], *, needs_old: bool
) -> Sequence[list[_Member]]:
    """Return the parts of a batch that are committed one after another.

    There is one, unless it is carried out in the background and none of its writes can be refused.
    """
    storage = context.storage
    if not isinstance(storage, BackgroundStorage):
        return [batch]
    batch = [
        each._replace(write=evaluate_ahead(storage, each.write, needs_old=needs_old))
        for each in batch
    ]
    tables = [each.write.table for each in batch]
    if any(table.check is not None or table.monitor is not None for table in tables):
        return [batch]
    parts: list[list[_Member]] = []
    room = 0
    for each in batch:
        if room <= 0:
            parts.append([])
            room = _PART_BYTES
        parts[-1].append(each)
        change = each.write.change
        room -= len(change.value) if isinstance(change, PutAction) else 0
    return parts


def _write_part(
    writer: StorageWriter,
    part: list[_Member],
    unprocessed: dict[str, list[Any]],
    *,
    needs_old: bool,
    is_inline: bool,
) -> list[WriteOutcome]:
    """Carry out some writes in one transaction; add those that are throttled to `unprocessed`."""
    outcomes: list[WriteOutcome] = []
    throttled_members = ThrottledMembers()
    unprocessed.clear()
    for name, request, write in part:
        try:
            outcomes.append(evaluate_write(writer, write, needs_old=needs_old, is_inline=is_inline))
        except THROTTLED as throttled:
            throttled_members.add(throttled)
            unprocessed.setdefault(name, []).append(request)
    throttled_members.raise_if_all(len(part))
    check_outcomes(writer, outcomes)
    for outcome in outcomes:
        store(writer, outcome)
    return outcomes


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
