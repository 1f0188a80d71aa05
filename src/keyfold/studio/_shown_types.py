"""Types of fields as their declaration writes them: `Expiry | None`, `dict[ProductId, CartLine]`."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from keyfold.model._codecs import StoredField
from keyfold.model._fields import (
    CountsWrites,
    Expires,
    TimeOfCreation,
    TimeOfWrite,
    UnixSeconds,
)

# The types of the model, by the mark that each has; an expiry is a Unix time as well.
_MARKS: tuple[tuple[type, str], ...] = (
    (Expires, "Expiry"),
    (CountsWrites, "Version"),
    (TimeOfCreation, "CreatedAt"),
    (TimeOfWrite, "UpdatedAt"),
    (UnixSeconds, "UnixTime"),
)


def show_field_type(field: StoredField) -> str:
    """Return the type of a field, as its declaration writes it."""
    return show_type(field.annotation, field.metadata)


def show_type(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """Return a type as a declaration writes it, without modules and constraints.

    >>> from datetime import datetime
    >>> show_type(dict[str, list[datetime | None]])
    'dict[str, list[datetime | None]]'
    >>> from keyfold import Expiry
    >>> show_type(Expiry | None)
    'Expiry | None'
    """
    for mark, name in _MARKS:
        if any(isinstance(each, mark) for each in metadata):
            return name
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return show_type(arguments[0], arguments[1:])
    if origin in (Union, UnionType):
        return " | ".join(map(show_type, arguments))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if annotation is NoneType:
        return "None"
    if annotation is Ellipsis:
        return "..."
    if origin is not None:
        return f"{show_type(origin)}[{', '.join(map(show_type, arguments))}]"
    name: str = getattr(annotation, "__name__", "") or str(annotation)
    return name.removeprefix("typing.")
