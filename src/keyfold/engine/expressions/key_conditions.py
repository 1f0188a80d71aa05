"""Key conditions: from an expression, or the legacy parameter, to a range of one partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple, assert_never

from keyfold.engine._key_faults import KeyFault, KeyFaultKind, KeyInvalid, condition_fault_error
from keyfold.engine._wording import INVALID
from keyfold.engine.expressions.binding import (
    Binder,
    BoundOperand,
    bind_between,
    bind_call,
    bind_comparison,
    bind_membership,
    check_bounds,
    check_types,
)
from keyfold.engine.expressions.comparison import ORDERED_TYPES, TEXT_TYPES
from keyfold.engine.expressions.conditions import check_operator_count
from keyfold.engine.expressions.faults import ExpressionFault
from keyfold.engine.expressions.parser import CACHED_EXPRESSIONS, parse_condition
from keyfold.engine.expressions.placeholders import MAX_PLACEHOLDER_LENGTH, Placeholders
from keyfold.engine.expressions.trees import (
    Both,
    Comparison,
    Condition,
    Either,
    FunctionCall,
    Interval,
    Membership,
    Negation,
    Path,
    ValuePlaceholder,
)
from keyfold.errors import ValidationException
from keyfold.values import AttributeValue

_TYPE_MISMATCH = f"{INVALID}Condition parameter type does not match schema type"
_NOT_SUPPORTED = "Query key condition not supported"
_NOT_INDEXABLE = "Attempted conditional constraint is not an indexable operation"


class KeyAttribute(NamedTuple):
    """An attribute of a key, and the type its values have."""

    name: str
    type: Literal["S", "N", "B"]


class Less(NamedTuple):
    """Sort keys below `value`."""

    value: AttributeValue


class AtMost(NamedTuple):
    """Sort keys up to and including `value`."""

    value: AttributeValue


class Greater(NamedTuple):
    """Sort keys above `value`."""

    value: AttributeValue


class AtLeast(NamedTuple):
    """Sort keys from `value` on."""

    value: AttributeValue


class Within(NamedTuple):
    """Sort keys from `low` to `high`, both included."""

    low: AttributeValue
    high: AttributeValue


class BeginsWith(NamedTuple):
    """Sort keys that start with `prefix`."""

    prefix: AttributeValue


class EqualTo(NamedTuple):
    """The one key value."""

    value: AttributeValue


class NotIndexable(NamedTuple):
    """A legacy condition that no key can answer, such as CONTAINS."""

    operator: str


SortRange = Less | AtMost | Greater | AtLeast | Within | BeginsWith
KeyConstraint = EqualTo | SortRange | NotIndexable


class ResolvedKeyCondition(NamedTuple):
    """A key condition against one key: the partition, and what of its sort keys is wanted."""

    partition: tuple[AttributeValue, ...]
    sort_equals: tuple[AttributeValue, ...]
    """The values of the first sort attributes, as many as are fixed."""
    sort_range: SortRange | None
    """What the sort attribute after those is limited to."""


class KeyCondition(NamedTuple):
    """One constraint for each attribute that the condition names."""

    constraints: Mapping[str, KeyConstraint]

    def resolve(
        self,
        partition: Sequence[KeyAttribute],
        sort: Sequence[KeyAttribute],
        index: str | None = None,
    ) -> ResolvedKeyCondition:
        """Fit the condition to the key of a table, or of the index of that name.

        Raises ValidationException where it does not fit.
        """
        try:
            if len(partition) > 1 or len(sort) > 1:
                return self._resolve_several(partition, sort)
            return self._resolve_single(partition[0], sort[0] if sort else None)
        except KeyInvalid as error:
            raise condition_fault_error(replace(error.fault, index=index)) from None

    def _resolve_single(
        self, partition: KeyAttribute, sort: KeyAttribute | None
    ) -> ResolvedKeyCondition:
        constraints = self.constraints
        count = len(constraints)
        if count > 2:  # noqa: PLR2004 - as the message says
            raise ValidationException("Conditions can be of length 1 or 2 only")
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

    def _resolve_several(
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
        """Return the first sort attributes, up to the last one with a constraint.

        Raises ValidationException if one of them has none, or another than equality before
        the last.
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
        """Return the constraint on `attribute`, its values checked against the key's type."""
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


