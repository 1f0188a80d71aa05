"""Key conditions: which partition, and which range of its sort keys, a query reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, assert_never

from keyfold.errors import ValidationException
from keyfold.expressions.binder import (
    Binder,
    BoundOperand,
    bind_between,
    bind_call,
    bind_comparison,
    bind_in,
)
from keyfold.expressions.conditions import check_operator_count
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.parser import CACHED_EXPRESSIONS, parse_condition
from keyfold.expressions.placeholders import MAX_PLACEHOLDER_LENGTH, Placeholders
from keyfold.expressions.trees import (
    COMPARATORS,
    MIRRORED,
    And,
    Between,
    Comparison,
    Condition,
    FunctionCall,
    In,
    Not,
    Or,
    Path,
    ValuePlaceholder,
)
from keyfold.values import AttributeValue


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
    """Sort keys from `value` upwards, `value` included."""

    value: AttributeValue


class Within(NamedTuple):
    """Sort keys from `low` to `high`, both included."""

    low: AttributeValue
    high: AttributeValue


class BeginsWith(NamedTuple):
    """Sort keys that start with `prefix`."""

    prefix: AttributeValue


class EqualTo(NamedTuple):
    """Keys equal to `value`."""

    value: AttributeValue


class NotIndexable(NamedTuple):
    """A legacy condition that cannot be evaluated on a key, such as CONTAINS."""

    operator: str


SortRange = Less | AtMost | Greater | AtLeast | Within | BeginsWith
KeyConstraint = EqualTo | SortRange | NotIndexable


class KeyCondition(NamedTuple):
    """One constraint for each attribute that the condition names."""

    constraints: Mapping[str, KeyConstraint]


@dataclass(frozen=True, slots=True)
class BoundKeyExpression:
    """A bound KeyConditionExpression, not yet checked to be a valid key condition."""

    _leaves: tuple[_Leaf, ...]

    def to_key_condition(self) -> KeyCondition:
        """Return the key condition; raises ValidationException if the expression is not one.

        The service checks this after it has parsed all expressions of the request and looked for
        unused placeholders.
        """
        constraints: dict[str, KeyConstraint] = {}
        for leaf in self._leaves:
            name, constraint = leaf.to_constraint()
            if name in constraints:
                raise _refusal("KeyConditionExpressions must only contain one condition per key")
            constraints[name] = constraint
        return KeyCondition(constraints)


class _Leaf(NamedTuple):
    """One condition joined by AND, or an operator that key conditions do not allow."""

    operator: str
    operands: Sequence[BoundOperand] = ()

    def to_constraint(self) -> tuple[str, KeyConstraint]:
        operator, operands = self.operator, self.operands
        if operator not in _CONSTRAINTS:
            raise _refusal(f"Invalid operator used in KeyConditionExpression: {operator}")
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
                    raise _refusal(
                        "KeyConditionExpressions cannot have conditions on nested attributes"
                    )
                (name,) = map(str, operand)
            else:
                raise _refusal("KeyConditionExpressions cannot contain nested operations")
        if name is None:
            raise _invalid("No key attribute specified")
        if mirrored:
            operator = MIRRORED[COMPARATORS[operator]]
        return name, make_constraint(operator, values)


def _invalid(detail: str) -> ValidationException:
    return _refusal(f"Invalid condition in KeyConditionExpression: {detail}")


def _refusal(fact: str) -> ValidationException:
    return ValidationException(fact, current_message=f"Invalid KeyConditionExpression: {fact}")


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
    """Return the constraint of an operator and its values on one key attribute."""
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
        parsed = parse_condition(text)
        check_operator_count(parsed.operator_count)
        leaves: list[_Leaf] = []
        _collect(parsed.condition, Binder(placeholders), leaves)
    except ExpressionFault as fault:
        raise fault.to_service_error("KeyConditionExpression") from None
    return BoundKeyExpression(tuple(leaves))


class FastKeyCondition(NamedTuple):
    """A condition for the fast path: an attribute, an operator, and placeholders of values."""

    name: str
    operator: str
    values: tuple[str, ...]

    @property
    def constraint(self) -> type[EqualTo | SortRange]:
        """The class of the constraint on the attribute."""
        return _CONSTRAINTS[self.operator]


def read_fast_key_condition(
    text: str, placeholders: Placeholders
) -> tuple[FastKeyCondition, ...] | None:
    """Return the conditions in `text`, if it suits the fast path; None otherwise.

    Each condition is on a different attribute. Only the names of `placeholders` are used. Texts
    with faults give None, too.
    """
    try:
        parsed = _parse_fast(text)
        if parsed is None:
            return None
        leaves = tuple(
            leaf._replace(name=placeholders.name(leaf.name)) if leaf.name[0] == "#" else leaf
            for leaf in parsed
        )
    except ExpressionFault:
        return None
    if any(len(value) > MAX_PLACEHOLDER_LENGTH for leaf in leaves for value in leaf.values):
        return None
    return leaves if len({leaf.name for leaf in leaves}) == len(leaves) else None


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _parse_fast(text: str) -> tuple[FastKeyCondition, ...] | None:
    """Return simple conditions joined by AND, as in nearly every query; None for other texts."""
    parsed = parse_condition(text)
    check_operator_count(parsed.operator_count)
    node = parsed.condition
    leaves: list[FastKeyCondition] = []
    for leaf in node.conditions if isinstance(node, And) else (node,):
        match leaf:
            case Comparison(operator, Path((str(name),)), ValuePlaceholder(value)):
                leaves.append(FastKeyCondition(name, operator, (value,)))
            case FunctionCall(operator, (Path((str(name),)), ValuePlaceholder(value))):
                leaves.append(FastKeyCondition(name, operator, (value,)))
            case Between(Path((str(name),)), ValuePlaceholder(low), ValuePlaceholder(high)):
                leaves.append(FastKeyCondition(name, "BETWEEN", (low, high)))
            case _:
                return None
    return tuple(leaves) if all(leaf.operator in _CONSTRAINTS for leaf in leaves) else None


def _collect(node: Condition, binder: Binder, leaves: list[_Leaf]) -> None:
    """Bind every condition from the left, and append those joined by AND to `leaves`."""
    match node:
        case Comparison(comparator):
            leaves.append(_Leaf(comparator, bind_comparison(node, binder)))
        case And(conditions):
            for condition in conditions:
                _collect(condition, binder, leaves)
        case FunctionCall():
            leaves.append(_Leaf(node.function, bind_call(node, binder)))
        case Between():
            leaves.append(_Leaf("BETWEEN", bind_between(node, binder)))
        case In():
            bind_in(node, binder)
            leaves.append(_Leaf("IN"))
        case Or(conditions):
            leaves.append(_Leaf("OR"))
            for condition in conditions:
                _collect(condition, binder, [])
        case Not(condition):
            leaves.append(_Leaf("NOT"))
            _collect(condition, binder, [])
        case _:
            assert_never(node)
