"""Requests that update fields of one entity, and the index keys that are made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from keyfold.errors import IndexPartsUnknown, KeyFieldChanged, UpdateInvalid, ValueInvalid
from keyfold.expressions import (
    Action,
    AddTo,
    Arithmetic,
    Condition,
    DeleteFrom,
    FunctionCall,
    Path,
    Remove,
    RequestPrinter,
    SetTo,
    is_repeatable,
    join_all,
)
from keyfold.model._any_values import encode_any
from keyfold.model._bounds import FieldBound
from keyfold.model._changeable_fields import (
    check_alone,
    check_no_dependents,
    check_no_overlap,
    find_dependent_parts,
    find_field,
    find_target,
)
from keyfold.model._checked_changes import CheckedField, check_field
from keyfold.model._expectations import expect_as_stored, expect_value
from keyfold.model._expiry import not_expired
from keyfold.model._formatting import show_item
from keyfold.model._former_names import (
    need_current_names,
    replace_former_names,
)
from keyfold.model._index_choices import find_decisive, find_missing, render_known
from keyfold.model._key_parts import KeyPart
from keyfold.model._keys import TableLike
from keyfold.model._moments import Moment, has_moment, now
from keyfold.model._operands import check_condition, to_literal
from keyfold.model._patches import Patch, read_patch
from keyfold.model._paths import (
    FieldPath,
    check_kinds,
    field_path,
    operand_for,
    path_info,
    value_operand,
)
from keyfold.model._requests import Chain, Request, resolve_now
from keyfold.model._scalars import encode_expiry, round_expiry
from keyfold.model._schemas import EntitySchema
from keyfold.model._unique import find_unique_sources
from keyfold.model._upgrades import expect_not_upgraded
from keyfold.model._value_codecs import SETS
from keyfold.model._writes import Write, chain_after, entity_exists, expiry_in
from keyfold.values import AttributeValue, Item

if TYPE_CHECKING:
    from keyfold.model._upserts import Upsert

E_co = TypeVar("E_co", covariant=True)
W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Update(Write[E_co], Generic[E_co]):
    """A request that updates fields of an existing entity; returns the updated entity.

    Unlike a put, an update is not an upsert: it fails with NotFound if the entity does not exist.
    Index keys that are made from a changed field are updated too. If such a key needs other
    fields, whose values the request does not have, pass their current values to `knowing`. They
    become conditions, so that an outdated value fails the update instead of corrupting the key.
    """

    table: TableLike
    schema: EntitySchema
    key: Item
    values: Mapping[str, Any]
    actions: tuple[Action, ...] = ()
    where_condition: Condition | None = None
    # Fields that are set as a whole, from which index keys are made.
    assigned: Mapping[str, Any] | None = None
    known: Mapping[str, Any] | None = None
    expiry: Moment | None = None
    returns_nothing: bool = False
    # Whether the changes that follow are not checked; see `unchecked`.
    is_unchecked: bool = False
    # Conditions that keep changed fields within their bounds.
    bounds: tuple[FieldBound, ...] = ()
    # What an instance has of the fields that index keys are made from. Those that the update uses
    # become conditions. The stored item may lack `unstored` ones, which have a default.
    seen: Mapping[str, Any] | None = None
    unstored: frozenset[str] = frozenset()
    # The item whose attributes are the values of `known` and `seen`, as it stores them.
    as_stored: Item | None = None
    # What `Entity.upgrade` has seen of the attributes that it changed: they must be unchanged.
    upgraded_from: Mapping[str, AttributeValue | None] | None = None
    # Whether an update without changes is an error, or only checks its condition.
    may_change_nothing: bool = False

    operation = "UpdateItem"

    @property
    def item_key(self) -> Item:
        """The primary key of the item."""
        return self.key

    def set(self, field: FieldPath, value: Any) -> Self:
        """Set a field to a value, another field or a time such as `now`; None removes it.

        The value is validated and converted as if the entity were created with it. Raises
        ValueInvalid.
        """
        info = path_info(_path(field))
        if value is None:
            if info.stored is not None and info.stored.is_needed:
                raise ValueInvalid(repr(field), "it is required; got None", "Pass a value.")
            return self.remove(field)
        if isinstance(value, FieldPath) or has_moment(value):
            return self._set_computed(field, "a value computed at run time", value)
        path = self._target(field)
        checked, bounds = self._checked(field), ()
        if checked is not None:
            value = checked.convert(value)
            bounds = checked.member_bounds(self.actions)
        is_set = info.stored is not None and info.stored.is_set
        if value is None or (is_set and isinstance(value, set | frozenset) and not value):
            return self.remove(field)
        action = SetTo(path, value_operand(field, value))
        return self._with(action, self._assign(field, value), bounds)

    def set_from(self, patch: Patch) -> Self:
        """Set the fields of a patch: a mapping by field name, or a model's fields that are set.

        None removes a field. An empty patch is allowed: if nothing else is changed, running the
        update writes nothing, checks its condition and returns the stored entity. A field of the
        key may be in the patch if it has the same value; otherwise, KeyFieldChanged is raised.
        """
        request = replace(self, may_change_nothing=True)
        for name, value in read_patch(patch).items():
            if name not in self.schema.key_fields:
                request = request.set(field_path(self.schema, name), value)
            elif value != self.values.get(name):
                raise KeyFieldChanged(self.schema.name, name)
        return request

    def set_if_absent(self, field: FieldPath, value: Any) -> Self:
        """Set a field if it has no value yet; otherwise leave it unchanged."""
        path_info(_path(field))
        return self._set_computed(field, "set_if_absent()", value, if_absent=True)

    def remove(self, field: FieldPath) -> Self:
        """Remove a field; the entity leaves every sparse index whose key is made from the field."""
        stored = path_info(_path(field)).stored
        path = self._target(field)
        if stored is not None and stored.is_needed:
            fact = f"{field!r} is required: the entity could not be read without it"
            raise UpdateInvalid(self.schema.name, fact, "Set it to another value.")
        checked, bounds = self._checked(field), ()
        if checked is not None:
            bounds = checked.member_bounds(self.actions, is_removed=True)
            if stored is not None and stored.reads_absence:
                checked.check_absence(set[Any]() if stored.is_set else None)
        return self._with(Remove(path), self._assign(field, None), bounds)

    def increment(self, field: FieldPath, by: Any = 1) -> Self:
        """Add `by` to a number; fails if the field has no value.

        The bounds of the field (`ge`, `le` and the like) become part of the condition. If the sum
        would leave them, the update fails with OutOfBounds.
        """
        check_kinds(_path(field), {"N"}, "increment() is for numbers")
        check_no_dependents(self.schema, field, "increment()")
        path, checked, bounds = self._target(field), self._checked(field), ()
        if checked is not None:
            if isinstance(by, FieldPath):
                bounds = checked.bounds_with(by)
            else:
                by, bounds = checked.sum_bounds(by, counts_absent=False)
        source = Arithmetic("+", path, operand_for(field, by))
        return self._with(SetTo(path, source), bounds=bounds)

    def add(self, field: FieldPath, value: Any) -> Self:
        """Add to a number, or add members to a set; a missing value counts as 0 or empty.

        The bounds of the field become part of the condition, as for `increment`. If several
        members are added to a set with a `max_length`, each counts as new unless all are in it.
        """
        check_kinds(_path(field), {"N", *SETS}, "add() is for numbers and sets")
        check_no_dependents(self.schema, field, "add()")
        path, checked, bounds = self._target(field), self._checked(field), ()
        if checked is not None and path_info(field).codec.kinds & SETS:
            value, bounds = checked.set_bounds(value, adds=True)
        elif checked is not None:
            value, bounds = checked.sum_bounds(value, counts_absent=True)
        if checked is not None:
            bounds = (*bounds, *checked.member_bounds(self.actions))
        return self._with(AddTo(path, value_operand(field, value)), bounds=bounds)

    def delete(self, field: FieldPath, members: Any) -> Self:
        """Delete members from a set; its `min_length` becomes part of the condition."""
        check_kinds(_path(field), SETS, "delete() is for members of sets")
        check_no_dependents(self.schema, field, "delete()")
        path, checked, bounds = self._target(field), self._checked(field), ()
        if checked is not None:
            members, bounds = checked.set_bounds(members, adds=False)
        return self._with(DeleteFrom(path, value_operand(field, members)), bounds=bounds)

    def append(self, field: FieldPath, *members: Any) -> Self:
        """Append members to a list; a missing list counts as empty.

        The members are validated, and the list's lengths become part of the condition.
        """
        check_kinds(_path(field), {"L"}, "append() is for lists")
        check_no_dependents(self.schema, field, "append()")
        path, checked, bounds, given = self._target(field), self._checked(field), (), [*members]
        if checked is not None:
            given, bounds = checked.append_bounds(given)
            bounds = (*bounds, *checked.member_bounds(self.actions))
        present = FunctionCall("if_not_exists", (path, to_literal([], encode_any)))
        appended = FunctionCall("list_append", (present, value_operand(field, given)))
        return self._with(SetTo(path, appended), bounds=bounds)

    def then(self, make: Callable[[E_co], Request[W]]) -> Chain[W]:
        """Return a chain that runs this update, then the request that `make` returns for the entity.

        So a new entity can get a number from a counter. It is not atomic: if the second request
        fails, the first stays. For writes that succeed or fail as a whole, use `transaction`.
        """
        return chain_after(self, make)

    def or_create(self, **fields: Any) -> Upsert[E_co]:
        """Return an upsert: it creates the entity if it does not exist, in the same call.

        A new entity has `fields` besides what the update sets. Counters and lists start with the
        value in `fields`, with the default, or with nothing, and are then incremented or appended
        to. The new entity is validated as a whole. Conditions apply to an existing entity alone. A
        field that an existing entity lacks is set, too.

        Raises UpdateInvalid for what one call cannot do: for unique fields, `before_write`, and
        index keys that need the values of an existing entity. Also raises FieldUnknown,
        ValueInvalid, and pydantic's ValidationError.
        """
        from keyfold.model._upserts import make_upsert  # noqa: PLC0415 - it imports this module

        return make_upsert(self, fields)

    def where(self, condition: Condition) -> Self:
        """Make this a conditional write: it fails unless a condition holds for the stored item.

        Conditions of several calls are joined with AND. A failed one raises ConditionFailed.
        """
        whole = join_all(self.where_condition, check_condition(condition, self.schema.name))
        return replace(self, where_condition=whole)

    def knowing(self, **fields: Any) -> Self:
        """Pass the current values of fields, as conditions of the update.

        Index keys that are made from them can then be updated. With the Version field, this is
        optimistic locking: `knowing(version=song.version)` fails with VersionConflict if the
        entity was written since.
        """
        for name, value in fields.items():
            path = field_path(self.schema, name)
            if value is not None:
                value_operand(path, value)
        return replace(self, known={**(self.known or {}), **deepcopy(fields)})

    def expiring_in(self, delay: timedelta) -> Self:
        """Make the entity expire `delay` after the request runs.

        Raises UpdateInvalid if the entity has no Expiry field.
        """
        expiry = expiry_in(self.schema, delay)
        assert self.schema.ttl_field is not None  # or `expiry_in` would have raised
        field = field_path(self.schema, self.schema.ttl_field.name)
        if not self.is_unchecked:
            check_alone(self.schema, field, self.schema.ttl_field)
        self._check_no_overlap(Path((self.schema.ttl_field.stored,)))
        return replace(self, expiry=expiry)

    def unchecked(self) -> Self:
        """Do not check the changes that are named after this.

        Their values have to be right already: they are neither validated nor converted, their
        bounds do not become conditions, and validators and stored computed fields that depend on
        the changed fields are ignored. A value that does not fit makes the item invalid, and a
        computed field keeps its old value until the whole entity is written.
        """
        return replace(self, is_unchecked=True)

    def returning_nothing(self) -> Update[None]:
        """Return no stored values: neither the updated entity, nor one that fails a condition.

        Use it for roles that may write an entity but not read all of its fields.
        """
        return replace(self, returns_nothing=True)  # type: ignore[return-value]

    def condition(self) -> Condition | None:
        """Return the whole condition: the caller's, and that the entity exists."""
        exists = entity_exists(self.schema)
        known = [self._expect(*each) for each in self.expected().items()]
        bounds = (each.condition for each in self.bounds)
        upgraded = expect_not_upgraded(self.upgraded_from or {})
        whole = join_all(exists, *known, *upgraded, self.where_condition, *bounds)
        if self.schema.has_former_names and whole is not None:
            current = need_current_names(self.schema.codec, self.actions)
            whole = join_all(self.schema.with_former_names(whole), *current)
        return join_all(whole, not_expired(self.table))

    def expected(self) -> Mapping[str, Any]:
        """Return the values that fields must have: those that are known or used of an instance."""
        if not self.known and not self.seen:
            return {}
        expected = dict(self.known or {})
        # Even if the version is known: an entity that was deleted and created anew may have it, too.
        if self.seen:
            assigned = self._assigned()
            for part in self.changed_index_parts():
                expected |= {
                    name: self.seen[name]
                    for name in find_decisive(part, assigned)
                    if name in self.seen and name not in assigned
                }
        return {name: expected[name] for name in expected if name not in self.schema.key_fields}

    def _expect(self, name: str, value: Any) -> Condition:
        if self.as_stored is not None:
            return expect_as_stored(self.schema, name, self.as_stored)
        return expect_value(self.schema, name, value, may_lack=name in self.unstored)

    @property
    def is_repeatable(self) -> bool:
        """Whether the update is idempotent: running it twice has the effect of running it once."""
        version = self.schema.version_field
        if version is not None:
            # The first run increments the version. A second run then fails its condition on the
            # version, or increments it again if there is no such condition.
            return version.name in (self.known or {})
        return is_repeatable(self.actions)

    @property
    def changes_unique(self) -> bool:
        """Whether the update sets unique fields or the expiry, and so changes guard items."""
        unique = self.schema.unique
        return bool(unique) and (
            self.changes_expiry or bool(find_unique_sources(unique, self.actions))
        )

    @property
    def changes_expiry(self) -> bool:
        """Whether the update sets or removes the table's TTL attribute."""
        ttl = self.table.ttl
        return self.expiry is not None or any(each.path.steps[0] == ttl for each in self.actions)

    @property
    def guard_names(self) -> frozenset[str]:
        """The names of the guards that the update changes."""
        unique = self.schema.unique
        changed = unique if self.changes_expiry else find_unique_sources(unique, self.actions)
        return frozenset(unique[name].guard for name in changed)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the UpdateItem call; raises UpdateInvalid if it changes nothing.

        After `set_from` and `Entity.change`, an update may change nothing. It then has no
        expression, only the condition: nothing is written, and the stored entity comes back.
        """
        if not self._changes and not self.may_change_nothing:
            advice = "Call set() or another method that changes a field."
            raise UpdateInvalid(self.schema.name, "the update changes nothing", advice)
        now = resolve_now(now)
        printer = RequestPrinter(now)
        condition = self.condition()
        request: dict[str, Any] = {"TableName": self.table.name, "Key": self.key}
        actions = self.all_actions(now) if self._changes else ()
        if actions:
            request["UpdateExpression"] = printer.write_update(actions)
        if condition is not None:
            request["ConditionExpression"] = printer.write_condition(condition)
        if not self.returns_nothing:
            request["ReturnValues"] = "ALL_NEW"
            if condition is not None:
                request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        printer.add_to(request)
        return request

    @property
    def _changes(self) -> bool:
        """Whether it changes anything."""
        return bool(self.actions) or self.expiry is not None

    def all_actions(self, now: datetime) -> tuple[Action, ...]:
        """Return the caller's changes, and those of index keys, timestamp, version and expiry."""
        return self.finish_actions(self.actions, now)

    def finish_actions(self, actions: Sequence[Action], now: datetime) -> tuple[Action, ...]:
        """Return these changes, and those of index keys, timestamp, version and expiry."""
        actions = [*actions, *self._index_actions(now)]
        completion = self.schema.completion
        if completion is not None and completion.updated is not None:
            updated = completion.updated
            actions.append(SetTo(Path((updated.stored,)), updated.codec.encode(now)))
        version = self.schema.version_field
        if version is not None:
            actions.append(AddTo(Path((version.stored,)), to_literal(1, encode_any)))
        if self.expiry is not None:
            assert self.schema.ttl_field is not None  # or `expiring_in` would have raised
            path = Path((self.schema.ttl_field.stored,))
            actions.append(SetTo(path, to_literal(self.expiry.resolve(now), encode_expiry)))
        if self.schema.has_former_names:
            return replace_former_names(self.schema.codec, actions)
        return tuple(actions)

    def __repr__(self) -> str:
        changed = ", ".join(str(action.path) for action in self.actions)
        if self.expiry is not None:
            changed += (", " if changed else "") + "expiry"
        return f"<update {self.schema.name} {show_item(self.key)}: {changed or 'nothing'}>"

    # Changes.

    def _with(
        self,
        action: Action,
        assigned: Mapping[str, Any] | None = None,
        bounds: tuple[FieldBound, ...] = (),
    ) -> Self:
        self._check_no_overlap(action.path)
        return replace(
            self,
            actions=(*self.actions, action),
            assigned={**(self.assigned or {}), **(assigned or {})},
            bounds=(*self.bounds, *bounds),
        )

    def _set_computed(
        self, field: FieldPath, change: str, value: Any, *, if_absent: bool = False
    ) -> Self:
        """Set a field to a value that is known, or needed, only when the request runs."""
        check_no_dependents(self.schema, field, change)
        path, checked, bounds = self._target(field), self._checked(field), ()
        if checked is None:
            source = operand_for(field, value)
        elif isinstance(value, FieldPath):
            bounds = checked.copy_bounds(value)
            source = operand_for(field, value)
        elif has_moment(value):
            source = checked.defer(value)
        else:
            source = value_operand(field, checked.convert(value))
        if checked is not None:
            bounds = (*bounds, *checked.member_bounds(self.actions))
        if if_absent:
            source = FunctionCall("if_not_exists", (path, source))
        return self._with(SetTo(path, source), bounds=bounds)

    def _checked(self, field: FieldPath) -> CheckedField | None:
        """Return a field with the rules of its value; None if it is not to be checked."""
        return None if self.is_unchecked else check_field(self.schema.entity, field)

    def _target(self, field: FieldPath) -> Path:
        """Return the path of a field; raises UpdateInvalid if it cannot be changed."""
        return find_target(self.schema, field, is_unchecked=self.is_unchecked)

    def _check_no_overlap(self, path: Path) -> None:
        changed = [action.path for action in self.actions]
        if self.expiry is not None and self.schema.ttl_field is not None:
            changed.append(Path((self.schema.ttl_field.stored,)))
        check_no_overlap(self.schema.name, path, changed)

    def _assign(self, field: FieldPath, value: Any) -> Mapping[str, Any]:
        """Return the name and value of a field that is set as a whole; empty for nested values."""
        stored = find_field(self.schema, field)
        if stored is None or len(path_info(field).path.steps) > 1:
            check_no_dependents(self.schema, field, "a nested change")
            return {}
        if value is not None:
            for part in find_dependent_parts(self.schema, stored):
                if part.template is None:
                    # Validates the value, which is a key of the index as it is.
                    part.encode(value)
        return {stored.name: value}

    # Index keys that are made from changed fields.

    def changed_index_parts(self) -> list[KeyPart]:
        """Return the parts of index keys that are rendered from a field that is set."""
        assigned = self._assigned()
        if not assigned:
            return []
        return [
            part
            for part in self.schema.index_templates
            if any(name in assigned for name in part.fields)
        ]

    def _assigned(self, now: datetime | Moment = now) -> Mapping[str, Any]:
        """Return the fields that are set as a whole, UpdatedAt and the expiry included."""
        assigned, completion = self.assigned or {}, self.schema.completion
        if completion is not None and completion.updated is not None and self._changes:
            assigned = {**assigned, completion.updated.name: now}
        if self.expiry is not None and self.schema.ttl_field is not None:
            expires = self.expiry if isinstance(now, Moment) else self.expiry.resolve(now)
            assigned = {**assigned, self.schema.ttl_field.name: round_expiry(expires)}
        return assigned

    def _index_actions(self, now: datetime) -> list[Action]:
        actions: dict[str, Action] = {}
        for part in self.changed_index_parts():
            path, rendered = Path((part.attribute,)), self.render_index_part(part, now)
            actions[part.attribute] = Remove(path) if rendered is None else SetTo(path, rendered)
        return list(actions.values())

    def render_index_part(self, part: KeyPart, now: datetime) -> AttributeValue | None:
        """Return a part of an index key after the update; None if the entity leaves the index.

        Raises IndexPartsUnknown.
        """
        assigned, known, seen = self._assigned(now), self.known or {}, self.seen or {}
        values = {**seen, **self.values, **known, **assigned}
        missing = find_missing(part, values)
        if missing:
            raise IndexPartsUnknown(self.schema.name, part.attribute, missing)
        return render_known(part, values)


def _path(field: object) -> FieldPath:
    if not isinstance(field, FieldPath):
        fact = f"{field!r:.80} is not a field"
        raise UpdateInvalid("update", fact, "Write one as Entity.f.field.")
    return field
