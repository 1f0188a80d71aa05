"""Declarations of entity fields: stored names, key parts, and the types UnixTime, Expiry, Version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticUndefined

from keyfold.errors import DeclarationInvalid
from keyfold.model._own_codecs import Codec
from keyfold.model._scalars import round_expiry


@dataclass(frozen=True, slots=True)
class Stored:
    """How a field is stored: its attribute name, or that it is part of the key alone."""

    name: str | None = None
    is_part: bool = False
    # Former attribute names, the newest first.
    former: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnixSeconds:
    """A datetime that is stored as a number: Unix time, in seconds."""


@dataclass(frozen=True, slots=True)
class Expires:
    """A datetime at which the item expires (TTL); stored as Unix time, in whole seconds."""


@dataclass(frozen=True, slots=True)
class CountsWrites:
    """A version for optimistic locking: writes increment it, and fail if it changed since the read.

    The failure is a VersionConflict.
    """


@dataclass(frozen=True, slots=True)
class TimeOfCreation:
    """The time at which the entity was created, by the store's clock.

    The store sets it in the first write, unless it has a value already. Declare it with None as its
    default, as the entity has no such time before. For a Unix time: `Annotated[UnixTime, CreatedAt]`.
    """


@dataclass(frozen=True, slots=True)
class TimeOfWrite:
    """The time of the last write of the entity, by the store's clock.

    The store sets it in every write. Declare it with None as its default, as the entity has no such
    time before the first. For a Unix time: `Annotated[UnixTime, UpdatedAt]`.
    """


def _to_whole_seconds(value: datetime) -> datetime:
    """Round an expiry down to whole seconds, as it is stored: index keys are made from the same time."""
    return value if not value.microsecond else round_expiry(value)


UnixTime = Annotated[datetime, UnixSeconds()]
Expiry = Annotated[datetime, AfterValidator(_to_whole_seconds), UnixSeconds(), Expires()]
Version = Annotated[int, CountsWrites()]
CreatedAt = Annotated[datetime, TimeOfCreation()]
UpdatedAt = Annotated[datetime, TimeOfWrite()]


def attr(
    name: str | None = None,
    *,
    was: str | Sequence[str] = (),
    codec: Codec[Any] | None = None,
    default: Any = PydanticUndefined,
    default_factory: Callable[[], Any] | None = None,
    **constraints: Any,
) -> Any:
    """Declare a stored field with another attribute name, a default or constraints.

    `was` has former attribute names, the newest first: an item that is still stored under one of
    them is read, and the next write of the field stores the current name. `codec` says how values
    are stored, for types of your own. `constraints` are pydantic's, such as `gt=0` or
    `max_length=40`.
    """
    former = (was,) if isinstance(was, str) else tuple(was)
    return _field(Stored(name, former=former), codec, default, default_factory, constraints)


def part(
    *,
    codec: Codec[Any] | None = None,
    default: Any = PydanticUndefined,
    default_factory: Callable[[], Any] | None = None,
    **constraints: Any,
) -> Any:
    """Declare a field that is stored only as part of the item's key, and read back from it.

    `codec` makes the text or number that the key holds, for types of your own.
    """
    return _field(Stored(is_part=True), codec, default, default_factory, constraints)


def _field(
    stored: Stored,
    codec: Codec[Any] | None,
    default: Any,
    default_factory: Callable[[], Any] | None,
    constraints: dict[str, Any],
) -> Any:
    if default_factory is not None:
        constraints["default_factory"] = default_factory
    elif default is not PydanticUndefined:
        constraints["default"] = default
    field = Field(**constraints)
    # Pydantic keeps unknown metadata. The attribute name is not a pydantic alias, so aliases remain
    # free for the user.
    field.metadata.append(stored)
    if codec is not None:
        if not isinstance(codec, Codec):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise DeclarationInvalid((f"codec must be a keyfold.Codec; got {codec!r:.80}.",))
        field.metadata.append(codec)
    return field
