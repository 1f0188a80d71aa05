"""Writes that the store completes when they run, because they depend on the time.

The entity gets its timestamps, and then passes through its `before_write`. Entities that have
neither are written by Put and Update themselves, whose items are encoded when they are made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from keyfold.errors import WriteRefused
from keyfold.model._placeholders import Placeholder
from keyfold.model._schemas import EntitySchema
from keyfold.model._writes import Put, Write
from keyfold.values import Item

E_co = TypeVar("E_co", covariant=True)
W = TypeVar("W", bound=Write[Any])


class DeferredWrite(ABC):
    """A write that is complete only at the time at which it runs."""

    __slots__ = ()

    @abstractmethod
    def resolve(self, now: datetime) -> Write[Any]:
        """Return the write as it runs at `now`."""


@dataclass(frozen=True, slots=True, repr=False)
class DeferredPut(DeferredWrite, Put[E_co], Generic[E_co]):
    """A put of an entity with timestamps or `before_write`."""

    def resolve(self, now: datetime, item: Item | None = None) -> Put[E_co]:
        """Return the put as it runs at `now`; `item` is its item, if that is encoded already."""
        entity: Any = complete_entity(self.schema, self.entity, now)
        return Put(
            self.table,
            self.schema,
            entity,
            self.schema.encode(entity) if item is None else item,
            self.presence,
            self.where_condition,
            self.expiry,
            self.returns_nothing,
        )

    @property
    def guard_names(self) -> frozenset[str]:
        """The names of all guards of the entity: `before_write` may set any unique field."""
        return frozenset(each.guard for each in self.schema.unique.values())

    def resolve_item(self, now: datetime) -> Item:
        """Return the item as a request that runs at `now` stores it."""
        return self.resolve(now).resolve_item(now)


def resolve_write(request: W, now: datetime) -> W:
    """Return a write as it runs at `now`."""
    return cast(W, request.resolve(now)) if isinstance(request, DeferredWrite) else request


def defer_put(put: Put[E_co]) -> Put[E_co]:
    """Return a put that the store completes, with the entity as it is now."""
    entity: Any = put.entity
    snapshot = entity.model_copy(deep=True)
    return DeferredPut(put.table, put.schema, snapshot, put.item, put.presence)


def complete_entity(schema: EntitySchema, entity: Any, now: datetime) -> Any:
    """Return an entity as it is written at `now`: with timestamps, and after its `before_write`.

    Raises WriteRefused if `before_write` returns another entity.
    """
    completion = schema.completion
    held: dict[str, Any] = entity.__dict__
    if completion is None or any(isinstance(each, Placeholder) for each in held.values()):
        return entity
    stamped = entity.model_copy()
    if completion.created is not None and getattr(entity, completion.created.name) is None:
        stamped.__dict__[completion.created.name] = now
    if completion.updated is not None:
        stamped.__dict__[completion.updated.name] = now
    if not completion.has_hook:
        return stamped
    written = stamped.before_write(now)
    _check_same(schema, stamped, written)
    return written


def _check_same(schema: EntitySchema, entity: Any, written: Any) -> None:
    advice = "Return the entity, or a copy with other values: self.model_copy(update={…})."
    if type(written) is not type(entity):
        fact = f"before_write() returned {written!r:.80}"
        raise WriteRefused(schema.name, fact, advice)
    fixed = set(schema.key_fields)
    if schema.version_field is not None:
        fixed.add(schema.version_field.name)
    for name in sorted(fixed):
        if getattr(written, name) != getattr(entity, name):
            owner = "part of the key" if name in schema.key_fields else "the Version field"
            fact = f"before_write() changed {name}, which is {owner}"
            raise WriteRefused(schema.name, fact, advice)
