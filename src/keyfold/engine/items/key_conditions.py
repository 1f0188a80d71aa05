"""Resolves key conditions against the key of a table or index: a partition, and a sort range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, assert_never

from keyfold.engine.items.key_faults import (
    KeyFault,
    KeyFaultKind,
    KeyInvalid,
    condition_fault_error,
)
from keyfold.engine.items.keys import KeyAttribute
from keyfold.errors import ValidationException
from keyfold.expressions.key_conditions import (
    AtLeast,
    AtMost,
    BeginsWith,
    EqualTo,
    Greater,
    KeyCondition,
    Less,
    NotIndexable,
    SortRange,
    Within,
)
from keyfold.values import AttributeValue
from keyfold.values.wording import INVALID

_TYPE_MISMATCH = f"{INVALID}Condition parameter type does not match schema type"
_NOT_SUPPORTED = "Query key condition not supported"
_NOT_INDEXABLE = "Attempted conditional constraint is not an indexable operation"


class ResolvedKeyCondition(NamedTuple):
    """A key condition resolved against a key: the partition, and the wanted sort keys."""

    partition: tuple[AttributeValue, ...]
    sort_equals: tuple[AttributeValue, ...]
    """The values of the leading sort attributes that have equality conditions."""
    sort_range: SortRange | None
    """The range of the next sort attribute."""


def resolve_key_condition(
    condition: KeyCondition,
    partition: Sequence[KeyAttribute],
    sort: Sequence[KeyAttribute],
    index: str | None = None,
) -> ResolvedKeyCondition:
    """Resolve a key condition against the key of a table, or of the index named `index`.

    Raises ValidationException if the condition does not match the key.
    """
    resolver = _Resolver(condition)
    try:
        if len(partition) > 1 or len(sort) > 1:
            return resolver.resolve_several(partition, sort)
        return resolver.resolve_single(partition[0], sort[0] if sort else None)
    except KeyInvalid as error:
        raise condition_fault_error(replace(error.fault, index=index)) from None


class _Resolver:
    def __init__(self, condition: KeyCondition) -> None:
        self.constraints = condition.constraints

    def resolve_single(
        self, partition: KeyAttribute, sort: KeyAttribute | None
    ) -> ResolvedKeyCondition:
        constraints = self.constraints
        count = len(constraints)
        if count > 2:  # noqa: PLR2004 - the message has the number
            defined = 1 if sort is None else 2
            raise ValidationException(
                "Conditions can be of length 1 or 2 only",
                current_message=f"The number of query conditions ({count}) exceeds the number "
                f"of key attributes defined in the schema ({defined})",
                validation="current",
            )
        if sort is None and count > 1:
            raise ValidationException(_NOT_SUPPORTED)
        if partition.name not in constraints:
            raise _missed(partition)
        if sort is not None and count > 1 and sort.name not in constraints:
            raise _missed(sort)
        equal = self._constraint(partition)
        if not isinstance(equal, EqualTo):
            raise ValidationException(_NOT_SUPPORTED)
        wanted = None if sort is None or count == 1 else self._constraint(sort)
        if isinstance(wanted, EqualTo):
            return ResolvedKeyCondition((equal.value,), (wanted.value,), None)
        return ResolvedKeyCondition((equal.value,), (), wanted)

    def resolve_several(
        self, partition: Sequence[KeyAttribute], sort: Sequence[KeyAttribute]
    ) -> ResolvedKeyCondition:
        if len(self.constraints) > len(partition) + len(sort):
            raise ValidationException(_NOT_SUPPORTED)
        unequal = self._missing(partition) or self._without_equality(partition)
        if unequal:
            raise ValidationException(
                f"HASH key attributes {', '.join(unequal)} must have equality conditions "
                "specified in the query"
            )
        partition_values = [_value_of(self._constraint(attribute)) for attribute in partition]
        used = self._leading(sort)
        wanted = [self._constraint(attribute) for attribute in used]
        if len(partition) + len(used) < len(self.constraints):
            raise _missed(sort[len(used)])
        equals = [each.value for each in wanted if isinstance(each, EqualTo)]
        last = wanted[-1] if wanted else None
        return ResolvedKeyCondition(
            tuple(partition_values),
            tuple(equals),
            None if isinstance(last, EqualTo) else last,
        )

    def _leading(self, sort: Sequence[KeyAttribute]) -> Sequence[KeyAttribute]:
        """Return the leading sort attributes, up to the last one with a constraint.

        Raises ValidationException unless all of them but the last have equality constraints.
        """
        used: Sequence[KeyAttribute] = ()
        for place, attribute in enumerate(sort):
            if attribute.name in self.constraints:
                _refuse_unequal(self._missing(sort[:place]), attribute)
                used = sort[: place + 1]
        if used:
            _refuse_unequal(self._without_equality(used[:-1]), used[-1])
        return used

    def _missing(self, attributes: Sequence[KeyAttribute]) -> list[str]:
        return [each.name for each in attributes if each.name not in self.constraints]

    def _without_equality(self, attributes: Sequence[KeyAttribute]) -> list[str]:
        return [
            each.name for each in attributes if not isinstance(self.constraints[each.name], EqualTo)
        ]

    def _constraint(self, attribute: KeyAttribute) -> EqualTo | SortRange:
        """Return the constraint on `attribute`, after checking its values against the key's type."""
        constraint = self.constraints[attribute.name]
        if type(constraint) is EqualTo and constraint.value.get(attribute.type):
            return constraint
        if isinstance(constraint, NotIndexable):
            raise ValidationException(_NOT_INDEXABLE)
        for value in _values_of(constraint):
            data = value.get(attribute.type)
            if data is None:
                raise ValidationException(_TYPE_MISMATCH)
            if not data:
                names, expected = (attribute.name,), attribute.type
                raise KeyInvalid(KeyFault(KeyFaultKind.EMPTY, names, expected))
        return constraint


def _value_of(constraint: EqualTo | SortRange) -> AttributeValue:
    assert isinstance(constraint, EqualTo)
    return constraint.value


def _refuse_unequal(names: list[str], attribute: KeyAttribute) -> None:
    if names:
        raise ValidationException(
            f"RANGE key attributes {', '.join(names)} must have equality conditions specified in "
            f"the query because a condition is present on key attribute {attribute.name}"
        )


def _missed(attribute: KeyAttribute) -> ValidationException:
    return ValidationException(f"Query condition missed key schema element: {attribute.name}")


def _values_of(constraint: EqualTo | SortRange) -> tuple[AttributeValue, ...]:
    match constraint:
        case EqualTo(value) | Less(value) | AtMost(value) | Greater(value) | AtLeast(value):
            return (value,)
        case BeginsWith(prefix):
            return (prefix,)
        case Within(low, high):
            return (low, high)
        case _:
            assert_never(constraint)
