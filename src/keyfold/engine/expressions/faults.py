"""What is wrong with an expression, before it is known which parameter it came from."""

from __future__ import annotations

from keyfold.errors import ValidationException


class ExpressionFault(Exception):
    """A fault inside an expression, in the service's words without their prefix."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def to_service_error(self, parameter: str) -> ValidationException:
        """Return the error as the service words it for the request parameter `parameter`."""
        if parameter in ("UpdateExpression", "ProjectionExpression"):
            # Of an expression that is too long, these two do not say how long it is.
            head, too_long, _ = self.detail.partition(" expression size: ")
            return ValidationException(f"Invalid {parameter}: {head if too_long else self.detail}")
        return ValidationException(f"Invalid {parameter}: {self.detail}")
