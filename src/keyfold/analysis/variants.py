"""Variants of values: others of the same type, with which examples are multiplied."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from keyfold.keys import Ulid

M = TypeVar("M", bound=BaseModel)

_STEP = timedelta(minutes=1)


def vary(value: Any, number: int) -> Any:
    """Return another value of the same type, different for each number; the same if there is none.

    >>> vary("ada", 2), vary(7, 2), vary(date(2024, 1, 1), 2)
    ('ada-2', 9, datetime.date(2024, 1, 3))
    """
    match value:
        case bool():
            return value is (number % 2 == 0)
        case Enum():
            members = [*type(value)]
            return members[(members.index(value) + number) % len(members)]
        case Ulid():
            return type(value).at(value.time + number * _STEP)
        case str():
            return f"{value}-{number}"
        case int() | float() | Decimal():
            return value + number
        case datetime():
            return value + number * _STEP
        case date():
            return value + timedelta(days=number)
        case timedelta():
            return value + timedelta(seconds=number)
        case UUID():
            return UUID(int=(value.int + number) % 2**128)
        case _:
            return value


def vary_fields(entity: M, names: frozenset[str], number: int) -> M | None:
    """Return an entity with other values in some fields; None if its validation refuses them."""
    changes: Mapping[str, Any] = {
        name: vary(getattr(entity, name), number)
        for name in names
        if getattr(entity, name, None) is not None
    }
    try:
        return entity.model_copy(update=changes)
    except (ValidationError, ValueError, OverflowError):
        return None
