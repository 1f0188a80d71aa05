"""`Entity.change`: an update that writes what differs between an entity and itself with other values.

Its condition is that what it is based on is still stored. So a change of something outdated fails
instead of damaging the item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from types import NoneType
from typing import Any, Generic, NoReturn, TypeVar
from uuid import UUID

from pydantic import BaseModel

from keyfold.errors import FieldUnknown, KeyFieldChanged, UpdateInvalid
from keyfold.expressions import Action, Path, Remove, SetTo
from keyfold.model._changeable_fields import set_by_store_error
from keyfold.model._deferred_writes import DeferredWrite, complete_entity
from keyfold.model._formatting import show_item
from keyfold.model._mutability import is_mutable
from keyfold.model._paths import FieldPath
from keyfold.model._placeholders import Placeholder
from keyfold.model._requests import resolve_now
from keyfold.model._reserved import check_not_reserved
from keyfold.model._schemas import EntitySchema
from keyfold.model._seen_values import (
    find_seen,
    find_unstored,
    known_version,
    make_key_of,
    schema_of,
)
from keyfold.model._updates import Update
from keyfold.model._upgrades import find_upgraded, with_upgrade
from keyfold.values import Item

E_co = TypeVar("E_co", covariant=True)


def change_of(entity: Any, fields: Mapping[str, Any]) -> Update[Any]:
    """Return an update that writes what differs between an entity and itself with other values.

    Raises FieldUnknown, KeyFieldChanged, UpdateInvalid, and pydantic's ValidationError.
    """
    schema = schema_of(entity)
    schema.check_whole(entity)
    _check_changeable(schema, entity, fields)
    values = [*entity.__dict__.values(), *fields.values()]
    if any(isinstance(each, Placeholder) for each in values):
        # The change is only explained: every field that is given counts as changed.
        changed = entity.model_copy()
        changed.__dict__.update(fields)
        return _compare(schema, entity, set(fields), changed)
    changed = entity.model_copy(update=fields)
    for name in schema.key_fields:
        if getattr(changed, name) != getattr(entity, name):
            raise KeyFieldChanged(schema.name, name)
    update = _compare(schema, entity, None, changed)
    if not update.actions or schema.completion is None or not schema.completion.has_hook:
        return update
    return DeferredChange(
        schema.table,
        schema,
        update.key,
        update.values,
        entity=entity.model_copy(deep=True),
        changed=changed.model_copy(deep=True),
    )


@dataclass(frozen=True, slots=True)
class DeferredChange(DeferredWrite, Update[E_co], Generic[E_co]):
    """A change of an entity with `before_write`, which is compared when it runs."""

    entity: Any = None
    changed: Any = None

    def resolve(self, now: datetime) -> Update[E_co]:
        """Return the update as it runs at `now`."""
        completed = complete_entity(self.schema, self.changed, now)
        # What `before_write` changes in the entity itself was not read like that, or was written by
        # an older program: it is written too, on the condition that it is stored as seen.
        as_written = complete_entity(self.schema, self.entity, now)
        derived = {
            name
            for name in self.schema.fields
            if getattr(as_written, name) != getattr(self.entity, name)
        }
        update = _compare(self.schema, self.entity, derived, completed)
        return replace(
            update,
            where_condition=self.where_condition,
            expiry=self.expiry,
            known={**(update.known or {}), **(self.known or {})},
            returns_nothing=self.returns_nothing,
        )

    @property
    def changes_unique(self) -> bool:
        """Whether the update may set unique fields, which `before_write` can do."""
        return bool(self.schema.unique)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the UpdateItem call."""
        now = resolve_now(now)
        return self.resolve(now).to_dynamodb(now=now)

    def _target(self, field: FieldPath) -> NoReturn:
        fact = f"before_write() has to see {field!r} with the other changes"
        raise UpdateInvalid(self.schema.name, fact, "Pass all of them to change().")

    def __repr__(self) -> str:
        given = [
            name
            for name in self.schema.fields
            if getattr(self.changed, name) != getattr(self.entity, name)
        ]
        return f"<update {self.schema.name} {show_item(self.key)}: {', '.join(given) or 'nothing'}>"