@dataclass(frozen=True, slots=True)
class BoundKeyExpression:
    """A KeyConditionExpression whose operands are known; not yet known to be a key condition."""

    _leaves: tuple[_Leaf, ...]
    _condition: KeyCondition | None = None
    """What it is, where its text alone says that it is one."""

    def to_key_condition(self) -> KeyCondition:
        """Take the expression for a key condition; raises ValidationException if it is none.

        The service does so after it has looked at all expressions of the request and at
        unused placeholders.
        """
        if self._condition is not None:
            return self._condition
        constraints: dict[str, KeyConstraint] = {}
        for leaf in self._leaves:
            name, constraint = leaf.to_constraint()
            if name in constraints:
                raise ValidationException(
                    "KeyConditionExpressions must only contain one condition per key"
                )
            constraints[name] = constraint
        return KeyCondition(constraints)


class _Leaf(NamedTuple):
    """One condition between ANDs, or something that may not be there."""

    operator: str
    operands: Sequence[BoundOperand] = ()

    def to_constraint(self) -> tuple[str, KeyConstraint]:
        operator, operands = self.operator, self.operands
        if operator not in _CONSTRAINTS:
            raise ValidationException(
                f"Invalid operator used in KeyConditionExpression: {operator}"
            )
        if operator in ("BETWEEN", "begins_with") and isinstance(operands[0], dict):
            raise _invalid(f"{operator} operator must have the key attribute as its first operand")
        name: str | None = None
        values: list[AttributeValue] = []
        mirrored = False
        for operand in operands:
            if isinstance(operand, dict):
                mirrored = mirrored or name is None
                values.append(operand)
            elif isinstance(operand, tuple):
                if name is not None:
                    raise _invalid("Multiple attribute names used in one condition")
                if len(operand) > 1:
                    raise ValidationException(
                        "KeyConditionExpressions cannot have conditions on nested attributes"
                    )
                (name,) = map(str, operand)
            else:
                raise ValidationException(
                    "KeyConditionExpressions cannot contain nested operations"
                )
        if name is None:
            raise _invalid("No key attribute specified")
        return name, make_constraint(_MIRRORED[operator] if mirrored else operator, values)


def _invalid(detail: str) -> ValidationException:
    return ValidationException(f"Invalid condition in KeyConditionExpression: {detail}")


_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CONSTRAINTS: dict[str, type[EqualTo | SortRange]] = {
    "=": EqualTo,
    "<": Less,
    "<=": AtMost,
    ">": Greater,
    ">=": AtLeast,
    "BETWEEN": Within,
    "begins_with": BeginsWith,
}


def make_constraint(operator: str, values: Sequence[AttributeValue]) -> EqualTo | SortRange:
    """Make the constraint that an operator and its values put on one attribute of a key."""
    return _CONSTRAINTS[operator](*values)


def bind_key_condition(text: str, placeholders: Placeholders) -> BoundKeyExpression:
    """Parse a KeyConditionExpression and bind it to the request's names and values.

    >>> placeholders = Placeholders(None, {":p": {"S": "x"}, ":n": {"N": "1"}})
    >>> bound = bind_key_condition("pk = :p AND sk > :n", placeholders)
    >>> bound.to_key_condition().constraints["sk"]
    Greater(value={'N': '1'})

    Raises ValidationException.
    """
    try:
        plain = _parse_plain(text)
        if plain is not None:
            constraints = _bind_plain(plain, placeholders)
            if len(constraints) == len(plain):
                return BoundKeyExpression((), KeyCondition(constraints))
        leaves: list[_Leaf] = []
        _collect(parse_condition(text).condition, Binder(placeholders), leaves)
    except ExpressionFault as fault:
        raise fault.to_service_error("KeyConditionExpression") from None
    return BoundKeyExpression(tuple(leaves))


