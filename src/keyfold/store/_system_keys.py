"""The types of ids that are system keys, found in the declaration of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, cast, get_args, get_type_hints

from pydantic import BaseModel

from keyfold.keys import Ulid
from keyfold.model._tables import Table


def find_system_keys(table: Table) -> frozenset[type[Ulid]]:
    """Return the types of system keys in a table's entities and in the parameters of its patterns.

    Types within others are found as well: in lists, unions, models and the like.
    """
    annotations = [
        *(schema.entity for schema in table.entities.values()),
        *(each.annotation for pattern in table.patterns.values() for each in pattern.parameters),
    ]
    seen: set[Any] = set()
    return frozenset(kind for each in annotations for kind in _find(each, seen))


def _find(annotation: Any, seen: set[Any]) -> Iterator[type[Ulid]]:
    if annotation is None:
        return
    # What a named alias stands for: `type Names = list[str]`.
    for each in (*get_args(annotation), getattr(annotation, "__value__", None)):
        yield from _find(each, seen)
    if not isinstance(annotation, type) or annotation in seen:
        return
    seen.add(annotation)
    if issubclass(annotation, Ulid):
        if annotation.is_system_key:
            yield annotation
        return
    for each in _members_of(cast("type[Any]", annotation)):
        yield from _find(each, seen)


def _members_of(kind: type[Any]) -> list[Any]:
    """Return the annotations of a structured type's fields."""
    if issubclass(kind, BaseModel):
        return [each.annotation for each in kind.model_fields.values()]
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return [hints[each.name] for each in fields(kind)]
    # A typed dictionary, of `typing` or `typing_extensions`, or a named tuple.
    if hasattr(kind, "__required_keys__") or hasattr(kind, "_fields"):
        return list(get_type_hints(kind).values())
    return []
