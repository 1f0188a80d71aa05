"""Errors as the browser shows them: a status, a code, the message, and facts about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from keyfold.errors import (
    AccessDenied,
    ConditionFailed,
    KeyfoldError,
    NotFound,
    PrincipalInvalid,
    SerializationException,
    ServiceError,
    TransactionFailed,
    Unreachable,
    ValueInvalid,
)

_STATUSES: tuple[tuple[type[KeyfoldError], int], ...] = (
    (AccessDenied, 403),
    (PrincipalInvalid, 422),
    (NotFound, 404),
    (ConditionFailed, 409),
    (TransactionFailed, 409),
    (Unreachable, 502),
)


@dataclass(frozen=True, slots=True)
class ShownProblem:
    """What went wrong. `facts` are members that a room needs, such as which field is invalid."""

    status: int
    code: str
    message: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self) -> dict[str, Any]:
        """Return the problem as the member `error` of a response."""
        return {"code": self.code, "message": self.message, **self.facts}


class StudioProblem(Exception):
    """Ends a request of the browser with a problem."""

    def __init__(self, status: int, code: str, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.problem = ShownProblem(status, code, message, facts)


def describe_problem(error: Exception) -> ShownProblem:
    """Return an error as a problem; an unforeseen one tells no more than its kind."""
    match error:
        case StudioProblem():
            return error.problem
        case ValidationError():
            fields = [
                {"field": ".".join(map(str, each["loc"])), "message": each["msg"]}
                for each in error.errors(include_url=False, include_input=False)
            ]
            shown = "; ".join(f"{each['field']}: {each['message']}" for each in fields)
            return ShownProblem(422, ValueInvalid.code, shown, {"fields": fields})
        case SerializationException():
            message = "The body is not JSON, or it is nested too deep."
            return ShownProblem(400, "request-malformed", message)
        case ServiceError():
            return ShownProblem(error.status, error.type, error.message)
        case KeyfoldError():
            status = next((each for kind, each in _STATUSES if isinstance(error, kind)), 422)
            return ShownProblem(status, error.code, _without_code(error))
        case _:
            message = (
                f"The studio failed with {type(error).__name__}. Its terminal has the details."
            )
            return ShownProblem(500, "internal-error", message)


def _without_code(error: KeyfoldError) -> str:
    """Return the message of an error; the browser shows its code beside it."""
    return str(error).removesuffix(f"[{error.code}]").rstrip()
