"""Errors as problems (RFC 9457): a status, a stable code, and a text without keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import orjson
from pydantic import ValidationError

from keyfold.errors import (
    AccessDenied,
    AnswerNotKept,
    AuthenticationUnavailable,
    CallerRefused,
    ChangesUnavailable,
    ConditionFailed,
    CursorInvalid,
    DeclarationInvalid,
    EarlierOutcomeUnknown,
    EventIdInvalid,
    HandleInvalid,
    IdempotencyKeyInvalid,
    IdempotencyKeyReused,
    KeyfoldError,
    NotFound,
    OutcomeUnknown,
    PatternFailed,
    PreconditionFailed,
    PreconditionInvalid,
    PrincipalInvalid,
    RateLimited,
    RequestInProgress,
    SerializationException,
    ServiceError,
    TransactionFailed,
    Unauthenticated,
    Unavailable,
    Unreachable,
    ValueInvalid,
)
from keyfold.service._arguments import (
    ArgumentProblem,
    ArgumentsInvalid,
    list_problems,
)
from keyfold.store import Handles

PROBLEM_TYPE = "application/problem+json"
_INTERNAL = "internal-error"
_RETRY = {"retry-after": "1"}

# The statuses of errors, the special before the general.
_STATUSES: tuple[tuple[type[KeyfoldError], int], ...] = (
    (Unauthenticated, 401),
    (CallerRefused, 403),
    (AccessDenied, 403),
    (PrincipalInvalid, 403),
    (RateLimited, 429),
    (AuthenticationUnavailable, 503),
    (NotFound, 404),
    (ConditionFailed, 409),
    (TransactionFailed, 409),
    (CursorInvalid, 400),
    (EventIdInvalid, 400),
    (ChangesUnavailable, 404),
    (HandleInvalid, 422),
    (PatternFailed, 500),
    (DeclarationInvalid, 500),
    (Unavailable, 503),
    (Unreachable, 503),
    (OutcomeUnknown, 504),
    (IdempotencyKeyInvalid, 400),
    (IdempotencyKeyReused, 422),
    (RequestInProgress, 409),
    (EarlierOutcomeUnknown, 409),
    (AnswerNotKept, 409),
    (PreconditionInvalid, 400),
    (PreconditionFailed, 412),
)


@dataclass(frozen=True, slots=True)
class HttpProblem:
    """What went wrong, as a caller may see it."""

    status: int
    code: str
    detail: str
    # More members, such as `errors`: which argument is invalid, and why.
    members: Mapping[str, Any] = field(default_factory=dict[str, Any])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def to_json(self) -> dict[str, Any]:
        """Return the members of the problem."""
        return {
            "type": f"urn:keyfold:error:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            **self.members,
        }

    def to_bytes(self) -> bytes:
        """Return the body of a response."""
        return orjson.dumps(self.to_json())


class ServiceProblem(Exception):
    """A problem that ends a request."""

    def __init__(self, problem: HttpProblem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def refuse(status: int, code: str, detail: str, **headers: str) -> ServiceProblem:
    """Return the exception that ends a request with a problem; `retry_after="1"` is a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ServiceProblem(HttpProblem(status, code, detail, headers=named))


def describe_error(error: Exception, handles: Handles | None = None) -> HttpProblem:
    """Return an error as a problem: without keys, and with handles in place of ids for end users."""
    match error:
        case ServiceProblem():
            return error.problem
        case SerializationException():
            detail = "The body is not JSON, or it is nested too deep."
            return HttpProblem(400, "request-malformed", detail)
        case ArgumentsInvalid():
            return _describe_arguments(error.problems)
        case ValidationError():
            # The pattern makes a model of its arguments.
            return _describe_arguments(list_problems(error, handles))
        case ServiceError():
            return _describe_service_error(error)
        case KeyfoldError():
            status = next((each for kind, each in _STATUSES if isinstance(error, kind)), None)
            if status is None:
                # What else a request raises is about its arguments; the rest is about the server.
                status = 422 if isinstance(error, ValueError) else 500
            if status == HTTPStatus.INTERNAL_SERVER_ERROR:
                return _internal(error.code)
            detail = error.public if handles is None else handles.show_error(error)
            return HttpProblem(status, error.code, detail, headers=_headers_of(error, status))
        case _:
            return _internal(_INTERNAL)


def _describe_arguments(problems: Sequence[ArgumentProblem]) -> HttpProblem:
    named = ", ".join(dict.fromkeys(each.argument.partition(".")[0] for each in problems))
    detail = f"Invalid: {named}." if named else "The arguments are invalid."
    return HttpProblem(
        422, ValueInvalid.code, detail, {"errors": [each._asdict() for each in problems]}
    )


def _describe_service_error(error: ServiceError) -> HttpProblem:
    """Return what the database answered: only whether a retry may help is a caller's business."""
    if (
        error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        or "Throttl" in error.type
        or "Exceeded" in error.type
    ):
        detail = "The database is busy. Try again."
        return HttpProblem(503, Unavailable.code, detail, headers=_RETRY)
    return _internal(_INTERNAL)


def _internal(code: str) -> HttpProblem:
    return HttpProblem(500, code, "The service failed. Its log says why.")


def _headers_of(error: KeyfoldError, status: int) -> dict[str, str]:
    match error:
        case Unauthenticated():
            return {"www-authenticate": error.challenge}
        case RateLimited() | RequestInProgress():
            return {"retry-after": str(error.seconds)}
        case _ if status == HTTPStatus.SERVICE_UNAVAILABLE:
            return _RETRY
        case _:
            return {}
