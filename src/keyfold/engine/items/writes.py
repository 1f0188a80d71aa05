"""Writes of single items, alone or as part of a batch or a transaction.

An `ItemWrite` describes the write of one item. `evaluate_write` reads the item, checks the
condition and computes the new image, without changing anything. The table's check, if it has one,
then decides whether it is accepted (`write_checks`), and `store` writes it. Every
change of an item goes through `store`, or through `put_without_reading` and `put_if` if the caller
does not need the old item: these three also append it to the table's log of changes, if it has one.
The stored row is read once: the log's old image is the value on which the condition was checked.

What a write does to an item depends on the stored value alone. So a thread beside an event loop evaluates it
before its transaction (`evaluate_ahead`). The transaction, for which all other writes wait, compares the
stored value, and evaluates again if it has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import orjson

from keyfold.capacity import write_units
from keyfold.engine.insights.usage import UsageMonitor
from keyfold.engine.items.consumed_capacity import CapacityMeter, TableUse
from keyfold.engine.items.key_faults import (
    KeyFault,
    KeyInvalid,
    index_key_fault_error,
    item_fault_error,
    update_fault_error,
)
from keyfold.engine.items.keys import entry_or_none, find_key_fault, partition_span
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.work import DECODE_WEIGHT, check_inline
from keyfold.engine.items.write_checks import check_outcomes
from keyfold.engine.storage import (
    BackgroundStorage,
    Entries,
    Row,
    RowsChanged,
    RowSet,
    Storage,
    StorageReader,
    StorageWriter,
)
from keyfold.engine.streams.change_log import record_delete, record_put
from keyfold.engine.tables.table import EngineTable
from keyfold.engine.vectors.index import VectorInvalid
from keyfold.errors import ConditionalCheckFailedException, ValidationException
from keyfold.expressions.conditions import BoundCondition
from keyfold.expressions.updates import UPDATE_TOO_LARGE, UpdatePlan
from keyfold.values import MAX_ITEM_BYTES, Item, item_size_bytes, to_json

GIB = 1 << 30

_ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"


class PutAction(NamedTuple):
    """Put a whole item."""

    item: Item
    value: bytes
    size: int
    entries: Entries


class UpdateAction(NamedTuple):
    """Update an item; a missing one is first created with only its key."""

    key: Item
    plan: UpdatePlan | None


class DeleteAction(NamedTuple):
    """Delete an item: requested by a caller, with its `key`, or because the item has expired."""

    key: Item | None = None
    is_expiry: bool = False


class CheckAction(NamedTuple):
    """Only check the condition."""

    key: Item | None = None


class ItemWrite(NamedTuple):
    """A write of one item, and its condition."""

    table: EngineTable
    row_key: bytes
    change: PutAction | UpdateAction | DeleteAction | CheckAction
    holds: Callable[[Item], bool] | None = None
    # The number of operands of the condition.
    weight: int = 0
    ahead: AheadOutcome | None = None

    @property
    def is_put(self) -> bool:
        """Whether it puts a whole item."""
        return isinstance(self.change, PutAction)


def split_condition(
    condition: BoundCondition | None,
) -> tuple[Callable[[Item], bool] | None, int]:
    """Return the last two members of an ItemWrite: what its condition tests, and its weight."""
    return (None, 0) if condition is None else (condition.holds, condition.weight)


class WriteOutcome(NamedTuple):
    """An item before and after a write."""

    write: ItemWrite
    old: Item | None
    # As stored; None if there was no item, or if it was not read.
    old_value: bytes | None
    old_size: int
    new: Item | None
    new_value: bytes
    new_size: int
    new_entries: Entries

    @property
    def changes_item(self) -> bool:
        """Whether an item is written or deleted."""
        if isinstance(self.write.change, CheckAction):
            return False
        return self.new is not None or self.old_value is not None

    def charge(self, use: TableUse, factor: int = 1) -> None:
        """Add the capacity that this write consumes: `factor` times in the table itself."""
        use.add_change(self.old, self.old_size, self.new, self.new_size, factor)


class AheadOutcome(NamedTuple):
    """What a write does if the stored value is still this one."""

    old_value: bytes | None
    result: WriteOutcome | ConditionNotMet | ValidationException


class ConditionNotMet(Exception):
    """The condition did not hold; `item` is the stored item, or None."""

    def __init__(self, item: Item | None) -> None:
        super().__init__(item)
        self.item = item


def check_item_size(size_bytes: int) -> None:
    """Raise ValidationException for an item of more than 400 KB."""
    if size_bytes > MAX_ITEM_BYTES:
        raise ValidationException(_ITEM_TOO_LARGE)


def make_put(
    table: EngineTable,
    item: Item,
    size: int,
    to_error: Callable[[KeyFault], Exception] = item_fault_error,
) -> tuple[bytes, PutAction]:
    """Check a normalised item against its table; return its row key and the action.

    Raises the error that `to_error` returns for a fault in the item's key, and
    ValidationException for a value that is invalid for an index.
    """
    try:
        row_key = table.encode_key(item)
    except KeyError:
        fault = find_key_fault(table.key, item)
        assert fault is not None  # or it would have been encoded
        raise to_error(fault) from None
    try:
        entries = table.entries(item)
    except VectorInvalid as error:
        raise error.error from None
    except KeyInvalid as error:
        raise index_key_fault_error(error.fault) from None
    return row_key, PutAction(item, to_json(item), size, entries)


def evaluate_write(
    reader: StorageReader,
    write: ItemWrite,
    *,
    needs_old: bool = True,
    factor: int = 1,
    is_inline: bool = False,
) -> WriteOutcome:
    """Return what a write does to its item; raise ConditionNotMet or ValidationException.

    Without `needs_old`, the old image of an unconditional put is neither read nor returned. For a
    monitored table, the write may raise a throttling error, and is counted `factor` times. With
    `is_inline`, an event loop runs it, and NeedsThread is raised if the old item is long.
    """
    if write.table.monitor is not None:
        return _evaluate_monitored(reader, write, write.table.monitor, factor, is_inline=is_inline)
    return _evaluate(reader, write, needs_old=needs_old, is_inline=is_inline)


def evaluate_ahead(
    storage: BackgroundStorage, write: ItemWrite, *, needs_old: bool = True
) -> ItemWrite:
    """Return a write with what it does to its item as stored now; `needs_old` as `evaluate_write` has it.

    Nothing is written, counted or raised: that is left to its transaction.
    """
    if write.holds is None and isinstance(write.change, PutAction) and not needs_old:
        return write
    row = storage.get(write.table.rows, write.row_key)
    try:
        result = _evaluate(_ReadRow(row), write, needs_old=True, is_inline=False)
    except (ConditionNotMet, ValidationException) as error:
        result = error
    return write._replace(ahead=AheadOutcome(None if row is None else row[0], result))


class _GetsRow(Protocol):
    def get(self, rows: RowSet, key: bytes, /) -> Row | None: ...


class _ReadRow:
    """A reader of one row that has been read."""

    def __init__(self, row: Row | None) -> None:
        self._row = row

    def get(self, rows: RowSet, key: bytes) -> Row | None:  # noqa: ARG002 - a reader's signature
        return self._row


def _evaluate_monitored(
    reader: StorageReader,
    write: ItemWrite,
    monitor: UsageMonitor,
    factor: int,
    *,
    is_inline: bool,
) -> WriteOutcome:
    table = write.table
    key = _key_of(write)
    monitor.admit("Write", "", key)
    use = TableUse(table)
    try:
        outcome = _evaluate(reader, write, needs_old=True, is_inline=is_inline)
    except ConditionNotMet as failure:
        # A failed write is charged as if it had written the stored item.
        size = 0 if failure.item is None else item_size_bytes(failure.item)
        use.units = factor * write_units(size)
        monitor.use_write([monitor.table_use(key, use.by_name())])
        monitor.count("", () if key is None else (key,))
        raise
    outcome.charge(use, factor)
    uses = [monitor.table_use(key, use.by_name())]
    if monitor.needs_keys:
        uses += use.find_index_uses(monitor.plan.layouts, outcome.old, outcome.new)
        monitor.admit_uses(uses[1:])
    else:
        uses += monitor.index_uses(use.by_name())
    monitor.use_write(uses)
    monitor.count("", () if key is None else (key,))
    changed = outcome.new or outcome.old
    if changed is not None:
        for name in use.by_index:
            monitor.count(name, (changed,))
    return outcome


def _key_of(write: ItemWrite) -> Item | None:
    match write.change:
        case PutAction(item):
            return item
        case UpdateAction(key) | DeleteAction(key) | CheckAction(key):
            return key


def _evaluate(
    reader: _GetsRow, write: ItemWrite, *, needs_old: bool, is_inline: bool
) -> WriteOutcome:
    table, change = write.table, write.change
    if not needs_old and write.holds is None and isinstance(change, PutAction):
        item, value, size, entries = change
        # The caller does not need the old item; a log needs its stored value.
        stored = None if table.log is None else _read_value(reader, table, write.row_key)
        return WriteOutcome(write, None, stored, 0, item, value, size, entries)
    row = reader.get(table.rows, write.row_key)
    old_value, old_size = (None, 0) if row is None else row
    ahead = write.ahead
    if ahead is not None and ahead.old_value == old_value:
        if isinstance(ahead.result, WriteOutcome):
            return ahead.result
        raise ahead.result
    if is_inline and old_value is not None:
        weight = write.weight + DECODE_WEIGHT
        if isinstance(change, UpdateAction) and change.plan is not None:
            weight += len(change.plan.paths)
        check_inline((old_value,), weight)
    old: Item | None = None if old_value is None else orjson.loads(old_value)
    if write.holds is not None and not write.holds(old or {}):
        raise ConditionNotMet(old)
    match change:
        case PutAction(item, value, size, entries):
            return WriteOutcome(write, old, old_value, old_size, item, value, size, entries)
        case UpdateAction():
            put = _apply_update(table, change, old)
            if put is not None:
                item, value, size, entries = put
                return WriteOutcome(write, old, old_value, old_size, item, value, size, entries)
        case DeleteAction():
            pass
        case CheckAction():
            return WriteOutcome(write, old, old_value, old_size, old, b"", old_size, ())
    return WriteOutcome(write, old, old_value, old_size, None, b"", 0, ())


def _read_value(reader: _GetsRow, table: EngineTable, row_key: bytes) -> bytes | None:
    row = reader.get(table.rows, row_key)
    return None if row is None else row[0]


def _apply_update(table: EngineTable, change: UpdateAction, old: Item | None) -> PutAction | None:
    """Return the put of an updated item; None if there is no item and none is created."""
    plan = change.plan
    if old is None and plan is not None and plan.only_removes:
        # An update that only removes attributes does not create a missing item.
        return None
    base = change.key if old is None else old
    new = base if plan is None else plan.apply(base)
    size = item_size_bytes(new)
    if size > MAX_ITEM_BYTES:
        raise ValidationException(UPDATE_TOO_LARGE)
    return PutAction(new, to_json(new), size, _updated_entries(table, old, new))


def _updated_entries(table: EngineTable, old: Item | None, new: Item) -> Entries:
    try:
        return table.entries(new)
    except KeyInvalid as error:
        if old is None:
            raise _update_key_error(error) from None
    # An item that is older than an index may have a value that is invalid for the index. It stays
    # out of the index, and may be updated as long as that value does not change.
    for index in table.indexes.values():
        fault = find_key_fault(index.key, new, index.name)
        if fault and any(old.get(name) != new.get(name) for name in index.key.names):
            raise update_fault_error(fault)
    for vector in table.vectors.values():
        error = vector.find_invalid(new)
        if error and any(old.get(name) != new.get(name) for name in error.fault.names):
            raise _update_key_error(error)
    return tuple([entry_or_none(encode, new) for encode in table.encoders])


def _update_key_error(error: KeyInvalid) -> ValidationException:
    return error.error if isinstance(error, VectorInvalid) else update_fault_error(error.fault)


def store(writer: StorageWriter, outcome: WriteOutcome) -> None:
    """Write the outcome that `evaluate_write` returned."""
    write = outcome.write
    table, row_key, old = write.table, write.row_key, outcome.old_value
    match write.change:
        case PutAction() | UpdateAction():
            if outcome.new is not None:
                row = (outcome.new_value, outcome.new_size, outcome.new_entries)
                if table.log is None:
                    writer.put(table.rows, row_key, *row)
                else:
                    record_put(writer, table, row_key, old, *row)
        case DeleteAction(_, is_expiry):
            if old is not None:
                if table.log is None:
                    writer.delete(table.rows, row_key)
                else:
                    record_delete(writer, table, row_key, old, is_expiry=is_expiry)
        case CheckAction():
            pass


def put_without_reading(
    storage: Storage,
    table: EngineTable,
    row_key: bytes,
    value: bytes,
    size: int,
    entries: Entries,
) -> None:
    """Put an item, for callers that do not need the old one: only a log has it read."""
    if table.log is None:
        storage.put(table.rows, row_key, value, size, entries)
    else:
        _put_logged(storage, table, row_key, value, size, entries)


def put_if(
    storage: Storage,
    table: EngineTable,
    row_key: bytes,
    value: bytes,
    size: int,
    entries: Entries,
    holds: Callable[[Item], bool],
) -> None:
    """Put an item if a condition holds, for callers that do not need the old one.

    Raises ConditionalCheckFailedException if it does not hold.
    """

    def holds_for(stored: bytes | None) -> bool:
        return holds({} if stored is None else orjson.loads(stored))

    if table.log is None:
        is_put = storage.put(table.rows, row_key, value, size, entries, holds_for)
    else:
        is_put = _put_logged(storage, table, row_key, value, size, entries, holds_for)
    if not is_put:
        raise ConditionalCheckFailedException("The conditional request failed")


def _put_logged(
    storage: Storage,
    table: EngineTable,
    row_key: bytes,
    value: bytes,
    size: int,
    entries: Entries,
    holds: Callable[[bytes | None], bool] | None = None,
) -> bool:
    def work(writer: StorageWriter) -> bool:
        old = _read_value(writer, table, row_key)
        if holds is not None and not holds(old):
            return False
        record_put(writer, table, row_key, old, value, size, entries)
        return True

    return storage.write(work)


def perform(storage: Storage, write: ItemWrite, *, is_inline: bool = False) -> WriteOutcome:
    """Carry out one write in a transaction; raise ConditionNotMet if its condition fails.

    With `is_inline`, raise NeedsThread for a long item, as `evaluate_write` does.
    """
    evaluated = evaluate_ahead(storage, write) if isinstance(storage, BackgroundStorage) else write

    def work(writer: StorageWriter) -> WriteOutcome:
        outcome = evaluate_write(writer, evaluated, is_inline=is_inline)
        if write.table.check is not None:
            check_outcomes(writer, (outcome,))
        store(writer, outcome)
        return outcome

    return storage.write(work)


def perform_for_request(
    storage: Storage, write: ItemWrite, request: dict[str, Any], rendering: Rendering
) -> WriteOutcome:
    """Carry out the write of PutItem, UpdateItem or DeleteItem.

    Raises ConditionalCheckFailedException, with the stored item if the request asks for it.
    """
    try:
        return perform(storage, write, is_inline=rendering.is_inline)
    except ConditionNotMet as failure:
        fields: dict[str, Any] = {}
        wants_item = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        if wants_item and failure.item is not None:
            fields["Item"] = rendering.item(failure.item)
        raise ConditionalCheckFailedException("The conditional request failed", fields) from None


def respond_to_write(
    storage: Storage,
    request: dict[str, Any],
    rendering: Rendering,
    outcome: WriteOutcome,
    returned: Item | None,
) -> dict[str, Any]:
    """Return the response of PutItem, UpdateItem or DeleteItem, with `returned` as Attributes.

    Consumed capacity and item collection sizes are included if requested.
    """
    response: dict[str, Any] = {}
    if returned is not None:
        response["Attributes"] = rendering.item(returned)
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    if meter.is_on:
        outcome.charge(meter.use_of(outcome.write.table))
        meter.report(response)
    report_collections(storage, request, [outcome], rendering, response)
    return response


def report_collections(
    storage: Storage,
    request: dict[str, Any],
    outcomes: list[WriteOutcome],
    rendering: Rendering,
    response: dict[str, Any],
    *,
    by_table: bool = False,
) -> None:
    """Add the sizes of the changed item collections to `response`, if requested.

    Only tables with local indexes have item collections in this sense.
    """
    if request.get("ReturnItemCollectionMetrics") != "SIZE":
        return
    metrics: dict[str, list[dict[str, Any]]] = {}
    for outcome in outcomes:
        table, changed = outcome.write.table, outcome.new or outcome.old
        if not table.has_local_indexes or changed is None:
            continue
        partition = table.key.partition[0].name
        low, high = partition_span(table.key, changed)
        try:
            size = storage.read(lambda reader: reader.sum_sizes(table.rows, low, high))  # noqa: B023 - run at once
        except RowsChanged:
            # The write is committed, and must not be retried for the sake of an estimate.
            size = 0
        whole = float(size // GIB)
        collection = {
            "ItemCollectionKey": rendering.item({partition: changed[partition]}),
            "SizeEstimateRangeGB": [whole, whole + 1.0],
        }
        listed = metrics.setdefault(table.name, [])
        if collection not in listed:
            listed.append(collection)
    if not metrics:
        return
    if by_table:
        response["ItemCollectionMetrics"] = metrics
    else:
        ((response["ItemCollectionMetrics"],),) = metrics.values()