class FastKeyCondition(NamedTuple):
    """A condition that is fit for a key by its text: an attribute, an operator, placeholders."""

    name: str
    operator: str
    values: tuple[str, ...]

    @property
    def constraint(self) -> type[EqualTo | SortRange]:
        """What the condition puts on its attribute."""
        return _CONSTRAINTS[self.operator]


def read_fast_key_condition(text: str) -> tuple[FastKeyCondition, ...] | None:
    """Return the conditions of a text that is plain, each on another attribute by its own name.

    None for any other text, one with faults included.
    """
    try:
        leaves = _parse_plain(text)
    except ExpressionFault:
        return None
    if leaves is None or any(leaf.name[0] == "#" for leaf in leaves):
        return None
    if any(len(value) > MAX_PLACEHOLDER_LENGTH for leaf in leaves for value in leaf.values):
        return None
    return leaves if len({leaf.name for leaf in leaves}) == len(leaves) else None


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _parse_plain(text: str) -> tuple[FastKeyCondition, ...] | None:
    """Return the conditions of a text such as nearly every query has; None for any other."""
    parsed = parse_condition(text)
    check_operator_count(parsed.operator_count)
    node = parsed.condition
    leaves: list[FastKeyCondition] = []
    for leaf in node.conditions if isinstance(node, Both) else (node,):
        match leaf:
            case Comparison(operator, Path((str(name),)), ValuePlaceholder(value)):
                leaves.append(FastKeyCondition(name, operator, (value,)))
            case FunctionCall(operator, (Path((str(name),)), ValuePlaceholder(value))):
                leaves.append(FastKeyCondition(name, operator, (value,)))
            case Interval(Path((str(name),)), ValuePlaceholder(low), ValuePlaceholder(high)):
                leaves.append(FastKeyCondition(name, "BETWEEN", (low, high)))
            case _:
                return None
    return tuple(leaves) if all(leaf.operator in _CONSTRAINTS for leaf in leaves) else None


def _bind_plain(
    leaves: tuple[FastKeyCondition, ...], placeholders: Placeholders
) -> dict[str, KeyConstraint]:
    constraints: dict[str, KeyConstraint] = {}
    for leaf in leaves:
        name, operator = leaf.name, leaf.operator
        if name[0] == "#":
            name = placeholders.name(name)
        values = [placeholders.value(value) for value in leaf.values]
        if operator != "=":
            check_types(
                operator, values, TEXT_TYPES if operator == "begins_with" else ORDERED_TYPES
            )
            if operator == "BETWEEN":
                check_bounds(*values)
        constraints[name] = make_constraint(operator, values)
    return constraints


def _collect(node: Condition, binder: Binder, leaves: list[_Leaf]) -> None:
    """Bind every condition from the left, and put what stands between ANDs into `leaves`."""
    match node:
        case Comparison(comparator):
            leaves.append(_Leaf(comparator, bind_comparison(node, binder)))
        case Both(conditions):
            for condition in conditions:
                _collect(condition, binder, leaves)
        case FunctionCall():
            leaves.append(_Leaf(node.function, bind_call(node, binder)))
        case Interval():
            leaves.append(_Leaf("BETWEEN", bind_between(node, binder)))
        case Membership():
            bind_membership(node, binder)
            leaves.append(_Leaf("IN"))
        case Either(conditions):
            leaves.append(_Leaf("OR"))
            for condition in conditions:
                _collect(condition, binder, [])
        case Negation(condition):
            leaves.append(_Leaf("NOT"))
            _collect(condition, binder, [])
        case _:
            assert_never(node)
