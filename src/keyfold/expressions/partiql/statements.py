"""Statements with their parameters, as all PartiQL operations take them."""

from __future__ import annotations

from typing import Any, NamedTuple

from keyfold.errors import ValidationException
from keyfold.expressions.partiql.parser import parse_statement
from keyfold.expressions.partiql.trees import Statement
from keyfold.expressions.partiql.values import PARAMETERS_DIFFER, read_parameters
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