def _compare(
    schema: EntitySchema, entity: Any, given: set[str] | None, changed: Any
) -> Update[Any]:
    """Return an update that writes what differs, and the fields that are `given`."""
    old, new = schema.encode(entity), schema.encode(changed)
    differing = _find_differing(schema, old, new)
    # What an upgrade has made is not stored yet, nor are the index keys that are made from it.
    upgraded = find_upgraded(schema, entity)
    for name in (*(given or ()), *upgraded):
        differing[name] = schema.fields[name].stored if name in schema.fields else name
    computed = [
        stored
        for stored, _ in schema.computed.values()
        if upgraded or old.get(stored) != new.get(stored)
    ]
    key, parts = make_key_of(schema, entity)
    if schema.reserved:
        check_not_reserved(schema, key)
    known, seen = known_version(schema, entity) or {}, find_seen(schema, entity)
    for name in _based_on(schema, differing, entity):
        # The version stands for changed fields. What follows from other fields needs these, as an
        # entity that was deleted and created anew may have the same version.
        is_covered = schema.version_field is not None and name in differing
        if name not in schema.key_fields and not is_covered:
            known[name] = _snapshot(getattr(entity, name, None))
    update: Update[Any] = Update(
        schema.table,
        schema,
        key,
        parts,
        tuple(_differences([*differing.values(), *computed], new)),
        assigned={name: _snapshot(getattr(changed, name, None)) for name in differing},
        known=known,
        seen=seen,
        unstored=find_unstored(schema, entity, (*seen, *known)),
        may_change_nothing=True,
    )
    return with_upgrade(update, entity, new)


def _find_differing(schema: EntitySchema, old: Item, new: Item) -> dict[str, str]:
    """Return the fields whose attributes differ, and the names of these attributes."""
    differing: dict[str, str] = {}
    completion, by_stored = schema.completion, schema.codec.by_stored
    for attribute in {**new, **old}:
        if old.get(attribute) == new.get(attribute):
            continue
        field = by_stored.get(attribute)
        if field is not None:
            # Timestamps are the store's, whatever `before_write` saw.
            if completion is None or not completion.is_set_by_store(field):
                differing[field.name] = attribute
        elif attribute not in schema.own_attributes:
            differing[attribute] = attribute
    return differing


# Types whose values nobody can change.
_IMMUTABLE = frozenset({str, int, bool, float, Decimal, bytes, date, datetime, UUID, NoneType})


def _snapshot(value: Any) -> Any:
    """Return a value as it is now."""
    return value if value.__class__ in _IMMUTABLE else deepcopy(value)


def _differences(attributes: Iterable[str], new: Item) -> Iterable[Action]:
    for name in attributes:
        path = Path((name,))
        yield SetTo(path, new[name]) if name in new else Remove(path)


def _based_on(schema: EntitySchema, differing: Iterable[str], entity: Any) -> list[str]:
    """Return the fields that a change is based on: those it changes, and what checks look at."""
    names = set(differing)
    for check in schema.cross_checks:
        if any(map(check.concerns, differing)):
            names |= check.depends or {*schema.fields, *_extra_of(entity)}
    return sorted(names)


def _extra_of(entity: BaseModel) -> Mapping[str, Any]:
    return entity.model_extra or {}


def _check_changeable(schema: EntitySchema, entity: Any, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if value is _held_by(entity, name) and is_mutable(value):
            raise _own_value_error(schema, name, value)
        if name not in schema.fields:
            if schema.codec.has_extra and name not in schema.known_names:
                continue
            raise FieldUnknown(schema.name, name, tuple(schema.fields))
        error = set_by_store_error(schema, schema.fields[name])
        if error is not None and value != getattr(entity, name):
            raise error


def _held_by(entity: BaseModel, name: str) -> Any:
    return entity.__dict__.get(name, _extra_of(entity).get(name))


def _own_value_error(schema: EntitySchema, name: str, value: Any) -> UpdateInvalid:
    fact = (
        f"{name} is the very {type(value).__name__} that the entity has, so a change inside it "
        "cannot be seen"
    )
    return UpdateInvalid(schema.name, fact, f"Pass a new one, {_show_copy(name, value)}.")


def _show_copy(name: str, value: Any) -> str:
    match value:
        case list():
            return f"such as [*entity.{name}, …]"
        case dict():
            return f"such as {{**entity.{name}, …}}"
        case set():
            return f"such as {{*entity.{name}, …}}"
        case BaseModel():
            return f"such as entity.{name}.model_copy(update=…)"
        case _:
            return f"such as a changed copy of entity.{name}"
