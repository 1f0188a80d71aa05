"""How fields of entities are declared: their stored names, and types with a meaning of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import PydanticUndefined


@dataclass(frozen=True, slots=True)
class Stored:
    """How a field is stored: under which name, or not at all since keys carry it."""

    name: str | None = None
    is_part: bool = False
    allows_float: bool = False


@dataclass(frozen=True, slots=True)
class UnixSeconds:
    """A datetime that is stored as a number: seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Expires:
    """The time after which an item is gone; whole seconds since 1970."""


@dataclass(frozen=True, slots=True)
class CountsWrites:
    """A number that every write adds one to, so that lost updates are noticed."""


UnixTime = Annotated[datetime, UnixSeconds()]
Expiry = Annotated[datetime, UnixSeconds(), Expires()]
Version = Annotated[int, CountsWrites()]


def attr(
    name: str | None = None,
    *,
    default: Any = PydanticUndefined,
    default_factory: Callable[[], Any] | None = None,
    allow_float: bool = False,
    **constraints: Any,
) -> Any:
    """Declare a field that is stored, under another name or with a default.

    `constraints` are pydantic's own, such as `gt=0` or `max_length=40`. A float loses digits
    that DynamoDB's numbers would keep; a field that is to hold one says `allow_float=True`.
    """
    return _field(Stored(name, allows_float=allow_float), default, default_factory, constraints)


def part(
    *,
    default: Any = PydanticUndefined,
    default_factory: Callable[[], Any] | None = None,
    **constraints: Any,
) -> Any:
    """Declare a field that lives in the item's keys alone, and comes back from them."""
    return _field(Stored(is_part=True), default, default_factory, constraints)


def _field(
    stored: Stored,
    default: Any,
    default_factory: Callable[[], Any] | None,
    constraints: dict[str, Any],
) -> Any:
    if default_factory is not None:
        constraints["default_factory"] = default_factory
    elif default is not PydanticUndefined:
        constraints["default"] = default
    field = Field(**constraints)
    # Pydantic keeps what it does not know beside what it does, so its aliases stay the user's.
    field.metadata.append(stored)
    return field
