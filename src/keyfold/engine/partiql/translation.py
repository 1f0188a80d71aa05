"""Translation of PartiQL expressions into the trees that the rest of the engine evaluates.

A WHERE clause becomes a condition; SET and REMOVE become the actions of an update. Parameters are
replaced by their values. `keyfold.expressions` compiles the trees like those of condition and
update expressions. Nothing is evaluated here.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from keyfold.errors import ValidationException
from keyfold.expressions.conditions import BoundCondition, check_operator_count, compile_condition
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.partiql.trees import (
    Assignment,
    BetweenOperation,
    BinaryOperation,
    Constant,
    Expression,
    Function,
    IsType,
    Logical,
    PositionalParameter,
    Reference,
    Removal,
    Sequence,
    UnaryOperation,
    Unsupported,
    service_name,
)
from keyfold.expressions.partiql.values import read_value
from keyfold.expressions.trees import (
    COMPARATORS,
    PREDICATES,
    UPDATE_FUNCTIONS,
    Action,
    AddTo,
    And,
    Arithmetic,
    Between,
    Comparator,
    Comparison,
    Condition,
    DeleteFrom,
    FunctionCall,
    In,
    Not,
    Operand,
    Or,
    Path,
    Remove,
    SetTo,
)
from keyfold.values import AttributeValue

_IS_TYPES = {
    "NULL": "NULL",
    "BOOLEAN": "BOOL",
    "BLOB": "B",
    "STRING": "S",
    "NUMERIC": "N",
    "STRUCT": "M",
    "TUPLE": "M",
    "LIST": "L",
}
_SETS = frozenset({"SS", "NS", "BS"})
_MISSING = "MISSING must be compared using IS operator"


def path_of(node: Reference) -> Path:
    """Return a reference as a path without placeholders."""
    return Path(node.steps, has_placeholders=False)


class Translation:
    """Translates the expressions of one statement, replacing parameters by their values."""

    def __init__(self, parameters: list[AttributeValue]) -> None:
        self._parameters = parameters
        self.operator_count: int = 0
        """The number of operators and functions in the conditions translated so far."""

    def condition(self, node: Expression) -> Condition:
        """Return a WHERE clause as a condition; raises ValidationException."""
        found = self._condition(node)
        if found is None:
            raise ValidationException(
                "WHERE clause must contain an expression that resolves to a boolean"
            )
        return found

    def actions(self, changes: tuple[Assignment | Removal, ...]) -> tuple[Action, ...]:
        """Return the changes of an UPDATE as actions; raises ValidationException."""
        return tuple(self._action(change) for change in changes)

    def _condition(self, node: Expression) -> Condition | None:
        """Return a condition; None if the expression is a value."""
        self.operator_count += 1
        match node:
            case Logical(operator, parts):
                conditions = tuple(self._part(part) for part in parts)
                self.operator_count += len(parts) - 2
                return And(conditions) if operator == "and" else Or(conditions)
            case UnaryOperation("not", operand):
                inner = self._condition(operand)
                if inner is None:
                    raise ValidationException("The argument to NOT must be a Type or Expression")
                return Not(inner)
            case BinaryOperation("in", left, right):
                return self._membership(left, right)
            case BinaryOperation(operator, left, right) if operator in COMPARATORS:
                return self._comparison(COMPARATORS[operator], left, right)
            case BetweenOperation(value, low, high):
                operands = (self.operand(value), self.operand(low), self.operand(high))
                return Between(*operands)
            case IsType():
                return self._type_test(node)
            case Function(name, operands) if name in PREDICATES:
                predicate = PREDICATES[name]
                return FunctionCall(predicate, tuple(self.operand(operand) for operand in operands))
            case Function("size"):
                raise ValidationException(
                    "The function is not allowed to be used this way in an expression; "
                    "function: size"
                )
            case Function(name) if name in UPDATE_FUNCTIONS:
                raise ValidationException(
                    f"The function is not allowed in a condition expression; function: {name}"
                )
            case Function():
                raise _unrecognised(node)
            case BinaryOperation(operator) | UnaryOperation(operator):
                raise _unsupported_operator("Condition", operator)
            case Unsupported(message):
                raise ValidationException(message)
            case _:
                self.operator_count -= 1
                return None

    def _part(self, node: Expression) -> Condition:
        found = self._condition(node)
        if found is None:
            raise ValidationException("The arguments to AND/OR must be Expressions")
        return found

    def _membership(self, left: Expression, right: Expression) -> Condition:
        if not isinstance(right, Sequence) or not right.members:
            raise ValidationException(
                "IN operator must have a left hand argument of type Variable Reference and "
                "right hand argument of type Seq with at least one member"
            )
        options = tuple(self.operand(member) for member in right.members)
        return In(self.operand(left), options)

    def _comparison(self, comparator: Comparator, left: Expression, right: Expression) -> Condition:
        for one, other in ((left, right), (right, left)):
            if not _is_condition(one):
                continue
            # A condition compared with TRUE or FALSE is the condition itself or its negation.
            if comparator in ("=", "<>") and isinstance(other, Constant):
                condition = self._part(one)
                holds = (other.value == "true") is (comparator == "=")
                return condition if holds else Not(condition)
            raise ValidationException(
                "Incorrect operand type for operator or function; "
                f"operator or function: {comparator}, operand type: BOOL"
            )
        return Comparison(comparator, self.operand(left), self.operand(right))

    def _type_test(self, node: IsType) -> Condition:
        if not isinstance(node.operand, Reference) and (
            isinstance(node.operand, PositionalParameter)
            or read_value(node.operand, self._parameters) is None
        ):
            raise ValidationException(
                "The left hand side argument to IS must be a Variable Reference, Literal, or Path"
            )
        operand = self.operand(node.operand)
        if node.type == "MISSING":
            return FunctionCall("attribute_not_exists", (operand,))
        kind = _IS_TYPES.get(node.type)
        if kind is None:
            raise ValidationException(
                f"Unsupported data type for IS operator: {node.type}. Supported data types are "
                "[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] "
                f"at {node.at}"
            )
        return FunctionCall("attribute_type", (operand, {"S": kind}))

    def operand(self, node: Expression) -> Operand:
        """Return one operand of a condition; raises ValidationException."""
        value = read_value(node, self._parameters)
        if value is not None:
            return value
        match node:
            case Reference():
                return path_of(node)
            case Function("size", operands):
                self.operator_count += 1
                return FunctionCall("size", tuple(self.operand(operand) for operand in operands))
            case Constant():
                raise ValidationException(_MISSING)
            case Function(name) if name in PREDICATES:
                raise ValidationException(
                    "The function is not allowed to be used this way in an expression; "
                    f"function: {name}"
                )
            case Function(name) if name in UPDATE_FUNCTIONS:
                raise ValidationException(
                    f"The function is not allowed in a condition expression; function: {name}"
                )
            case Function():
                raise _unrecognised(node)
            case Unsupported(message):
                raise ValidationException(message)
            case BinaryOperation(operator) | UnaryOperation(operator) | Logical(operator):
                raise _unsupported_operator("Condition", operator)
            case _:
                raise _unsupported_operator("Condition", _operator_of(node))

    def _action(self, change: Assignment | Removal) -> Action:
        path = path_of(change.target)
        if isinstance(change, Removal):
            return Remove(path)
        match change.value:
            case Function("set_add" | "set_delete" as name):
                return self._set_action(change, change.value, name)
            case _:
                return SetTo(path, self._source(change.value))

    def _set_action(
        self, change: Assignment, call: Function, name: Literal["set_add", "set_delete"]
    ) -> Action:
        shown = name.upper()
        if len(call.operands) != 2:  # noqa: PLR2004 - as the message says
            raise ValidationException(f"{shown} must have exactly two arguments at {call.at}")
        first, second = call.operands
        if not isinstance(first, Reference) or first.steps != change.target.steps:
            raise ValidationException(
                f"The first argument to {shown} must equal the assignment value at {call.at}"
            )
        value = read_value(second, self._parameters)
        if value is None or _SETS.isdisjoint(value):
            raise ValidationException(
                f"The second argument to {shown} must be a value with type SET at {first.at}"
            )
        path = path_of(change.target)
        return AddTo(path, value) if name == "set_add" else DeleteFrom(path, value)

    def _source(self, node: Expression) -> Operand | Arithmetic:
        value = read_value(node, self._parameters)
        if value is not None:
            return value
        match node:
            case Reference():
                return path_of(node)
            case BinaryOperation("+" | "-" as operator, left, right):
                return Arithmetic(operator, self._source(left), self._source(right))
            case Function(name, operands) if name in UPDATE_FUNCTIONS:
                return FunctionCall(
                    UPDATE_FUNCTIONS[name],
                    tuple(self._source_operand(operand) for operand in operands),
                )
            case Function(name) if name in PREDICATES or name == "size":
                raise ValidationException(
                    f"The function is not allowed in an update expression; function: {name}"
                )
            case Function():
                raise _unrecognised(node)
            case IsType():
                raise ValidationException("IS operator is not supported in update expressions")
            case Constant():
                raise ValidationException(_MISSING)
            case UnaryOperation("+" | "-" as operator):
                raise ValidationException(
                    "Incorrect number of operands for operator or function; "
                    f"operator or function: {operator}, number of operands: 1"
                )
            case Unsupported(message):
                raise ValidationException(message)
            case BinaryOperation(operator) | UnaryOperation(operator) | Logical(operator):
                raise _unsupported_operator("Update", operator)
            case _:
                raise _unsupported_operator("Update", _operator_of(node))

    def _source_operand(self, node: Expression) -> Operand:
        source = self._source(node)
        if isinstance(source, Arithmetic):
            raise _unsupported_operator("Update", source.operator)
        return source


def _is_condition(node: Expression) -> bool:
    match node:
        case Logical() | BetweenOperation() | IsType() | UnaryOperation("not"):
            return True
        case BinaryOperation(operator):
            return operator == "in" or operator in COMPARATORS
        case Function(name):
            return name in PREDICATES
        case _:
            return False


def _operator_of(node: Expression) -> str:
    match node:
        case BetweenOperation():
            return "between"
        case IsType():
            return "is"
        case _:
            return service_name(node).lower()


def _unsupported_operator(kind: str, operator: str) -> ValidationException:
    return ValidationException(f"Unsupported operator in {kind} Expression. Operator: {operator}")


def _unrecognised(node: Function) -> ValidationException:
    return ValidationException(f"Unrecognized function: {node.name} at {node.at}")


def bind_where(
    node: Expression | None, parameters: list[AttributeValue]
) -> tuple[Condition | None, BoundCondition | None]:
    """Return a WHERE clause as a tree, and compiled; raises ValidationException."""
    if node is None:
        return None, None
    translation = Translation(parameters)
    condition = translation.condition(node)
    with as_validation_error():
        check_operator_count(translation.operator_count)
        return condition, compile_condition(condition)


@contextmanager
def as_validation_error() -> Generator[None]:
    """Convert an ExpressionFault to the ValidationException that the service has in a statement."""
    try:
        yield
    except ExpressionFault as fault:
        raise ValidationException(fault.detail) from None
