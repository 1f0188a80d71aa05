"""Faults in an expression, before it is known which parameter the expression came from."""

from __future__ import annotations

from keyfold.errors import ValidationException


class ExpressionFault(Exception):
    """A fault in an expression, with the service's message minus its prefix.

    `measure` is the end of the message, which the errors for some parameters leave out.
    """

    def __init__(self, detail: str, measure: str = "") -> None:
        super().__init__(detail, measure)
        self.detail = detail + measure
        self._short = detail

    def to_service_error(self, parameter: str) -> ValidationException:
        """Return the service's error for this fault in the request parameter `parameter`."""
        if parameter in ("UpdateExpression", "ProjectionExpression"):
            # For these two, the error about an expression that is too long omits its length.
            return ValidationException(f"Invalid {parameter}: {self._short}")
        return ValidationException(f"Invalid {parameter}: {self.detail}")
