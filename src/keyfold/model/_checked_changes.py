"""Checks of the changes that an update makes: values, operands and bounds of the changed fields."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import getitem
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from keyfold.errors import UpdateInvalid, ValueInvalid
from keyfold.expressions import Action, Path, Remove
from keyfold.model._bounds import (
    FieldBound,
    addend_schema,
    bounds_of_append,
    bounds_of_copy,
    bounds_of_member,
    bounds_of_set,
    bounds_of_sum,
    member_schema,
    set_schema,
)
from keyfold.model._core_schemas import covers, is_same
from keyfold.model._formatting import summarise
from keyfold.model._moments import SAMPLE_TIME, resolve_moments
from keyfold.model._operands import Literal, to_literal
from keyfold.model._paths import FieldPath, Fields, path_info, value_operand
from keyfold.model._pickling import Reduced, find_schema
from keyfold.model._placeholders import Placeholder, has_placeholder
from keyfold.model._value_validation import (
    MakeSchema,
    Uncheckable,
    Validate,
    ValueRules,
    rules_of,
)
from keyfold.values import AttributeValue

# What to do about a change that an update cannot check.
USE_CHANGE = "Read the entity and use its change(), or skip the check with unchecked()."

# Errors of values that may be right at another time.
_TIME_ERRORS = ("greater_than", "less_than", "date_", "datetime_past", "datetime_future")
_CUSTOM_ERRORS = ("value_error", "assertion_error")
# Types whose stored text has the order of their values.
_ORDERED = frozenset({"date", "datetime"})

Bounds = tuple[FieldBound, ...]


class CheckedField(NamedTuple):
    """A field that an update changes, with the rules of its value and of the value around it."""

    entity: type[BaseModel]
    field: FieldPath
    rules: ValueRules
    around: ValueRules

    def __reduce__(self) -> Reduced:
        """Pickle by reference: the entity, and the path of the field."""
        return _find_checked, (self.entity, path_info(self.field).names)

    @property
    def _path(self) -> Path:
        return path_info(self.field).path

    # Values.

    def convert(self, value: Any) -> Any:
        """Return a value converted to the field's type; raises ValueInvalid."""
        return validated(self.field, self.rules.validate, value)

    def defer(self, value: Any) -> Literal:
        """Return a value that depends on the time of the request; it is validated then, too."""
        try:
            self.rules.validate(resolve_moments(value, SAMPLE_TIME))
        except ValidationError as error:
            kinds = {each["type"] for each in error.errors()}
            if not all(kind in _CUSTOM_ERRORS or kind.startswith(_TIME_ERRORS) for kind in kinds):
                raise invalid_value(self.field, value, error) from None
        return to_literal(value, partial(_encode_converted, self))

    def check_absence(self, absent: Any) -> None:
        """Raise UpdateInvalid unless None, or an empty set, is valid for a removed field."""
        try:
            self.rules.validate(absent)
        except ValidationError as error:
            fact = f"{self.field!r} cannot be removed: {summarise(error)}"
            raise UpdateInvalid(self.entity.__name__, fact, "Set it to another value.") from None

    def member_bounds(self, earlier: Sequence[Action], *, is_removed: bool = False) -> Bounds:
        """Return the bounds of the list or map that the field is in, if it is in one.

        The update's `earlier` changes may add or remove other members of it. Raises UpdateInvalid.
        """
        path = self._path
        if len(path.steps) == 1:
            return ()
        others = sum(
            each.path.steps[:-1] == path.steps[:-1] and isinstance(each, Remove) is is_removed
            for each in earlier
        )
        name = path_info(self.field).text
        try:
            return tuple(
                bounds_of_member(self.around, path, name, others=others, is_removed=is_removed)
            )
        except Uncheckable as error:
            raise self.refusal(str(error)) from None

    def copy_bounds(self, source: FieldPath) -> Bounds:
        """Return the bounds of a field that is set to another field; raises UpdateInvalid."""
        rules = self.other_rules(source)
        if is_same(self.rules.schema, rules.schema):
            return ()
        mine, theirs = self.rules.unwrapped, rules.unwrapped
        info, refusal = (
            path_info(self.field),
            self.refusal(f"the values of {source!r} may not be valid for it"),
        )
        if mine.functions:
            raise refusal
        choices = (mine.core, *mine.core.get("choices", ()))
        if not any(covers(each, theirs.core) for each in choices):
            raise refusal
        lacking = {
            name
            for name, limit in mine.constraints.items()
            if theirs.constraints.get(name) != limit
        }
        is_ordered = mine.core["type"] in _ORDERED or info.codec.kinds == frozenset({"N"})
        if lacking - {"ge", "gt", "le", "lt"} or (lacking and not is_ordered):
            raise refusal
        return tuple(
            bounds_of_copy(self.rules, path_info(source).path, info.codec.encode, info.text)
        )

    # Operands.

    def sum_bounds(self, by: Any, *, counts_absent: bool) -> tuple[Any, Bounds]:
        """Return what is added to a number, converted, and the bounds of the sum."""
        by = self._operand(addend_schema, by)
        info = path_info(self.field)
        found = bounds_of_sum(
            self.rules,
            info.path,
            by,
            info.codec.encode,
            name=info.text,
            counts_absent=counts_absent,
        )
        return by, tuple(found)

    def bounds_with(self, other: FieldPath) -> Bounds:
        """Return the bounds of a number to which another field is added: none can be expressed."""
        try:
            mine, theirs = addend_schema(self.rules), addend_schema(self.other_rules(other))
        except Uncheckable as error:
            raise self.refusal(str(error)) from None
        if self.rules.unwrapped.constraints or not covers(mine, theirs):
            raise self.refusal(f"no condition can say that its sum with {other!r} is valid")
        return ()

    def other_rules(self, other: FieldPath) -> ValueRules:
        """Return the rules of another field of the entity, whatever is around it."""
        if path_info(other).owner != self.entity.__name__:
            fact = f"{other!r} is a field of another entity"
            raise UpdateInvalid(self.entity.__name__, fact, f"Use {self.entity.__name__}.f.")
        try:
            return rules_of(self.entity).find(path_info(other).names, checks=False)[0]
        except Uncheckable as error:
            raise self.refusal(f"{other!r}: {error}") from None

    def append_bounds(self, members: list[Any]) -> tuple[list[Any], Bounds]:
        """Return what is appended to a list, converted, and the bounds of its length."""
        converted = self._operand(member_schema, members)
        name = path_info(self.field).text
        return converted, tuple(bounds_of_append(self.rules, self._path, len(members), name))

    def set_bounds(self, members: Any, *, adds: bool) -> tuple[Any, Bounds]:
        """Return members of a set to add or delete, converted, and the bounds of its size."""
        converted = self._operand(set_schema, members)
        if isinstance(converted, Placeholder):
            return converted, ()
        name = path_info(self.field).text
        encoded = _members_of(value_operand(self.field, converted))
        return converted, tuple(bounds_of_set(self.rules, self._path, encoded, name, adds=adds))

    def _operand(self, make_schema: MakeSchema, operand: Any) -> Any:
        try:
            validate = self.rules.operand(make_schema)
        except Uncheckable as error:
            raise self.refusal(str(error)) from None
        return validated(self.field, validate, operand)

    def refusal(self, fact: str) -> UpdateInvalid:
        """Return the error of a change that no condition can keep valid."""
        return uncheckable(self.entity.__name__, self.field, fact)


