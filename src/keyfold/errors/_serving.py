"""Errors of pattern services: who calls, and how much."""

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
