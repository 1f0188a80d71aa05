"""Conditions that treat an expired item as deleted, although it is still stored."""

from __future__ import annotations

from datetime import datetime
from math import floor

from keyfold.expressions import Comparison, Condition, Not, Path, holds_for_absent_item, join_all
from keyfold.model._keys import TableLike
from keyfold.model._moments import now
from keyfold.model._operands import to_literal
from keyfold.values import AttributeValue


def expired(table: TableLike) -> Condition | None:
    """Return the condition that an item has expired; None for a table without a TTL."""
    if table.ttl is None:
        return None
    return Comparison("<=", Path((table.ttl,)), to_literal(now, _encode_whole_seconds))


def not_expired(table: TableLike) -> Condition | None:
    """Return the condition that an item has not expired, or never does; None without a TTL."""
    has_expired = expired(table)
    return None if has_expired is None else Not(has_expired)


def _encode_whole_seconds(time: datetime) -> AttributeValue:
    return {"N": str(whole_seconds(time))}


def whole_seconds(time: datetime) -> int:
    """Return a Unix time in whole seconds, rounded down: items up to this expiry have expired."""
    return floor(time.timestamp())


def as_if_deleted(table: TableLike, condition: Condition | None) -> Condition | None:
    """Return a condition that treats an expired item as deleted."""
    if condition is None or table.ttl is None:
        return condition
    if holds_for_absent_item(condition):
        has_expired = expired(table)
        return condition if has_expired is None else condition | has_expired
    return join_all(condition, not_expired(table))
