"""Translates validation errors of the service into errors about entities.

Sizes are measured here, after a refusal, and not before every call: measuring costs as much as
the request itself, and a refused call writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from keyfold.errors import (
    IndexMissing,
    KeyfoldError,
    RequestRefused,
    ResourceNotFoundException,
    SerializationException,
    SizeExceeded,
    ValidationException,
)
from keyfold.model._batches import Batch
from keyfold.model._collections import CollectionGet
from keyfold.model._formatting import show_item
from keyfold.model._keys import Index, Key, TableLike
from keyfold.model._paged_reads import Query, Scan
from keyfold.model._reads import Get
from keyfold.model._requests import Request
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update
from keyfold.model._writes import Put, Write
from keyfold.values import AttributeValue, Item, item_size_bytes, value_size_bytes

_MAX_ITEM_BYTES = 409_600
_MAX_PARTITION_BYTES = 2_048
_MAX_SORT_BYTES = 1_024
_NO_INDEX = "The table does not have the specified index"
_UPDATE_TOO_LARGE = "Item size to update has exceeded"
_NOT_UNICODE = "a text has an unpaired surrogate, which is not valid Unicode"


def refusal_error(
    request: Request[Any], error: ValidationException | SerializationException, now: datetime
) -> KeyfoldError:
    """Return SizeExceeded if a member is too large, IndexMissing for an index that does not exist.

    For any other reason, return RequestRefused with the service's text.
    """
    for each in _members_of(request):
        found = find_unstorable(each, error.message, now)
        if found is not None:
            return found
    shown, reason = repr(request), error.message.rstrip(".")
    if isinstance(error, SerializationException):
        # The service does not say which value it is, and often nothing at all.
        reason = reason or _NOT_UNICODE
    if reason.startswith(_NO_INDEX):
        match request:
            case (
                Query(table=table, index=Index(name=name))
                | Scan(table=table, index=Index(name=name))
                | CollectionGet(query=Query(table=table, index=Index(name=name)))
            ):
                return IndexMissing(shown, reason, table.name, name)
            case _:
                pass
    return RequestRefused(shown, reason)


def note_missing_table(request: Request[Any], error: ResourceNotFoundException) -> None:
    """Note in an error which tables were used: the service names none in those of reads and writes."""
    names = ", ".join(dict.fromkeys(table.name for table in request.tables))
    error.add_note(f"The request is for {names}. `keyfold apply` creates a table that is missing.")


def _members_of(request: Request[Any]) -> Sequence[Request[Any]]:
    return request.requests if isinstance(request, Batch | Transaction) else (request,)


def find_unstorable(
    request: Request[Any], message: str, now: datetime
) -> SizeExceeded | RequestRefused | None:
    """Return what is too large about one request, or is not valid Unicode, if anything.

    `message` is the service's: the size of an updated item is known from it alone.
    """
    try:
        return _find_oversize(request, message, now)
    except UnicodeEncodeError:
        return RequestRefused(repr(request), _NOT_UNICODE)


def _find_oversize(request: Request[Any], message: str, now: datetime) -> SizeExceeded | None:
    match request:
        case Put(schema=schema):
            item, name = request.resolve_item(now), schema.name
        case Write(schema=schema):
            item, name = request.item_key, schema.name
        case Get(shape=shape, key=item):
            name = "item" if shape.schema is None else shape.schema.name
        case Query(shape=shape):
            item = dict(request.keys.equals)
            name = "items" if shape.schema is None else shape.schema.name
        case _:
            return None
    key = show_item({part: item[part] for part in request.table.key.names if part in item})
    for attribute, size, limit in _measure_keys(request.table, item):
        if size > limit:
            fact = f"key attribute {attribute!r} has {size:,} bytes; the limit is {limit:,}"
            return SizeExceeded(name, key, fact)
    size = item_size_bytes(item)
    if size > _MAX_ITEM_BYTES:
        largest = max(item, key=lambda each: value_size_bytes(item[each]))
        fact = (
            f"its item has {size:,} bytes, {value_size_bytes(item[largest]):,} of them in "
            f"{largest!r}; the limit is {_MAX_ITEM_BYTES:,}"
        )
        return SizeExceeded(name, key, fact)
    if isinstance(request, Update) and message.startswith(_UPDATE_TOO_LARGE):
        return SizeExceeded(name, key, f"its item would have more than {_MAX_ITEM_BYTES:,} bytes")
    return None


def _measure_keys(table: TableLike, item: Item) -> Iterator[tuple[str, int, int]]:
    """Yield each key attribute of the table and its indexes in an item, its size and the limit."""
    for key in (table.key, *(index.key for index in table.indexes)):
        yield from _measure(key, item)


def _measure(key: Key, item: Item) -> Iterator[tuple[str, int, int]]:
    for names, limit in ((key.partition, _MAX_PARTITION_BYTES), (key.sort, _MAX_SORT_BYTES)):
        for name in names:
            value: AttributeValue | None = item.get(name)
            if value is not None:
                yield name, value_size_bytes(value), limit
