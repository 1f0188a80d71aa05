"""Select, projections, indexes and start keys of Query and Scan requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from keyfold.engine.items.key_faults import (
    KEY_MISMATCH,
    START_KEY_INVALID,
    KeyFault,
    start_key_fault_error,
)
from keyfold.engine.items.keys import find_key_fault
from keyfold.engine.items.reads import PageQuery
from keyfold.engine.storage import Span
from keyfold.engine.tables.table import EngineIndex, EngineTable
from keyfold.errors import ValidationException
from keyfold.expressions.conditions import BoundCondition
from keyfold.expressions.paths import Projection
from keyfold.values import Item, normalise_item
from keyfold.values.wording import INVALID

INDEX_UNKNOWN = "The table does not have the specified index"
# Unlike the message of Query, it has no full stop.
VECTOR_SCAN = "Scan operation not supported on this index type"


class Selection(NamedTuple):
    """Which items, and which of their attributes, a response returns."""

    wants_items: bool
    holds: Callable[[Item], bool] | None
    project: Callable[[Item], Item] | None
    # Whether attributes are wanted that the local index does not project.
    fetches: bool
    # The number of operands of the filter.
    weight: int = 0

    def to_page(
        self, request: dict[str, Any], table: EngineTable, index: EngineIndex | None, span: Span
    ) -> PageQuery:
        """Return the query for a page of `span`, as a Query or Scan requests it."""
        return PageQuery(
            table=table,
            through=index,
            span=span,
            limit=request.get("Limit"),
            is_consistent=bool(request.get("ConsistentRead")),
            wants_items=self.wants_items,
            holds=self.holds,
            project=self.project,
            fetches=self.fetches,
            weight=self.weight,
        )


def find_index(
    table: EngineTable, request: dict[str, Any], operation: Literal["Query", "Scan"] = "Query"
) -> EngineIndex | None:
    """Return the index that a request names, or None; raise ValidationException if unreadable."""
    name = request.get("IndexName")
    if name is None:
        return None
    index = table.indexes.get(name)
    is_consistent = bool(request.get("ConsistentRead"))
    if index is None and name in table.vectors:
        if operation == "Scan":
            raise ValidationException(VECTOR_SCAN)
        if not is_consistent:
            raise ValidationException("Query operation not supported on this index type.")
    elif index is None:
        raise ValidationException(f"{INDEX_UNKNOWN}: {name}")
    if is_consistent and (index is None or index.is_global):
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    assert index is not None  # or it is a vector index, which was refused
    check_filled(index)
    return index


def check_filled(index: EngineIndex) -> None:
    """Raise ValidationException if an index is still being filled."""
    if index.status != "ACTIVE":
        raise ValidationException(
            f"Cannot read from backfilling global secondary index: {index.name}"
        )


def resolve_selection(
    request: dict[str, Any],
    index: EngineIndex | None,
    projection: Projection | None,
    condition: BoundCondition | None,
    *,
    is_keyed: bool = True,
) -> Selection:
    """Return the selection of a Query or Scan.

    Raises ValidationException if it needs attributes that the index does not project. A read that
    is not keyed, which is a scan, may filter by such attributes: no entry has them.
    """
    select = request.get("Select")
    selection = Selection(
        wants_items=select != "COUNT",
        holds=None if condition is None else condition.holds,
        project=None if projection is None else projection.apply,
        fetches=False,
        weight=0 if condition is None else condition.weight,
    )
    if index is None or index.projected is None:
        return selection
    if condition is not None and is_keyed:
        missing = _unprojected(index, condition.attributes)
        if missing:
            raise ValidationException(
                f"{INVALID}Secondary index {index.name} does not project "
                f"one or more filter attributes: [{', '.join(missing)}]"
            )
    if select == "ALL_ATTRIBUTES":
        if index.is_global:
            raise ValidationException(
                f"{INVALID}Select type ALL_ATTRIBUTES is not supported for "
                f"global secondary index {index.name} because its projection type is not ALL"
            )
        return selection._replace(fetches=True)
    missing = [] if projection is None else _unprojected(index, projection.attributes)
    if missing and index.is_global:
        raise ValidationException(
            f"{INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )
    return selection._replace(fetches=bool(missing))


def _unprojected(index: EngineIndex, names: Iterable[str]) -> list[str]:
    projected = index.projected
    return [] if projected is None else sorted(set(names) - projected)


class StartKey(NamedTuple):
    """The row after which to continue, and its entry if an index is read."""

    row_key: bytes
    entry: bytes | None


def normalise_start_key(request: dict[str, Any]) -> Item | None:
    """Return the ExclusiveStartKey of a request in normal form, or None.

    Raises ValidationException if it is not a valid item.
    """
    if request.get("ExclusiveStartKey") is None:
        return None
    try:
        key, _ = normalise_item(request["ExclusiveStartKey"])
    except ValidationException as fault:
        # The current validation does not say where the value is.
        current = fault.message if fault.current_message is None else fault.current_message
        message = f"{START_KEY_INVALID}: {fault.message}"
        raise ValidationException(message, current_message=current) from None
    return key


def read_start_key(
    operation: Literal["Query", "Scan"], table: EngineTable, index: EngineIndex | None, key: Item
) -> StartKey:
    """Return the position of an ExclusiveStartKey; raise ValidationException if it is invalid."""
    names = {*table.key.names, *(() if index is None else index.key.names)}
    # A quirk of the service: the error for a fault in the key of the index, or of the queried
    # table, does not mention the start key. A scan of the table does mention it.
    scans_table = operation == "Scan" and index is None
    if set(key) != names:
        if scans_table:
            raise ValidationException(f"{START_KEY_INVALID}: {KEY_MISMATCH}")
        raise ValidationException(START_KEY_INVALID)
    fault = _find_start_key_fault(table, index, key)
    if fault is not None:
        schema = table.key if index is None else index.key
        is_read_by = any(each.type not in key[each.name] for each in schema.attributes)
        raise start_key_fault_error(fault, names_start_key=scans_table or not is_read_by)
    return StartKey(table.encode_key(key), None if index is None else index.encode(key))


def _find_start_key_fault(
    table: EngineTable, index: EngineIndex | None, key: Item
) -> KeyFault | None:
    fault = find_key_fault(table.key, key)
    if fault is None and index is not None:
        fault = find_key_fault(index.key, key, index.name)
    return fault
