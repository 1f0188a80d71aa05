"""What every statement goes through, whichever operation carries it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from keyfold.engine.expressions import (
    BoundCondition,
    ExpressionFault,
    check_operator_count,
    compile_condition,
)
from keyfold.engine.expressions.trees import Condition
from keyfold.engine.partiql.parser import parse_statement
from keyfold.engine.partiql.translation import Translation
from keyfold.engine.partiql.trees import Expression, Statement
from keyfold.engine.partiql.values import PARAMETERS_DIFFER, read_parameters
from keyfold.errors import ValidationException
from keyfold.values import AttributeValue, text_size_bytes


class Prepared(NamedTuple):
    """A statement that can be read, with its parameters."""

    text: str
    statement: Statement
    parameters: list[AttributeValue]
    fault: str | None

    def check_supported(self) -> None:
        """Raise ValidationException for what DynamoDB reads and does not do."""
        if self.fault is not None:
            raise ValidationException(self.fault)


def prepare(request: dict[str, Any]) -> Prepared:
    """Read a statement with its parameters; raises ValidationException.

    `request` is that of ExecuteStatement, or one member of a batch or a transaction.
    """
    return parse_with(request["Statement"], read_parameters(request.get("Parameters")))


def parse_with(text: str, parameters: list[AttributeValue]) -> Prepared:
    """Parse a statement that comes with these parameters; raises ValidationException."""
    # Text that is no text, such as half a surrogate pair, is refused here.
    text_size_bytes(text)
    parsed = parse_statement(text)
    if parsed.parameter_count < len(parameters):
        raise ValidationException(PARAMETERS_DIFFER)
    return Prepared(text, parsed.statement, parameters, parsed.fault)


def bind_where(
    node: Expression | None, parameters: list[AttributeValue]
) -> tuple[Condition | None, BoundCondition | None]:
    """Return a WHERE clause as a tree and compiled; raises ValidationException."""
    if node is None:
        return None, None
    translation = Translation(parameters)
    condition = translation.condition(node)
    with worded():
        check_operator_count(translation.operator_count)
        return condition, compile_condition(condition)


@contextmanager
def worded() -> Generator[None]:
    """Raise the fault of an expression as the service words it inside a statement."""
    try:
        yield
    except ExpressionFault as fault:
        raise ValidationException(fault.detail) from None
