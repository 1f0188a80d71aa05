"""Conditions that treat an expired item as deleted, although it is still stored."""

from __future__ import annotations

from datetime import datetime
from math import floor

from keyfold.model._expressions import (
    Compared,
    Condition,
    Given,
    Negated,
    Place,
    holds_when_absent,
    join,
)
from keyfold.model._keys import TableLike
from keyfold.model._moments import now
from keyfold.values import AttributeValue


def expired(table: TableLike) -> Condition | None:
    """Return the condition that an item has expired; None for a table without a TTL."""
    if table.ttl is None:
        return None
    return Compared(Place((table.ttl,)), "<=", Given(now, _encode_whole_seconds))


def not_expired(table: TableLike) -> Condition | None:
    """Return the condition that an item has not expired, or never does; None without a TTL."""
    has_expired = expired(table)
    return None if has_expired is None else Negated(has_expired)


def _encode_whole_seconds(time: datetime) -> AttributeValue:
    return {"N": str(whole_seconds(time))}


def whole_seconds(time: datetime) -> int:
    """Return a Unix time in whole seconds, rounded down: items up to this expiry have expired."""
    return floor(time.timestamp())


def as_if_deleted(table: TableLike, condition: Condition | None) -> Condition | None:
    """Return a condition that treats an expired item as deleted."""
    if condition is None or table.ttl is None:
        return condition
    if holds_when_absent(condition):
        return join("OR", condition, expired(table))
    return join("AND", condition, not_expired(table))
