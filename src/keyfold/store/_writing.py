"""Plans of requests that write one entity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.errors import (
    AlreadyExists,
    ConditionalCheckFailedException,
    ConditionFailed,
    ItemInvalid,
    KeyfoldError,
    NotFound,
    VersionConflict,
)
from keyfold.model._any_values import decode_any
from keyfold.model._expiry import whole_seconds
from keyfold.model._requests import Get, ResultShape
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._showing import show_item
from keyfold.model._updates import Update
from keyfold.model._writes import Delete, Presence, Put, Write
from keyfold.store._decoding import SKIPPED, Decoder, is_expired
from keyfold.store._plans import ApiCall, Plan, RunContext, try_again
from keyfold.values import AttributeValue, Item


def plan_write(run: RunContext, request: Write[Any]) -> Plan[Any]:
    """Write one entity."""
    asked = request.to_dynamodb(now=run.now)
    if run.store.reports_capacity:
        asked["ReturnConsumedCapacity"] = "TOTAL"
    call = ApiCall(request.operation, asked)
    try:
        try:
            response = yield call
        except KeyfoldError as error:
            response = yield from try_again(run, request, call, error)
    except ConditionalCheckFailedException as error:
        raise explain_failure(run, request, error.fields.get("Item")) from None
    return _result_of(run, request, response.get("Attributes"))


def _result_of(run: RunContext, request: Write[Any], attributes: Item | None) -> Any:
    match request:
        case Put():
            return written(run, request)
        case Update() | Delete():
            return None if attributes is None else decode_written(run, request, attributes)
        case _:
            return None


def written(run: RunContext, request: Put[Any]) -> Any:
    """Return a written entity as it is stored: with the expiry that it got."""
    if request.expiry is None:
        return request.entity
    field = request.schema.ttl_field
    assert field is not None  # or it could not expire
    expires = request.resolve_item(run.now)[field.stored]
    decode = field.codec.decode or decode_any
    return request.entity.model_copy(update={field.name: decode(expires)})


def decode_item(run: RunContext, schema: EntitySchema, item: Mapping[str, AttributeValue]) -> Any:
    """Return the entity that an item holds; None for one that is expired, or of another kind."""
    return decode_for(run, Get(schema.table, {}, ResultShape(schema)), item)


def decode_written(run: RunContext, request: Write[Any], item: Item) -> Any:
    """Return the entity that was written or removed; raises ItemInvalid, which says that it was."""
    try:
        return decode_item(run, request.schema, item)
    except ItemInvalid as error:
        done = "was deleted" if isinstance(request, Delete) else "was changed"
        raise ItemInvalid(
            error.table, error.key, f"it {done}, and is unfit: {error.reason}"
        ) from None


def decode_for(run: RunContext, request: Get[Any], item: Mapping[str, AttributeValue]) -> Any:
    """Return what a read that was part of several has found."""
    found = Decoder(run, request).decode(item, request.known)
    return None if found is SKIPPED else found


def explain_failure(run: RunContext, request: Write[Any], item: Item | None) -> ConditionFailed:
    """Return why a condition did not hold, by what is there instead; a blind write is not told."""
    schema = request.schema
    key = show_item(request.item_key)
    if request.returns_nothing:
        return ConditionFailed(schema.name, key, "the condition does not hold")
    ttl = schema.table.ttl
    if item is not None and ttl is not None and is_expired(item, ttl, whole_seconds(run.now)):
        item = None
    found: Any = None
    if item is not None:
        try:
            found = schema.decode(item)
        except ItemMismatch:
            found = None
    match request:
        case Put(presence=Presence.MUST_NOT_EXIST) if item is not None:
            return AlreadyExists(schema.name, key, "it exists already", found)
        case Put(presence=Presence.MUST_EXIST) | Update() if item is None:
            return NotFound(schema.name, key, "it does not exist")
        case Update() if item is not None and not schema.fits(item):
            return NotFound(schema.name, key, "another entity has its key")
        case Put() | Update():
            conflict = _find_conflict(request, item)
            if conflict is not None:
                return VersionConflict(schema.name, key, conflict, found)
        case _:
            pass
    return ConditionFailed(schema.name, key, "the condition does not hold", found)


def _find_conflict(request: Put[Any] | Update[Any], item: Item | None) -> str | None:
    """Return how the version that is stored differs from the one that the writer has seen."""
    field = request.schema.version_field
    if field is None:
        return None
    if isinstance(request, Put):
        seen: int = getattr(request.entity, field.name) - 1
    elif field.name in (request.known or {}):
        seen = (request.known or {})[field.name]
    else:
        return None
    if item is None:
        return f"it was read with version {seen}, and is gone" if seen else None
    stored = item.get(field.stored, {}).get("N")
    return None if stored == str(seen) else f"it has version {stored}, and was read with {seen}"