def check_field(entity: type[BaseModel], field: FieldPath) -> CheckedField:
    """Return a field with its rules; raises UpdateInvalid if it has no rules of its own."""
    try:
        rules, around = rules_of(entity).find(path_info(field).names)
    except Uncheckable as error:
        raise uncheckable(entity.__name__, field, str(error)) from None
    except ValidationError as error:
        raise ValueInvalid(repr(field), f"its key is invalid: {summarise(error)}", "") from None
    return CheckedField(entity, field, rules, around)


def _find_checked(entity: type[BaseModel], names: tuple[Any, ...]) -> CheckedField:
    found: Any = Fields(find_schema(entity))
    return check_field(entity, reduce(getitem, names, found))


def uncheckable(entity: str, field: FieldPath, fact: str) -> UpdateInvalid:
    """Return the error of a change that cannot be checked without the whole entity."""
    return UpdateInvalid(entity, f"{field!r} cannot be updated alone: {fact}", USE_CHANGE)


def validated(field: FieldPath, validate: Validate, value: Any) -> Any:
    """Return a validated value; one that contains placeholders is returned as it is."""
    if value.__class__ is Placeholder:
        return value
    try:
        return validate(value)
    except ValidationError as error:
        if has_placeholder(value):
            return value
        raise invalid_value(field, value, error) from None
    except Exception:
        # A validator of the user's does not know placeholders.
        if has_placeholder(value):
            return value
        raise


def invalid_value(field: FieldPath, value: Any, error: ValidationError) -> ValueInvalid:
    """Return the error of a value that is not valid for a field."""
    shown = path_info(field).codec.show(value)
    return ValueInvalid(repr(field), f"{summarise(error)}; got {shown}", "")


def _encode_converted(checked: CheckedField, value: Any) -> AttributeValue:
    return path_info(checked.field).codec.encode(checked.convert(value))


def _members_of(encoded: Any) -> list[AttributeValue]:
    """Return the members of an encoded set, each as a value."""
    ((kind, members),) = encoded.items()
    return [{kind[0]: each} for each in members]
