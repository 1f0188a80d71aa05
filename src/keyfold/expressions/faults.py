"""What is wrong with an expression, before it is known which parameter it came from."""

from __future__ import annotations

from keyfold.errors import ValidationException


class ExpressionFault(Exception):
    """A fault inside an expression, in the service's words without their prefix.

    `measure` is the end of those words that not every parameter's error has.
    """

    def __init__(self, detail: str, measure: str = "") -> None:
        super().__init__(detail, measure)
        self.detail = detail + measure
        self._short = detail

    def to_service_error(self, parameter: str) -> ValidationException:
        """Return the error as the service words it for the request parameter `parameter`."""
        if parameter in ("UpdateExpression", "ProjectionExpression"):
            # Of an expression that is too long, these two do not say how long it is.
            return ValidationException(f"Invalid {parameter}: {self._short}")
        return ValidationException(f"Invalid {parameter}: {self.detail}")
