"""Plans: the calls that a request needs, without any I/O.

A plan is a generator: it yields a call and is sent the response, or is thrown the error. Both
stores drive the same plans: the sync one blocks on each call, the async one awaits it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from keyfold.api import find_operation
from keyfold.errors import (
    ConditionalCheckFailedException,
    InternalServerError,
    KeyfoldError,
    OutcomeUnknown,
    ProvisionedThroughputExceededException,
    QueryInvalid,
    ServiceError,
    TransactionCanceledException,
    TransactionConflictException,
    TransactionInProgressException,
    Unavailable,
    ValidationException,
)
from keyfold.model._changes import Change, Handler, Reaction
from keyfold.model._requests import Request
from keyfold.model._writes import Write
from keyfold.store._refusals import refusal_error
from keyfold.values import Item

V = TypeVar("V")
Response = dict[str, Any]
OnInvalid = Literal["raise", "raw"]

MAX_ATTEMPTS = 8
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 2.0

_RETRYABLE = (
    InternalServerError,
    ProvisionedThroughputExceededException,
    TransactionConflictException,
    TransactionInProgressException,
)
_TRANSIENT_REASONS = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}


class ApiCall(NamedTuple):
    """One call of DynamoDB's API; `attempt` counts from 1."""

    operation: str
    request: dict[str, Any]
    attempt: int = 1


class Pause(NamedTuple):
    """How long to wait before the next call."""

    seconds: float


class HandlerCall(NamedTuple):
    """A handler to call with a change; the plan is sent the requests that the handler returns."""

    handler: Handler[Any]
    change: Change[Any]


Plan = Generator[ApiCall | Pause, Response, V]
# A plan that may also call handlers.
Steps = Generator[ApiCall | Pause | HandlerCall, Any, V]


class Environment(Protocol):
    """What plans need from the store that runs them."""

    on_invalid: OnInvalid
    reports_capacity: bool
    jitter: Callable[[], float]
    # Whether the store is restricted to a principal; `principal` is unique to it, else empty.
    is_guarded: bool
    principal: str

    def check(self, request: Request[Any]) -> None:
        """Raise WrongTable for a table of another store, AccessDenied if the role denies it."""
        ...

    def seal(self, position: Item, binding: str) -> str:
        """Return the sealed cursor of a position; it opens only with the same binding."""
        ...

    def open(self, cursor: str, binding: str) -> Item:
        """Return the position of a cursor; raises CursorInvalid."""
        ...


class RunContext(NamedTuple):
    """The time at which a request runs, and the store that runs it."""

    now: datetime
    store: Environment


def attempt(
    context: RunContext,
    request: Request[Any],
    operation: str,
    payload: dict[str, Any],
    *,
    earlier: int = 0,
) -> Plan[Response]:
    """Make a call for a request, and retry it after transient errors.

    `earlier` is the number of previous calls for the same members, such as a batch of which some
    were left unprocessed: hooks see it added to the attempt number.
    """
    call = ApiCall(operation, payload, earlier + 1)
    try:
        return (yield call)
    except KeyfoldError as error:
        return (yield from retry(context, request, call, error))


def retry(
    context: RunContext, request: Request[Any], call: ApiCall, error: KeyfoldError
) -> Plan[Response]:
    """Retry a call that failed with `error`, with backoff; raise if that error is permanent.

    Plans with a single call use this directly: `attempt` would cost them another generator.
    Raises OutcomeUnknown for a write that the service may have carried out before it failed, if
    the write cannot be repeated, or if its condition fails on a retry: it may have failed because
    of its own first attempt. Raises Unavailable when retries are exhausted.
    """
    # Whether an attempt may have been carried out.
    may_be_done = False
    for number in range(1, MAX_ATTEMPTS + 1):
        if may_be_done and isinstance(error, ConditionalCheckFailedException):
            raise OutcomeUnknown(repr(request), call.operation, _reason(error)) from error
        if isinstance(error, ValidationException):
            raise refusal_error(request, error, context.now) from error
        if not is_transient(error):
            raise error
        if isinstance(error, InternalServerError) and not find_operation(call.operation).is_read:
            may_be_done = True
            if isinstance(request, Write) and not request.is_repeatable:
                break
        if number == MAX_ATTEMPTS:
            break
        yield pause(context, number)
        try:
            return (yield call._replace(attempt=call.attempt + number))
        except KeyfoldError as another:
            error = another
    if may_be_done:
        raise OutcomeUnknown(repr(request), call.operation, _reason(error)) from error
    attempts = call.attempt + MAX_ATTEMPTS - 1
    raise Unavailable(call.operation, attempts, _reason(error)) from error


def call_service(context: RunContext, operation: str, payload: dict[str, Any]) -> Plan[Response]:
    """Make a call that belongs to no request, such as DescribeTable, and retry transient errors.

    Raises Unavailable when retries are exhausted.
    """
    for number in range(1, MAX_ATTEMPTS + 1):
        try:
            return (yield ApiCall(operation, payload, number))
        except KeyfoldError as error:
            if not is_transient(error):
                raise
            if number == MAX_ATTEMPTS:
                raise Unavailable(operation, number, _reason(error)) from error
        yield pause(context, number)
    raise AssertionError(operation)


def _reason(error: KeyfoldError) -> str:
    return str(error).rstrip(".")


def pause(context: RunContext, attempts: int) -> Pause:
    """Return the pause after the given number of attempts: exponential backoff with full jitter."""
    return Pause(pause_seconds(attempts, context.store.jitter))


def pause_seconds(attempts: int, jitter: Callable[[], float]) -> float:
    """Return the seconds to wait after the given number of attempts."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** (attempts - 1))
    return jitter() * longest


def is_transient(error: KeyfoldError) -> bool:
    """Return whether an error is transient, so that the same call may succeed later."""
    if isinstance(error, TransactionCanceledException):
        codes = {each.get("Code", "None") for each in error.fields.get("CancellationReasons", ())}
        return bool(codes & _TRANSIENT_REASONS) and codes <= _TRANSIENT_REASONS | {"None"}
    if isinstance(error, ServiceError) and error.type in (
        "ThrottlingException",
        "RequestLimitExceeded",
    ):
        return True
    return isinstance(error, _RETRYABLE)


def requests_of(reaction: Reaction) -> tuple[Request[Any], ...]:
    """Return the requests that a handler returned; raises QueryInvalid if it returned others."""
    if reaction is None:
        return ()
    requests = (reaction,) if isinstance(reaction, Request) else tuple(reaction)
    for each in requests:
        if not isinstance(each, Request):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            fact = f"it returned {each!r:.80}"
            raise QueryInvalid("a handler", fact, "Return requests, or None.")
    return requests
