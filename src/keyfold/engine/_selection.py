"""What Query and Scan return: Select, projections, and what an index can give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from keyfold.engine._keys import KEY_MISMATCH
from keyfold.engine._tables import Index, Table
from keyfold.engine._writes import encode_key_of
from keyfold.engine.expressions import BoundCondition, Projection
from keyfold.errors import ValidationException
from keyfold.values import Item, normalise_item

_INVALID = "One or more parameter values were invalid: "


class Selection(NamedTuple):
    """Which attributes of each item go into the answer."""

    wants_items: bool
    project: Callable[[Item], Item] | None
    # Whether a local index is asked for attributes that it does not hold.
    fetches: bool


def check_select(request: dict[str, Any]) -> None:
    """Raise when Select contradicts the other parameters."""
    select = request.get("Select")
    index_given = request.get("IndexName") is not None
    given = [
        name
        for name in ("AttributesToGet", "ProjectionExpression")
        if request.get(name) is not None
    ]
    if select == "ALL_PROJECTED_ATTRIBUTES" and not index_given:
        raise ValidationException(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )
    if select == "SPECIFIC_ATTRIBUTES" and not given:
        raise ValidationException(
            "Must specify the AttributesToGet or ProjectionExpression "
            "when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if given and select not in (None, "SPECIFIC_ATTRIBUTES"):
        what = "only the Count" if select == "COUNT" else select
        raise ValidationException(f"Cannot specify the {given[0]} when choosing to get {what}")


def find_index(table: Table, request: dict[str, Any]) -> Index | None:
    """Return the index that a request names; raises when it cannot be read."""
    name = request.get("IndexName")
    if name is None:
        return None
    index = table.indexes.get(name)
    if index is None:
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.is_global and request.get("ConsistentRead"):
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    if index.status != "ACTIVE":
        raise ValidationException(f"Cannot read from backfilling global secondary index: {name}")
    return index


def resolve_selection(
    request: dict[str, Any],
    index: Index | None,
    projection: Projection | None,
    condition: BoundCondition | None,
) -> Selection:
    """Return what of each item is wanted; raises when the index does not hold it."""
    select = request.get("Select")
    project = None if projection is None else projection.apply
    wants_items = select != "COUNT"
    if index is None or index.projected is None:
        return Selection(wants_items, project, fetches=False)
    if condition is not None:
        missing = _not_held(index, condition.attributes)
        if missing:
            raise ValidationException(
                f"{_INVALID}Secondary index {index.name} does not project "
                f"one or more filter attributes: [{', '.join(missing)}]"
            )
    if select == "ALL_ATTRIBUTES":
        if index.is_global:
            raise ValidationException(
                f"{_INVALID}Select type ALL_ATTRIBUTES is not supported for "
                f"global secondary index {index.name} because its projection type is not ALL"
            )
        return Selection(wants_items, project, fetches=True)
    missing = [] if projection is None else _not_held(index, projection.attributes)
    if missing and index.is_global:
        raise ValidationException(
            f"{_INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )
    return Selection(wants_items, project, fetches=bool(missing))


def _not_held(index: Index, names: Iterable[str]) -> list[str]:
    held = index.projected
    return [] if held is None else sorted(set(names) - held)


class StartKey(NamedTuple):
    """Where to go on: a row, and for an index the entry it has there."""

    row_key: bytes
    entry: bytes | None


_START_INVALID = "The provided starting key is invalid"


def normalise_start_key(request: dict[str, Any]) -> Item | None:
    """Return the ExclusiveStartKey of a request in normal form."""
    if request.get("ExclusiveStartKey") is None:
        return None
    try:
        key, _ = normalise_item(request["ExclusiveStartKey"])
    except ValidationException as fault:
        raise ValidationException(f"{_START_INVALID}: {fault.message}") from None
    return key


def read_start_key(
    operation: Literal["Query", "Scan"], table: Table, index: Index | None, key: Item
) -> StartKey:
    """Return the place that an ExclusiveStartKey names; raises when it fits no row."""
    names = {*table.key.names, *(() if index is None else index.key.names)}
    if set(key) != names:
        if operation == "Scan" and index is None:
            raise ValidationException(f"{_START_INVALID}: {KEY_MISMATCH}")
        raise ValidationException(_START_INVALID)
    try:
        row_key = encode_key_of(table, table.key_of(key))
        return StartKey(row_key, None if index is None else index.encode(key))
    except ValidationException as fault:
        if KEY_MISMATCH not in fault.message and "Type mismatch" not in fault.message:
            raise ValidationException(f"{_START_INVALID}: {fault.message}") from None
        # A quirk of the service: a fault in the key that is read by does not say that it is
        # about the start key, unless a scan reads the table itself.
        schema = table.key if index is None else index.key
        is_read_by = any(each.type not in key[each.name] for each in schema.attributes)
        if is_read_by and not (operation == "Scan" and index is None):
            raise ValidationException(KEY_MISMATCH) from None
        raise ValidationException(f"{_START_INVALID}: {KEY_MISMATCH}") from None


def in_words_of_index(fault: ValidationException, index: Index | None) -> ValidationException:
    """Return a fault of a key's value as the service words it for the key of an index."""
    text, is_empty, name = fault.message.partition("value. Key: ")
    if index is None or not is_empty:
        return fault
    head, tail = text.split("not valid. ")
    return ValidationException(
        f"{head}not valid. A value specified for a secondary index key is not supported. "
        f"{tail}value. IndexName: {index.name}, IndexKey: {name}"
    )
