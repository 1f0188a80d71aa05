"""Samples of types, with which declarations are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, get_args, get_origin
from uuid import UUID

from pydantic import SecretBytes, SecretStr, TypeAdapter

from keyfold.keys import Ulid

_SAMPLES: tuple[tuple[type[Any], tuple[Any, ...]], ...] = (
    (bool, (True,)),
    (int, (5,)),
    (float, (0.5,)),
    (Decimal, (Decimal(5), Decimal("0.5"))),
    (str, ("text",)),
    (bytes, (b"bytes",)),
    (datetime, (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 1, 2, 3, 4, tzinfo=UTC))),
    (date, (date(2024, 1, 1),)),
    (time, (time(1, 2, 3),)),
    (timedelta, (timedelta(seconds=2), timedelta(seconds=1.5))),
    (UUID, (UUID(int=1),)),
    (SecretStr, (SecretStr("secret"),)),
    (SecretBytes, (SecretBytes(b"secret"),)),
)

# Texts of types that are stored as text: URLs, IP addresses, paths and others.
_TEXTS = (
    "https://example.com/a", "postgres://u@example.com/d", "10.0.0.1", "10.0.0.0/8", "::1", "::/8",
    "ada@example.com", "UTC", "1/3", "1+2j", "text",
)  # fmt: skip


def guess_samples(adapter: TypeAdapter[Any]) -> list[Any]:
    """Return values of a type that common texts are valid for."""
    found: list[Any] = []
    for text in _TEXTS:
        with suppress(Exception):  # a user's validator may raise anything
            found.append(adapter.validate_python(text))
    return found


def samples_of(option: Any) -> list[Any]:
    """Return values of a type; none if it is not a common one."""
    origin, arguments = get_origin(option), get_args(option)
    if origin is Annotated:
        return samples_of(arguments[0])
    if isinstance(option, NewType):
        return samples_of(option.__supertype__)
    if origin is Literal:
        return [*arguments]
    if origin is not None:
        return _collections_of(origin, arguments)
    if not isinstance(option, type):
        return []
    if issubclass(option, Enum):
        return [*option]
    if issubclass(option, Ulid):
        return [option.at(datetime(2024, 1, 1, tzinfo=UTC))]
    for kind, samples in _SAMPLES:
        if option is kind:
            return [*samples]
    return []


def _collections_of(origin: Any, arguments: tuple[Any, ...]) -> list[Any]:
    members = samples_of(arguments[0]) if arguments else []
    if not members:
        return []
    if origin in (list, Sequence):
        return [members]
    if origin is tuple:
        return [tuple(members)] if arguments[-1] is Ellipsis else []
    if origin in (set, frozenset):
        return [origin(members)]
    if origin in (dict, Mapping):
        values = samples_of(arguments[1])
        return [{members[0]: values[0]}] if values else []
    return []
