"""Preparation of statements that is common to all PartiQL operations."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from keyfold.engine.partiql.parser import parse_statement
from keyfold.engine.partiql.translation import Translation
from keyfold.engine.partiql.trees import Expression, Statement
from keyfold.engine.partiql.values import PARAMETERS_DIFFER, read_parameters
from keyfold.errors import ValidationException
from keyfold.expressions.conditions import BoundCondition, check_operator_count, compile_condition
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.trees import Condition
from keyfold.values import AttributeValue, text_size_bytes


class Prepared(NamedTuple):
    """A parsed statement, with its parameters."""

    text: str
    statement: Statement
    parameters: list[AttributeValue]
    fault: str | None

    def check_supported(self) -> None:
        """Raise ValidationException if the statement uses a feature DynamoDB does not support."""
        if self.fault is not None:
            raise ValidationException(self.fault)


def prepare(request: dict[str, Any]) -> Prepared:
    """Parse a statement and its parameters; raises ValidationException.

    `request` is that of ExecuteStatement, or one member of a batch or transaction.
    """
    return parse_with(request["Statement"], read_parameters(request.get("Parameters")))


def parse_with(text: str, parameters: list[AttributeValue]) -> Prepared:
    """Parse a statement for these parameters; raises ValidationException."""
    # Raises if the text cannot be encoded, such as one with an unpaired surrogate.
    text_size_bytes(text)
    parsed = parse_statement(text)
    if parsed.parameter_count < len(parameters):
        raise ValidationException(PARAMETERS_DIFFER)
    return Prepared(text, parsed.statement, parameters, parsed.fault)


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
