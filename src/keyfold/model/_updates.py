"""Requests that change fields of one entity, and the index keys that follow them."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Generic, Self, TypeVar

from keyfold.errors import IndexPartsUnknown, KeyFieldChanged, UpdateInvalid
from keyfold.model._any_values import encode_any
from keyfold.model._codecs import StoredField
from keyfold.model._expiry import not_expired
from keyfold.model._expressions import (
    Action,
    Added,
    Called,
    Compared,
    Computed,
    Condition,
    ExpressionWriter,
    Given,
    Place,
    Removed,
    SetTo,
    Taken,
    check_condition,
    give,
    join,
)
from keyfold.model._keys import TableLike
from keyfold.model._moments import Moment, has_moment
from keyfold.model._paths import (
    FieldPath,
    check_kinds,
    facts_of,
    field_path,
    given_for,
    operand_for,
)
from keyfold.model._requests import moment_of
from keyfold.model._scalars import encode_expiry
from keyfold.model._schemas import EntitySchema, KeyPart
from keyfold.model._showing import show_item
from keyfold.model._writes import Delete, Put, Write, expiry_in
from keyfold.values import Item

E_co = TypeVar("E_co", covariant=True)

_SETS = {"SS", "NS", "BS"}


@dataclass(frozen=True, slots=True)
class Update(Write[E_co], Generic[E_co]):
    """Change some fields of an entity that is there; returns it as it is then.

    Index keys that are made from a field follow it. Where such a key has other parts that the
    request does not know, `knowing` passes them; they become conditions, so that one that is
    out of date cannot corrupt the key.
    """

    table: TableLike
    schema: EntitySchema
    key: Item
    values: Mapping[str, Any]
    actions: tuple[Action, ...] = ()
    where_condition: Condition | None = None
    # Fields that are set whole: what index keys are made from.
    assigned: Mapping[str, Any] | None = None
    known: Mapping[str, Any] | None = None
    expiry: Moment | None = None
    returns_nothing: bool = False

    operation = "UpdateItem"

    @property
    def item_key(self) -> Item:
        """The primary key of the item."""
        return self.key

    def set(self, field: FieldPath, value: Any) -> Self:
        """Set a field; None removes it."""
        stored = facts_of(_path(field)).stored
        is_set = stored is not None and stored.is_set
        if value is None or (is_set and isinstance(value, set | frozenset) and not value):
            return self.remove(field)
        if isinstance(value, FieldPath) or has_moment(value):
            return self._open(field, "what is known only when it runs", operand_for(field, value))
        action = SetTo(self._target(field), given_for(field, value))
        return self._with(action, self._assign(field, value))

    def set_if_absent(self, field: FieldPath, value: Any) -> Self:
        """Set a field that is not there yet."""
        place = facts_of(_path(field)).place
        source = Computed("if_not_exists", place, operand_for(field, value))
        return self._open(field, "set_if_absent", source)

    def remove(self, field: FieldPath) -> Self:
        """Take a field away; the entity leaves the sparse indexes that it is part of."""
        stored = facts_of(_path(field)).stored
        place = self._target(field)
        if stored is not None and stored.is_needed:
            fact = f"{field!r} is required, so the entity could not be read without it"
            raise UpdateInvalid(self.schema.name, fact, "Set it to another value.")
        return self._with(Removed(place), self._assign(field, None))

    def increment(self, field: FieldPath, by: Any = 1) -> Self:
        """Add to a number that is there."""
        check_kinds(_path(field), {"N"}, "increment() is for numbers")
        source = Computed("+", facts_of(field).place, operand_for(field, by))
        return self._open(field, "increment", source)

    def add(self, field: FieldPath, value: Any) -> Self:
        """Add to a number, or members to a set; what is not there counts as 0, or as empty."""
        check_kinds(_path(field), {"N", *_SETS}, "add() is for numbers and sets")
        self._check_not_followed(field, "add")
        return self._with(Added(self._target(field), given_for(field, value)))

    def delete(self, field: FieldPath, members: Any) -> Self:
        """Take members out of a set."""
        check_kinds(_path(field), _SETS, "delete() is for members of sets")
        self._check_not_followed(field, "delete")
        return self._with(Taken(self._target(field), given_for(field, members)))

    def append(self, field: FieldPath, *members: Any) -> Self:
        """Append to a list; one that is not there is made."""
        check_kinds(_path(field), {"L"}, "append() is for lists")
        place = facts_of(field).place
        present = Computed("if_not_exists", place, give([], encode_any))
        appended = Computed("list_append", present, given_for(field, [*members]))
        return self._open(field, "append", appended)

    def where(self, condition: Condition) -> Self:
        """Only if a condition holds for what is stored now."""
        whole = join("AND", self.where_condition, check_condition(condition, self.schema.name))
        return replace(self, where_condition=whole)

    def knowing(self, **fields: Any) -> Self:
        """Pass what fields hold now, for index keys that are made from them too."""
        for name, value in fields.items():
            path = field_path(self.schema, name)
            if value is not None:
                given_for(path, value)
        return replace(self, known={**(self.known or {}), **deepcopy(fields)})

    def expiring_in(self, delay: timedelta) -> Self:
        """Let it expire so long after the request has run."""
        expiry = expiry_in(self.schema, delay)
        assert self.schema.ttl_field is not None  # or it would have been refused
        self._check_apart(Place((self.schema.ttl_field.stored,)))
        return replace(self, expiry=expiry)

    def returning_nothing(self) -> Update[None]:
        """Ask for nothing of what is stored: neither what it is then, nor why it is refused.

        So it is for roles that may write an entity, and not see all of it.
        """
        return replace(self, returns_nothing=True)  # type: ignore[return-value]

    def condition(self) -> Condition | None:
        """Return the whole condition: an update never makes an entity."""
        key = Place((self.schema.partition.attribute,))
        exists: Condition = Called("attribute_exists", key)
        if self.schema.type_attribute is not None:
            # Another entity may have the same key where only this tells them apart.
            attribute, kind = self.schema.type_attribute
            place = Place((attribute,))
            own = Compared(place, "=", Given({"S": kind}))
            exists = exists & (Called("attribute_not_exists", place) | own)
        known = [
            path.not_exists() if value is None else path.eq(value)
            for path, value in (
                (field_path(self.schema, name), value)
                for name, value in (self.known or {}).items()
                if name not in self.schema.key_fields
            )
        ]
        whole = join("AND", exists, *known, self.where_condition)
        return join("AND", whole, not_expired(self.table))

    @property
    def is_repeatable(self) -> bool:
        """Whether doing it twice leaves what doing it once does."""
        version = self.schema.version_field
        if version is not None:
            # A version that was seen is another after the first time; one that was not counts on.
            return version.name in (self.known or {})
        changed = {action.place.steps[0] for action in self.actions}
        return all(_is_repeatable(action, changed) for action in self.actions)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the UpdateItem request."""
        if not self.actions and self.expiry is None:
            raise UpdateInvalid(self.schema.name, "the update changes nothing", "Call set(), …")
        moment = moment_of(now)
        writer = ExpressionWriter(moment)
        condition = self.condition()
        assert condition is not None  # that it exists
        request: dict[str, Any] = {
            "TableName": self.table.name,
            "Key": self.key,
            "UpdateExpression": writer.write_update(self.all_actions(moment)),
            "ConditionExpression": writer.write_condition(condition),
        }
        if not self.returns_nothing:
            request["ReturnValues"] = "ALL_NEW"
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        writer.add_to(request)
        return request

    def all_actions(self, moment: datetime) -> tuple[Action, ...]:
        """Return the caller's changes, and those that follow from them."""
        actions = [*self.actions, *self._index_actions()]
        version = self.schema.version_field
        if version is not None:
            actions.append(Added(Place((version.stored,)), give(1, encode_any)))
        if self.expiry is not None:
            assert self.schema.ttl_field is not None  # or `expiring_in` would have refused
            place = Place((self.schema.ttl_field.stored,))
            actions.append(SetTo(place, give(self.expiry.resolve(moment), encode_expiry)))
        return tuple(actions)

    def __repr__(self) -> str:
        changed = ", ".join(str(action.place) for action in self.actions)
        if self.expiry is not None:
            changed += (", " if changed else "") + "expiry"
        return f"<update {self.schema.name} {show_item(self.key)}: {changed or 'nothing'}>"

    # Changing.

    def _with(self, action: Action, assigned: Mapping[str, Any] | None = None) -> Self:
        self._check_apart(action.place)
        actions = (*self.actions, action)
        return replace(
            self, actions=actions, assigned={**(self.assigned or {}), **(assigned or {})}
        )

    def _open(self, field: FieldPath, method: str, value: Any) -> Self:
        """Set a field to something that the request does not know."""
        self._check_not_followed(field, method)
        return self._with(SetTo(self._target(field), value))

    def _target(self, field: FieldPath) -> Place:
        """Return the place of a field that may be changed."""
        facts = facts_of(field)
        if facts.owner != self.schema.name:
            fact = f"{field!r} is a field of another entity"
            raise UpdateInvalid(self.schema.name, fact, f"Use {self.schema.name}.f.")
        if self.schema.computed:
            computed = ", ".join(self.schema.computed)
            fact = f"{computed} is computed from what it holds, and an update cannot compute it"
            raise UpdateInvalid(
                self.schema.name, fact, "Read it and replace() it, or make it a plain property."
            )
        stored = self._field(field)
        if stored is not None and stored.name in self.schema.key_fields:
            raise KeyFieldChanged(self.schema.name, stored.name)
        if stored is not None and stored is self.schema.version_field:
            fact = f"{stored.name} counts the writes by itself"
            raise UpdateInvalid(self.schema.name, fact, "Leave it out.")
        return facts.place

    def _field(self, field: FieldPath) -> StoredField | None:
        """Return the entity's own field that a path leads to, or into."""
        return self.schema.codec.by_stored.get(str(facts_of(field).place.steps[0]))

    def _check_apart(self, place: Place) -> None:
        """Raise if a place, or one inside it or around it, is changed already."""
        taken = [action.place for action in self.actions]
        if self.expiry is not None and self.schema.ttl_field is not None:
            taken.append(Place((self.schema.ttl_field.stored,)))
        for other in taken:
            if all(mine == theirs for mine, theirs in zip(place.steps, other.steps, strict=False)):
                fact = f"{place} and {other} overlap, and an update changes each place once"
                raise UpdateInvalid(self.schema.name, fact, "Leave one out.")

    def _assign(self, field: FieldPath, value: Any) -> Mapping[str, Any]:
        """Return the field that is set whole, for what follows it; none for a place inside one."""
        stored = self._field(field)
        if stored is None or len(facts_of(field).place.steps) > 1:
            self._check_not_followed(field, "a change inside it")
            return {}
        if value is not None:
            for part in self._followers(stored):
                if part.template is None:
                    part.encode(value)
        return {stored.name: value}

    # What follows from a change.

    def _check_not_followed(self, field: FieldPath, method: str) -> None:
        """Raise if something follows a field, whose value this kind of change leaves open."""
        stored = self._field(field)
        if stored is None:
            return
        advice = "Use set() with the new value."
        for part in self._followers(stored):
            if part.template is not None:
                fact = f"{part.attribute} is made from {stored.name}, and {method} leaves its value open"
                raise UpdateInvalid(self.schema.name, fact, advice)
        if stored.name in self.schema.unique:
            fact = f"{stored.name} is unique, and {method} leaves its value open"
            raise UpdateInvalid(self.schema.name, fact, advice)

    def _followers(self, stored: StoredField) -> list[KeyPart]:
        """Return the parts of index keys that a field decides about."""
        return [part for part in self._index_parts() if stored.name in part.fields]

    def _index_parts(self) -> list[KeyPart]:
        return [
            part
            for parts in self.schema.index_keys.values()
            for part in parts
            if part.attribute not in self.table.key.names
        ]

    def _index_actions(self) -> list[Action]:
        actions: dict[str, Action] = {}
        assigned, known = self.assigned or {}, self.known or {}
        for part in self._index_parts():
            if part.template is None or not any(name in assigned for name in part.fields):
                continue
            place = Place((part.attribute,))
            if any(name in assigned and assigned[name] is None for name in part.fields):
                actions[part.attribute] = Removed(place)
                continue
            values = {**self.values, **known, **assigned}
            missing = tuple(name for name in part.fields if name not in values)
            if missing:
                raise IndexPartsUnknown(self.schema.name, part.attribute, missing)
            rendered = part.render(values)
            if rendered is None:
                actions[part.attribute] = Removed(place)
            else:
                actions[part.attribute] = SetTo(place, Given(rendered))
        return list(actions.values())


def _path(field: object) -> FieldPath:
    if not isinstance(field, FieldPath):
        fact = f"{field!r:.80} is no field"
        raise UpdateInvalid("update", fact, "Write one as Entity.f.field.")
    return field


def _is_repeatable(action: Action, changed: AbstractSet[str | int]) -> bool:
    """Tell whether a change among those of `changed` attributes may be made twice."""
    # Beyond the end of a list, a position means one more each time; a removal moves the rest.
    is_fixed = not any(isinstance(step, int) for step in action.place.steps)
    match action:
        case SetTo(value=Given() | Computed(function="if_not_exists", right=Given())) | Removed():
            return is_fixed
        case SetTo(value=Place(steps=(source, *_))):
            return is_fixed and source not in changed
        case Added(value=Given(value=value, encode=None)):
            return any(kind in _SETS for kind in value)
        case Taken():
            return True
        case _:
            return False


def touches_unique(request: Write[Any]) -> bool:
    """Tell whether a write concerns unique fields, and so the guards that keep them."""
    unique = request.schema.unique
    if not unique:
        return False
    if isinstance(request, Update):
        return any(name in (request.assigned or {}) for name in unique)
    return isinstance(request, Put | Delete)
