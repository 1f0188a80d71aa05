"""Upserts: updates that create the entity if it does not exist, in one UpdateItem call.

DynamoDB creates an item that an update does not find. So the update also has to set what a new
entity has: each attribute to its value `if_not_exists`, and counters and lists start with their
first value. Anything that depends on the values of an existing entity is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NoReturn, TypeVar

from pydantic import BaseModel

from keyfold.errors import FieldUnknown, KeyFieldChanged, UpdateInvalid, ValidationException
from keyfold.expressions import (
    Action,
    AddTo,
    Arithmetic,
    Condition,
    DeferredValue,
    DeleteFrom,
    FunctionCall,
    Path,
    SetTo,
    Source,
)
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.updates import compile_update
from keyfold.model._any_values import decode_any
from keyfold.model._checked_changes import check_field
from keyfold.model._codecs import StoredField
from keyfold.model._deferred_writes import complete_entity
from keyfold.model._paths import FieldPath, field_path, path_info
from keyfold.model._placeholders import Placeholder, has_placeholder
from keyfold.model._requests import resolve_now
from keyfold.model._schemas import EntitySchema
from keyfold.model._updates import Update
from keyfold.model._value_codecs import SETS, is_unstored
from keyfold.model._value_validation import rules_of
from keyfold.values import AttributeValue, Item

E_co = TypeVar("E_co", covariant=True)

_ZERO: AttributeValue = {"N": "0"}
_INSTEAD = "Use create().or_get(), and then update()."


@dataclass(frozen=True, slots=True)
class Upsert(Update[E_co], Generic[E_co]):
    """A request that updates an entity, or creates it; returns the entity as stored."""

    # The entity that is created, but for what depends on the time.
    entity: Any = None
    # The first values of counters and lists, by attribute.
    starts: Mapping[str, AttributeValue] | None = None

    def condition(self) -> Condition | None:
        """Return the condition of the update for an existing entity; an absent one needs none."""
        key = (Path((self.schema.partition.attribute,)),)
        existing = super(Upsert, self).condition()
        if existing is None or existing == FunctionCall("attribute_exists", key):
            return None
        return FunctionCall("attribute_not_exists", key) | existing

    def all_actions(self, now: datetime) -> tuple[Action, ...]:
        """Return the changes, and those that make a whole entity of an item that did not exist."""
        starting = tuple(_start(each, self.starts or {}) for each in self.actions)
        changed = [str(action.path.steps[0]) for action in self.actions]
        new = self.schema.encode(self.entity_at(now))
        return self.finish_actions([*starting, *self._creating(new, changed)], now)

    def _creating(self, new: Item, changed: list[str]) -> Iterator[Action]:
        """Yield the actions that set what the update does not change."""
        schema = self.schema
        handled = {part.attribute for part in schema.keys}.union(changed)
        handled.update(part.attribute for part in self.changed_index_parts())
        for field in (schema.version_field, self.expiry and schema.ttl_field):
            handled.update(() if not field else (field.stored,))
        if schema.completion is not None and schema.completion.updated is not None:
            handled.add(schema.completion.updated.stored)
        for attribute, value in new.items():
            if attribute not in handled:
                path = Path((attribute,))
                yield SetTo(path, FunctionCall("if_not_exists", (path, value)))

    def entity_at(self, now: datetime) -> Any:
        """Return the entity that a request that runs at `now` creates."""
        entity = self.entity
        if any(_is_deferred(action) for action in self.actions):
            changed = _evaluate(self, self.starts or {}, now)
            entity = _validate(self.schema, {**entity.__dict__, **changed})
        return complete_entity(self.schema, entity, now)

    @property
    def _changes(self) -> bool:
        """Whether it changes anything: a new entity has to be written, even by an empty update."""
        return True

    def _target(self, field: FieldPath) -> NoReturn:
        fact = f"or_create() has to see {field!r} with the other changes"
        raise UpdateInvalid(self.schema.name, fact, "Name all changes before or_create().")

    def __repr__(self) -> str:
        return f"{super(Upsert, self).__repr__()[:-1]}, or create>"


def make_upsert(update: Update[E_co], fields: Mapping[str, Any]) -> Upsert[E_co]:
    """Return an update that creates the entity, with these fields besides, if it does not exist.

    Raises UpdateInvalid for what one call cannot express, and pydantic's ValidationError.
    """
    schema = update.schema
    _check_fields(update, fields)
    _check_declaration(update)
    starts = dict(_find_starts(update, fields))
    changed = _evaluate(update, starts, resolve_now(None))
    values = {**update.values, **fields, **changed}
    if schema.version_field is not None:
        values[schema.version_field.name] = 1
    entity = _validate(schema, values)
    kept = {each.name: getattr(update, each.name) for each in dataclasses.fields(Update)}
    upsert: Upsert[E_co] = Upsert(**kept, entity=entity, starts=starts)
    _check_unique(upsert)
    _check_dependents(upsert)
    return upsert


# What the caller passes.


def _check_fields(update: Update[Any], fields: Mapping[str, Any]) -> None:
    schema = update.schema
    if not update.actions and update.expiry is None and not update.may_change_nothing:
        fact = "the update changes nothing, so or_create() would only create"
        raise UpdateInvalid(schema.name, fact, "Use create().or_get().")
    for name, value in fields.items():
        if name in schema.key_fields and value != update.values.get(name):
            raise KeyFieldChanged(schema.name, name)
        known = name in schema.fields or (schema.codec.has_extra and name not in schema.known_names)
        if not known:
            raise FieldUnknown(schema.name, name, tuple(schema.fields))
    for action in update.actions:
        if len(action.path.steps) > 1:
            fact = f"{action.path} is inside a value that a new entity does not have yet"
            raise UpdateInvalid(schema.name, fact, _INSTEAD)


def _check_declaration(update: Update[Any]) -> None:
    completion = update.schema.completion
    if completion is not None and completion.has_hook:
        fact = "an upsert cannot run before_write() on the stored entity"
        raise UpdateInvalid(update.schema.name, fact, _INSTEAD.replace("update", "change"))


# The values of the new entity.


def _find_starts(
    update: Update[Any], given: Mapping[str, Any]
) -> Iterator[tuple[str, AttributeValue]]:
    """Yield the first values of counters, lists and sets: those given, or the defaults."""
    schema = update.schema
    for action in update.actions:
        attribute = str(action.path.steps[0])
        field = schema.codec.by_stored.get(attribute)
        name = attribute if field is None else field.name
        if not _builds_on_old(action):
            if name in given:
                fact = f"{name} is set by the update, also in a new entity"
                raise UpdateInvalid(schema.name, fact, "Leave it out of or_create().")
            continue
        if name in given:
            value = given[name]
        elif field is not None and not field.is_required:
            value = schema.entity.__pydantic_fields__[name].get_default(call_default_factory=True)
        else:
            continue
        start = _encode(update, name, value)
        if start is None:
            continue
        if isinstance(action, AddTo | DeleteFrom) and not SETS.isdisjoint(start):
            fact = f"{name} has members in a new entity, to which DynamoDB cannot add in one call"
            raise UpdateInvalid(schema.name, fact, _INSTEAD)
        yield attribute, start


def _builds_on_old(action: Action) -> bool:
    """Return whether the new value depends on the old one."""
    match action:
        case AddTo() | DeleteFrom():
            return True
        case SetTo(_, Arithmetic()) | SetTo(_, FunctionCall("list_append")):
            return True
        case _:
            return False


def _start(action: Action, starts: Mapping[str, AttributeValue]) -> Action:
    """Return an action that takes the first value where there is no old one."""
    path = action.path
    start = starts.get(str(path.steps[0]))
    match action:
        case SetTo(_, Arithmetic(operator, left, right)):
            first = _first(left, start or _ZERO) if isinstance(left, Path) else left
            return SetTo(path, Arithmetic(operator, first, right))
        case SetTo(_, FunctionCall("list_append", (_, appended))) if start is not None:
            return SetTo(path, FunctionCall("list_append", (_first(path, start), appended)))
        case AddTo(_, value) if start is not None:
            return SetTo(path, Arithmetic("+", _first(path, start), value))
        case _:
            return action


def _first(path: Path, start: AttributeValue) -> FunctionCall:
    return FunctionCall("if_not_exists", (path, start))


def _evaluate(
    update: Update[Any], starts: Mapping[str, AttributeValue], now: datetime
) -> dict[str, Any]:
    """Return the values that changed fields have in a new entity, by name."""
    schema = update.schema
    actions = tuple(_resolve(_start(each, starts), now) for each in update.actions)
    try:
        new = compile_update(actions).apply({})
    except ArithmeticError:
        # Numbers of a pattern that is explained are placeholders.
        return {each.name: Placeholder(each.name) for each in _fields_of(update)}
    except (ExpressionFault, ValidationException) as fault:
        fact = f"the update fails for a new entity: {str(fault).rstrip('.')}"
        raise UpdateInvalid(schema.name, fact, _INSTEAD) from None
    names = {each.stored: each.name for each in _fields_of(update)}
    values = {names.get(each, each): _decode(schema, each, new[each]) for each in new}
    absent = {
        each.name: set[Any]() if each.is_set else None
        for each in _fields_of(update)
        if each.stored not in new and not each.is_always_stored
    }
    # Values as they were set, which need not be decoded.
    known = {name: each for name, each in (update.assigned or {}).items() if each is not None}
    return {**absent, **values, **known}


def _fields_of(update: Update[Any]) -> list[StoredField]:
    """Return the fields that an update changes."""
    by_stored = update.schema.codec.by_stored
    found = (by_stored.get(str(action.path.steps[0])) for action in update.actions)
    return [each for each in found if each is not None]


def _decode(schema: EntitySchema, attribute: str, value: AttributeValue) -> Any:
    field = schema.codec.by_stored.get(attribute)
    return (decode_any if field is None else field.codec.decode or decode_any)(value)


def _is_deferred(action: Action) -> bool:
    return isinstance(action, SetTo) and any(
        isinstance(each, DeferredValue) for each in (action.source, *_operands(action.source))
    )


def _operands(source: Source) -> tuple[Source, ...]:
    match source:
        case FunctionCall(_, operands):
            return operands
        case Arithmetic(_, left, right):
            return (left, right)
        case _:
            return ()


def _resolve(action: Action, now: datetime) -> Action:
    """Return an action without values that depend on the time."""
    match action:
        case SetTo(path, DeferredValue() as value):
            return SetTo(path, value.resolve(now))
        case SetTo(path, FunctionCall(function, operands)):
            resolved = [
                each.resolve(now) if isinstance(each, DeferredValue) else each for each in operands
            ]
            return SetTo(path, FunctionCall(function, tuple(resolved)))
        case _:
            return action


def _encode(update: Update[Any], name: str, value: Any) -> AttributeValue | None:
    """Return the stored form of a field's value; None if it is not stored. Raises ValueInvalid."""
    path = field_path(update.schema, name)
    if not update.is_unchecked:
        value = check_field(update.schema.entity, path).convert(value)
    if is_unstored(value):
        return None
    return path_info(path).codec.encode(value)


