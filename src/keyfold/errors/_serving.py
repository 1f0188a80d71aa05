"""Errors of pattern services: who calls, how much, and on what conditions."""

from __future__ import annotations

from keyfold.errors._base import TemplatedError


class Unauthenticated(TemplatedError, PermissionError):
    """A request does not prove who sent it: HTTP status 401, with `challenge` as WWW-Authenticate.

    `fact` never quotes the token or the key.
    """

    code = "unauthenticated"
    message_template = public_template = "{fact}. {advice}"
    fact: str
    advice: str = ""
    challenge: str = "Bearer"


class CallerRefused(TemplatedError, PermissionError):
    """The sender of a request is known, but has no role here, or an id that no key can have: 403."""

    code = "caller-refused"
    message_template = public_template = "{fact}. {advice}"
    fact: str
    advice: str = ""


class AuthenticationUnavailable(TemplatedError, ConnectionError):
    """Callers cannot be told apart for now, such as while the keys of tokens are unreachable: 503."""

    code = "authentication-unavailable"
    message_template = "{subject}: {fact}. {advice}"
    public_template = "Requests cannot be authenticated for now. Try again later."
    subject: str
    fact: str
    advice: str = ""


class RateLimited(TemplatedError, RuntimeError):
    """A principal has used the capacity it may use for now: 429, with Retry-After."""

    code = "rate-limited"
    message_template = public_template = (
        "The caller has used its capacity for now. Try again in {seconds} s."
    )
    seconds: int


class EventIdInvalid(TemplatedError, ValueError):
    """A `Last-Event-ID` was altered, or is of another principal, table or service: 400."""

    code = "event-id-invalid"
    message_template = "Last-Event-ID: {fact}. Connect again without it."
    public_template = "The Last-Event-ID is not valid. Connect again without it."
    fact: str


class ChangesUnavailable(TemplatedError, LookupError):
    """A table has no stream, so its changes cannot be watched: 404."""

    code = "changes-unavailable"
    message_template = "changes of {table}: {fact}. {advice}"
    public_template = "{fact}. {advice}"
    table: str
    fact: str
    advice: str


class AuthFileInvalid(TemplatedError, ValueError):
    """A file that says who may call a service is invalid: none of it is applied."""

    code = "auth-file-invalid"
    message_template = "{path}: {fact}. {advice}"
    path: str
    fact: str
    advice: str


class ExtraMissing(TemplatedError, ImportError):
    """A feature needs a package that is not installed."""

    code = "extra-missing"
    message_template = "{feature} needs {package}. Run `pip install 'keyfold[{extra}]'`."
    feature: str
    package: str
    extra: str


class IdempotencyKeyInvalid(TemplatedError, ValueError):
    """The `Idempotency-Key` of a request is not one: 400."""

    code = "idempotency-key-invalid"
    message_template = public_template = (
        "Idempotency-Key: {fact}. Send 1 to 255 visible ASCII characters, such as a UUID."
    )
    fact: str


class IdempotencyKeyReused(TemplatedError, ValueError):
    """The `Idempotency-Key` of a request was sent with another request before: 422."""

    code = "idempotency-key-reused"
    message_template = public_template = (
        "Idempotency-Key: it was sent with another request before. Send a new key."
    )


class RequestInProgress(TemplatedError, RuntimeError):
    """A request with the same `Idempotency-Key` is being carried out: 409, with Retry-After."""

    code = "request-in-progress"
    message_template = public_template = (
        "Idempotency-Key: the request is being carried out. Send it again in {seconds} s."
    )
    seconds: int


class EarlierOutcomeUnknown(TemplatedError, RuntimeError):
    """A request with the same `Idempotency-Key` ended without an answer, and is not repeated: 409."""

    code = "earlier-outcome-unknown"
    message_template = public_template = (
        "Idempotency-Key: it is unknown whether the request was carried out. Read what is stored, and "
        "send a new key if it was not."
    )


class AnswerNotKept(TemplatedError, RuntimeError):
    """A request with the same `Idempotency-Key` was carried out; its answer was too large to keep: 409."""

    code = "answer-not-kept"
    message_template = public_template = (
        "Idempotency-Key: the request was carried out, with status {status}. Its answer was too large "
        "to be kept: read what is stored."
    )
    status: int


class PreconditionFailed(TemplatedError, RuntimeError):
    """What is stored does not have the entity tag that `If-Match` names, or is there at all: 412."""

    code = "precondition-failed"
    message_template = public_template = "{header}: {fact}. Read it again."
    header: str
    fact: str


class PreconditionInvalid(TemplatedError, ValueError):
    """A header such as `If-Match` is malformed, or the request cannot be conditional: 400."""

    code = "precondition-invalid"
    message_template = public_template = "{header}: {fact}. {advice}"
    header: str
    fact: str
    advice: str = ""
