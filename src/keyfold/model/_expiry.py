"""What an expired item that is still stored means to conditions: that it is not there."""

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
    """Return the condition that an item's time has come; None where items do not expire."""
    if table.ttl is None:
        return None
    return Compared(Place((table.ttl,)), "<=", Given(now, _encode_whole_seconds))


def not_expired(table: TableLike) -> Condition | None:
    """Return the condition that an item's time has not come, or that it has none."""
    has_expired = expired(table)
    return None if has_expired is None else Negated(has_expired)


def _encode_whole_seconds(moment: datetime) -> AttributeValue:
    return {"N": str(whole_seconds(moment))}


def whole_seconds(moment: datetime) -> int:
    """Return the second in which a moment lies: the last that items of that moment expire at."""
    return floor(moment.timestamp())


def as_if_deleted(table: TableLike, condition: Condition | None) -> Condition | None:
    """Return the condition under which an expired item counts as one that is not there."""
    if condition is None or table.ttl is None:
        return condition
    if holds_when_absent(condition):
        return join("OR", condition, expired(table))
    return join("AND", condition, not_expired(table))
