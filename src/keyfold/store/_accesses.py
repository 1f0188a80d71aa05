"""The accesses of requests, which a policy is evaluated on.

They are derived from the request alone, before any call is made, and are those of the calls that
the request becomes. Calls on the guard items of unique fields are left out: the store makes them
on its own account, and some depend on what is stored.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from keyfold.expressions import Condition, DeferredValue, Remove, SetTo
from keyfold.model._batches import Batch
from keyfold.model._collections import CollectionGet
from keyfold.model._operands import attributes_in
from keyfold.model._paged_reads import Count, First, Query, Scan
from keyfold.model._reads import Get
from keyfold.model._requests import Chain, Mapped, Request
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update
from keyfold.model._writes import Check, CreateOrGet, Delete, Presence, Put, Write
from keyfold.policy import Access, Right
from keyfold.values import AttributeValue, Item

_CREATE = Right.CREATE.value
_UPDATE = Right.UPDATE.value
_EITHER = _CREATE | _UPDATE
# Attribute access on an enum class is slow.
_ANY_PRESENCE = Presence.ANY


def read_accesses(request: Request[Any], now: datetime) -> list[Access]:
    """Return the accesses of a request at a given time; of a chain, those of its first step.

    A lookup chain has none: its first step is not checked against the caller's role.
    """
    match request:
        case Get() | Write():
            return [read_access(request, now)]
        case Query() | Scan():
            return [_read_page(cast(Query[Any] | Scan[Any], request))]
        case First(query=query) | CollectionGet(query=query):
            return [_read_page(query)]
        case Count(query=query):
            return [_read_page(query, is_whole=True)]
        case CreateOrGet(put=put):
            return [read_access(put, now)]
        case Mapped(request=inner):
            return read_accesses(inner, now)
        case Chain(first=first, is_lookup=is_lookup):
            return [] if is_lookup else read_accesses(first, now)
        case Transaction(requests=members):
            # Members of a transaction have no ReturnValues.
            return [read_access(each, now)._replace(return_values=None) for each in members]
        case Batch(requests=members):
            return [read_member(each, now) for each in members]
        case _:
            raise TypeError(f"{request!r:.80} is not a request")


def read_access(request: Get[Any] | Write[Any], now: datetime) -> Access:
    """Return the access of a request for one item."""
    if isinstance(request, Get):
        return _read_get(request)
    condition = request.condition()
    match request:
        case Put():
            item = request.resolve_item(now)
            return Access(
                "PutItem",
                request.table.name,
                rights=Right(put_rights(request)),
                partition=_partition(request, item),
                attributes=frozenset(item) | _names(condition),
                written=item,
                return_values="NONE",
                returns_on_failure=condition is not None and not request.returns_nothing,
            )
        case Update():
            return Access(
                "UpdateItem",
                request.table.name,
                rights=Right.UPDATE,
                partition=_partition(request, request.key),
                attributes=(
                    frozenset(request.key)
                    | attributes_in(*request.all_actions(now))
                    | _names(condition)
                ),
                written=written_by(request, now),
                return_values="NONE" if request.returns_nothing else "ALL_NEW",
                returns_on_failure=not request.returns_nothing,
            )
        case Delete():
            return Access(
                "DeleteItem",
                request.table.name,
                rights=Right.DELETE,
                partition=_partition(request, request.key),
                attributes=frozenset(request.key) | _names(condition),
                return_values="NONE" if request.returns_nothing else "ALL_OLD",
                returns_on_failure=condition is not None and not request.returns_nothing,
            )
        case Check():
            return Access(
                "ConditionCheckItem",
                request.table.name,
                rights=Right.GET,
                partition=_partition(request, request.key),
                attributes=frozenset(request.key) | _names(condition),
                returns_on_failure=not request.returns_nothing,
            )
        case _:
            raise TypeError(f"{request!r:.80} is not a request for one item")


def read_member(request: Get[Any] | Put[Any] | Delete[Any], now: datetime) -> Access:
    """Return the access of a member of a batch."""
    access = read_access(request, now)
    if isinstance(request, Get):
        return access._replace(action="BatchGetItem")
    return access._replace(action="BatchWriteItem", return_values=None)


def put_rights(request: Put[Any]) -> int:
    """Return the rights that a put needs: to create, to replace, or both if it may do either.

    An expired item counts as absent, even if it is still stored. Returns the integer value of the
    rights, since this runs for every put.
    """
    if request.presence is not _ANY_PRESENCE:
        return _CREATE if request.presence is Presence.MUST_NOT_EXIST else _UPDATE
    version = request.schema.version_field
    # A put of version 1 does not replace anything.
    if version is not None and getattr(request.entity, version.name) == 1:
        return _CREATE
    return _EITHER


def written_by(request: Update[Any], now: datetime) -> dict[str, AttributeValue | None]:
    """Return what an update writes, by attribute.

    {} stands for an attribute that is removed, None for a value that depends on the stored item.
    """
    written: dict[str, AttributeValue | None] = {**request.key}
    for action in request.all_actions(now):
        name = str(action.path.steps[0])
        match action:
            case SetTo(_, dict(value)) if len(action.path.steps) == 1:
                written[name] = value
            case SetTo(_, DeferredValue() as value) if len(action.path.steps) == 1:
                written[name] = value.resolve(now)
            case Remove() if len(action.path.steps) == 1:
                written[name] = {}
            case _:
                written[name] = None
    return written


def _read_get(request: Get[Any]) -> Access:
    names = request.shape.projection(request.table, None)
    return Access(
        "GetItem",
        request.table.name,
        rights=Right.GET,
        partition=_partition(request, request.key),
        attributes=None if names is None else frozenset(request.key).union(names),
        select="ALL_ATTRIBUTES" if names is None else "SPECIFIC_ATTRIBUTES",
    )


def _read_page(request: Query[Any] | Scan[Any], *, is_whole: bool = False) -> Access:
    """Return the access of a query or scan; with `is_whole`, it reads all attributes of items."""
    index = request.index
    names = None if is_whole else request.shape.projection(request.table, index)
    attributes, partition = None, None
    if names is not None:
        attributes = frozenset(names) | _names(request.filter)
    if isinstance(request, Query):
        key, keys = request.table.key if index is None else index.key, request.keys
        partition = tuple(value for _, value in keys.equals[: len(key.partition)])
        if attributes is not None:
            attributes = attributes.union(name for name, _ in keys.equals)
            if keys.range is not None:
                # The range is on the key attribute after those with equality.
                attributes |= {key.names[len(keys.equals)]}
    whole = "ALL_ATTRIBUTES" if index is None else "ALL_PROJECTED_ATTRIBUTES"
    return Access(
        request.operation,
        request.table.name,
        None if index is None else index.name,
        Right.QUERY,
        partition,
        attributes,
        select=whole if names is None else "SPECIFIC_ATTRIBUTES",
    )


def _partition(request: Get[Any] | Write[Any], item: Item) -> tuple[AttributeValue, ...]:
    return (item[request.table.key.partition[0]],)


def _names(condition: Condition | None) -> frozenset[str]:
    return frozenset() if condition is None else frozenset(attributes_in(condition))