def _validate(schema: EntitySchema, values: Mapping[str, Any]) -> BaseModel:
    """Return the new entity; raises pydantic's ValidationError."""
    if has_placeholder(values):
        return schema.entity.model_construct(**values)
    return rules_of(schema.entity).make(values)


# What depends on the values of an existing entity.


def _check_unique(upsert: Upsert[Any]) -> None:
    schema = upsert.schema
    for name in schema.unique:
        if getattr(upsert.entity, name) is not None or name in (upsert.assigned or {}):
            fact = f"{name} is unique, and an upsert cannot write its guard item"
            raise UpdateInvalid(schema.name, fact, _INSTEAD)
    ttl = schema.ttl_field
    if schema.unique and ttl and (upsert.changes_expiry or getattr(upsert.entity, ttl.name)):
        fact = "guards of unique values expire with their entity, and an upsert cannot write them"
        raise UpdateInvalid(schema.name, fact, _INSTEAD)


def _check_dependents(upsert: Upsert[Any]) -> None:
    """Raise UpdateInvalid if one call cannot keep index keys, computed fields or validators true.

    A field that an existing entity lacks gets its value from `or_create`, beside whatever the
    entity has of the others.
    """
    schema, entity = upsert.schema, upsert.entity
    filled = _find_filled(upsert)
    changed = upsert.changed_index_parts()
    for part in changed:
        upsert.render_index_part(part, resolve_now(None))  # raises IndexPartsUnknown
        for name, value in upsert.expected().items():
            if name in part.fields and getattr(entity, name) != value:
                fact = f"the index key {part.attribute} needs one value of {name}"
                advice = f"Pass {name} to or_create() as it is known."
                raise UpdateInvalid(schema.name, fact, advice)
    for part in schema.index_templates:
        fields = set(part.fields) - schema.key_fields
        if part not in changed and len(fields) > 1 and fields & filled:
            raise _partial_error(schema, f"the index key {part.attribute}", fields)
    for check in () if upsert.is_unchecked else schema.cross_checks:
        fields = set(schema.fields if check.depends is None else check.depends)
        fields -= schema.key_fields
        if len(fields) > 1 and fields & filled:
            raise _partial_error(schema, f"the {check.name}", fields)


def _find_filled(upsert: Upsert[Any]) -> set[str]:
    """Return the fields that an existing entity may lack, and then gets from the upsert."""
    schema, changed = upsert.schema, {each.name for each in _fields_of(upsert)}
    filled = {
        name
        for name, field in schema.fields.items()
        if name not in changed
        and not field.is_part
        and not field.is_always_stored
        and getattr(upsert.entity, name) not in (None, set(), frozenset())
    }
    created = None if schema.completion is None else schema.completion.created
    return filled if created is None or created.is_always_stored else filled | {created.name}


def _partial_error(schema: EntitySchema, subject: str, fields: set[str]) -> UpdateInvalid:
    listed = ", ".join(sorted(fields))
    fact = f"{subject} depends on {listed}, of which an existing entity may lack some"
    return UpdateInvalid(schema.name, fact, _INSTEAD)
