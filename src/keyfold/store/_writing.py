"""The plan of writes of one entity, and the errors of conditions that fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from keyfold.errors import (
    AlreadyExists,
    ConditionalCheckFailedException,
    ConditionFailed,
    ItemInvalid,
    KeyfoldError,
    NotFound,
    OutOfBounds,
    RequestRefused,
    VersionConflict,
)
from keyfold.expressions.conditions import compile_condition
from keyfold.model._any_values import decode_any
from keyfold.model._calls import STORE, ApiCall, Calls
from keyfold.model._expectations import has_another_form
from keyfold.model._expiry import whole_seconds
from keyfold.model._formatting import show_item
from keyfold.model._former_names import find_former_name
from keyfold.model._reads import Get, ResultShape
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._updates import Update
from keyfold.model._upgrades import find_rewritten
from keyfold.model._upserts import Upsert
from keyfold.model._writes import Delete, Presence, Put, Write, copy_unchecked
from keyfold.store._decoding import SKIPPED, Decoder, is_expired
from keyfold.store._outdated_items import (
    Renewal,
    has_former_name,
    may_be_outdated,
    plan_renewal,
)
from keyfold.store._plans import Plan, RunContext, retry
from keyfold.values import AttributeValue, Item


class _ExpiredLeftover(ConditionFailed):
    """An upsert found an item that has expired, and must not be updated.

    Private: every error that users can import has a code of its own. To them this is a ConditionFailed.
    """


def is_expired_leftover(error: ConditionFailed) -> bool:
    """Return whether an upsert failed because an expired item still has its key."""
    return isinstance(error, _ExpiredLeftover)


def plan_write(
    context: RunContext, request: Write[Any], calls: Calls, *, may_renew: bool = True
) -> Plan[Any]:
    """Write one entity, and return it as stored; raises ConditionFailed and its subclasses.

    `may_renew` if an item in an old form is brought up to date, and the update repeated.
    """
    (call,) = calls
    if context.store.reports_capacity:
        call.request["ReturnConsumedCapacity"] = "TOTAL"
    try:
        try:
            response = yield call
        except KeyfoldError as error:
            response = yield from retry(context, request, call, error)
    except RequestRefused as error:
        if may_renew and may_be_outdated(request, error):
            renewal = yield from plan_renewal(context, request)
            if renewal is not Renewal.NOT_POSSIBLE:
                return (yield from _repeat(context, request, renewal))
        raise
    except ConditionalCheckFailedException as error:
        item = error.fields.get("Item")
        if isinstance(request, Update):
            if item is not None and _is_as_seen(request, item):
                return (yield from _repeat(context, replace(request, as_stored=item)))
            if may_renew and has_former_name(request, item):
                renewal = yield from plan_renewal(context, request)
                if renewal is not Renewal.NOT_POSSIBLE:
                    return (yield from _repeat(context, request, renewal))
        failure = explain_failure(context, request, item)
        if is_nothing_to_delete(request, failure):
            return None
        raise failure from None
    return _result_of(context, request, response.get("Attributes"))


def _repeat(
    context: RunContext, request: Update[Any], renewal: Renewal = Renewal.DONE
) -> Plan[Any]:
    """Send an update again, which was allowed the first time."""
    again = ApiCall(request.operation, request.to_dynamodb(now=context.now), authority=STORE)
    return plan_write(context, request, (again,), may_renew=renewal is Renewal.DONE)


def _is_as_seen(request: Update[Any], item: Item) -> bool:
    """Return whether an item has what an instance has seen of it, if perhaps in another form.

    Another program, or an older version of this one, may store the same values in another way, or
    not have stored the defaults inside a nested model. The condition then compares with the item.
    """
    expected = request.expected()
    if request.seen is None or request.as_stored is not None or not expected:
        return False
    try:
        found = request.schema.decode(item)
    except ItemMismatch:
        return False
    is_same = all(getattr(found, name, None) == value for name, value in expected.items())
    return is_same and has_another_form(request.schema, expected, item)


def _result_of(context: RunContext, request: Write[Any], attributes: Item | None) -> Any:
    match request:
        case Put():
            return written(context, request)
        case Update() | Delete():
            return None if attributes is None else decode_written(context, request, attributes)
        case _:
            return None


def written(context: RunContext, request: Put[Any]) -> Any:
    """Return a written entity as stored, with the expiry time that was set by the write."""
    if request.expiry is None:
        return request.entity
    field = request.schema.ttl_field
    assert field is not None  # only entities with a TTL field have an expiry
    expires = request.resolve_item(context.now)[field.stored]
    decode = field.codec.decode or decode_any
    return copy_unchecked(request.entity, {field.name: decode(expires)})


def decode_item(
    context: RunContext, schema: EntitySchema, item: Mapping[str, AttributeValue]
) -> Any:
    """Return the entity in an item; None if it has expired or is of another entity."""
    return decode_for(context, Get(schema.table, {}, ResultShape(schema)), item)


def decode_written(context: RunContext, request: Write[Any], item: Item) -> Any:
    """Return the entity that was updated or deleted.

    Raises ItemInvalid, whose reason says that the write was carried out.
    """
    schema = request.schema
    try:
        if schema is schema.table.fallback:
            # A write by any key: the item may be of an entity that is declared for such keys.
            return decode_for(context, Get(schema.table, {}, ResultShape(None)), item)
        return decode_item(context, schema, item)
    except ItemInvalid as error:
        done = "was deleted" if isinstance(request, Delete) else "was changed"
        raise ItemInvalid(
            error.table, error.key, f"it {done}, and is invalid: {error.reason}"
        ) from None


def decode_for(context: RunContext, request: Get[Any], item: Mapping[str, AttributeValue]) -> Any:
    """Return the result of a get in a batch or transaction; None for an item to be skipped.

    Raises ItemInvalid.
    """
    found = Decoder(context, request, on_invalid="raise").decode(item, request.known)
    return None if found is SKIPPED else found


def explain_failure(context: RunContext, request: Write[Any], item: Item | None) -> ConditionFailed:
    """Return the error of a failed condition, by the item that exists instead.

    A request with `returns_nothing` gets the general error, which reveals nothing of the item.
    """
    schema = request.schema
    key = show_item(request.item_key)
    if isinstance(request, Delete) and _is_left_to_others(request, item):
        return NotFound(schema.name, key, "another entity has its key")
    if request.returns_nothing:
        return ConditionFailed(schema.name, key, "the condition does not hold")
    ttl = schema.table.ttl
    if item is not None and ttl is not None and is_expired(item, ttl, whole_seconds(context.now)):
        item = None
    found: Any = None
    # An item of another entity may have the key, with another type attribute.
    if item is not None and schema.fits(item):
        try:
            found = schema.decode(item)
        except ItemMismatch:
            found = None
    match request:
        case Put(presence=Presence.MUST_NOT_EXIST) if item is not None:
            return AlreadyExists(schema.name, key, "it already exists", found)
        case Upsert() if item is None:
            return _ExpiredLeftover(schema.name, key, "an expired item still has its key", None)
        case Put(presence=Presence.MUST_EXIST) | Update() if item is None:
            return NotFound(schema.name, key, "it does not exist")
        case Put(presence=Presence.MUST_EXIST) | Update() if item and not schema.fits(item):
            return NotFound(schema.name, key, "another entity has its key")
        case Put() | Update() | Delete():
            conflict = _find_conflict(request, item, found)
            if conflict is not None:
                return VersionConflict(schema.name, key, conflict, found)
            broken = _find_bound(request, item)
            if broken is not None:
                return OutOfBounds(schema.name, key, broken, found)
            if isinstance(request, Update) and item is not None:
                former = find_former_name(schema.codec, request.actions, item)
                if former is not None:
                    fact = f"it is stored under the former name {former!r}; run keyfold backfill"
                    return ConditionFailed(schema.name, key, fact, found)
        case _:
            pass
    return ConditionFailed(schema.name, key, "the condition does not hold", found)


def is_nothing_to_delete(request: Write[Any], failure: Exception | None) -> bool:
    """Return whether a deletion failed because the entity does not exist: it then returns None."""
    return isinstance(request, Delete) and isinstance(failure, NotFound)


def _is_left_to_others(request: Delete[Any], item: Item | None) -> bool:
    """Return whether a deletion failed for no other reason than that the item is of another entity."""
    condition = request.other_entities()
    if condition is None or request.needs_entity:
        return False
    if request.returns_nothing and request.own_condition() is not None:
        # Which of the two failed would reveal something of the item.
        return False
    if item is None:
        # There is no other condition, apart from those on the guards of unique fields.
        return request.returns_nothing and not request.schema.unique
    return not compile_condition(condition).holds(item)


def _find_bound(request: Write[Any], item: Item | None) -> str | None:
    """Return what the bound says that an update would violate; None if it violates none."""
    if isinstance(request, Update):
        for each in request.bounds:
            condition = request.schema.with_former_names(each.condition)
            if not compile_condition(condition).holds(item or {}):
                return each.fact
    return None


def _find_conflict(
    request: Put[Any] | Update[Any] | Delete[Any], item: Item | None, found: Any
) -> str | None:
    """Return how the stored entity differs from the one that the writer read; None if it agrees."""
    field = request.schema.version_field
    if field is None:
        return _find_changed(request, item, found)
    seen: int | None
    match request:
        case Put():
            seen = getattr(request.entity, field.name) - 1
        case Update(known=known):
            if field.name not in (known or {}):
                return None
            seen = (known or {})[field.name]
        case Delete(seen_version=seen):
            if seen is None:
                return None
    if item is None:
        return f"it was read with version {seen}, and no longer exists" if seen else None
    stored = (field.find(item) or {}).get("N")
    if stored == (str(seen) if seen else None):
        return _find_changed(request, item, found)
    return f"it was read with version {seen or 0}, and now has {stored}"


def _find_changed(request: Write[Any], item: Item | None, found: Any) -> str | None:
    """Return what of an instance was changed since it was read; None if nothing was."""
    if not isinstance(request, Update) or request.seen is None or item is None or found is None:
        return None
    changed = [
        name for name, value in request.expected().items() if getattr(found, name, None) != value
    ]
    if request.upgraded_from:
        changed += find_rewritten(request.schema, request.upgraded_from, item)
    return f"{', '.join(changed)} changed since it was read" if changed else None
