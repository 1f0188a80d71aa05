"""What running a request takes, call by call, without making any.

A plan is a generator: it yields a call and is sent the response, or is thrown the error. Both
stores drive the same plans, one waiting for each call, the other awaiting it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

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
OnUnfit = Literal["raise", "raw"]

MOST_ATTEMPTS = 8
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 2.0

_WORTH_ANOTHER_TRY = (
    InternalServerError,
    ProvisionedThroughputExceededException,
    TransactionConflictException,
    TransactionInProgressException,
)
_READS = {"BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems"}
_PASSING_REASONS = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}


class ApiCall(NamedTuple):
    """One call of DynamoDB's API; `attempt` counts from 1."""

    operation: str
    request: dict[str, Any]
    attempt: int = 1


class Pause(NamedTuple):
    """A while to wait before the next call."""

    seconds: float


class Handling(NamedTuple):
    """A handler to call with a change; answered with the requests that it returned."""

    handler: Handler[Any]
    change: Change[Any]


Plan = Generator[ApiCall | Pause, Response, V]
# A plan that may also want handlers to be called.
Steps = Generator[ApiCall | Pause | Handling, Any, V]


class Environment(Protocol):
    """What plans need to know of the store that runs them."""

    on_invalid: OnUnfit
    reports_capacity: bool
    jitter: Callable[[], float]
    # Whether it is a principal's, who may not do everything, and what no other principal has.
    is_guarded: bool
    principal: str

    def check(self, request: Request[Any]) -> None:
        """Raise WrongTable for a request of another table, AccessDenied for one that is denied."""
        ...

    def seal(self, position: Item, binding: str) -> str:
        """Return the cursor of a position, good for the query of that binding alone."""
        ...

    def open(self, cursor: str, binding: str) -> Item:
        """Return the position of a cursor; raises CursorInvalid."""
        ...


class RunContext(NamedTuple):
    """The moment at which a request runs, and the store that runs it."""

    now: datetime
    store: Environment


def attempt(
    run: RunContext,
    request: Request[Any],
    operation: str,
    asked: dict[str, Any],
    *,
    earlier: int = 0,
) -> Plan[Response]:
    """Make a call for a request, again after a pause if the service refuses for the moment alone.

    `earlier` attempts that were answered, but not all done, count for those who watch.
    """
    call = ApiCall(operation, asked, earlier + 1)
    try:
        return (yield call)
    except KeyfoldError as error:
        return (yield from try_again(run, request, call, error))


def try_again(
    run: RunContext, request: Request[Any], call: ApiCall, error: KeyfoldError
) -> Plan[Response]:
    """Make a call that has failed again, after a pause, if that is worth it.

    Plans of one call come here themselves: `attempt` would cost them a generator for nothing.
    Raises OutcomeUnknown for a write that the service may have carried out before it failed, if
    it cannot be repeated, or is refused then: it may have met itself.
    """
    # Whether an attempt may have been carried out.
    is_open = False
    for number in range(1, MOST_ATTEMPTS + 1):
        if is_open and isinstance(error, ConditionalCheckFailedException):
            raise OutcomeUnknown(repr(request), call.operation, _reason(error)) from error
        if isinstance(error, ValidationException):
            raise refusal_error(request, error, run.now) from error
        if not is_passing(error):
            raise error
        if isinstance(error, InternalServerError) and call.operation not in _READS:
            is_open = True
            if isinstance(request, Write) and not request.is_repeatable:
                break
        if number == MOST_ATTEMPTS:
            break
        yield pause(run, number)
        try:
            return (yield call._replace(attempt=call.attempt + number))
        except KeyfoldError as another:
            error = another
    if is_open:
        raise OutcomeUnknown(repr(request), call.operation, _reason(error)) from error
    attempts = call.attempt + MOST_ATTEMPTS - 1
    raise Unavailable(call.operation, attempts, _reason(error)) from error


def ask(run: RunContext, operation: str, asked: dict[str, Any]) -> Plan[Response]:
    """Make a call that is for no request, again after a pause if it is refused for the moment."""
    for number in range(1, MOST_ATTEMPTS + 1):
        try:
            return (yield ApiCall(operation, asked, number))
        except KeyfoldError as error:
            if not is_passing(error):
                raise
            if number == MOST_ATTEMPTS:
                raise Unavailable(operation, number, _reason(error)) from error
        yield pause(run, number)
    raise AssertionError(operation)


def _reason(error: KeyfoldError) -> str:
    return str(error).rstrip(".")


def pause(run: RunContext, attempts: int) -> Pause:
    """Return how long to wait after so many attempts: up to twice as long each time."""
    return Pause(pause_seconds(attempts, run.store.jitter))


def pause_seconds(attempts: int, jitter: Callable[[], float]) -> float:
    """Return so many seconds to wait after so many attempts."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** (attempts - 1))
    return jitter() * longest


def is_passing(error: KeyfoldError) -> bool:
    """Tell whether the service refused for the moment alone."""
    if isinstance(error, TransactionCanceledException):
        codes = {each.get("Code", "None") for each in error.fields.get("CancellationReasons", ())}
        return bool(codes & _PASSING_REASONS) and codes <= _PASSING_REASONS | {"None"}
    if isinstance(error, ServiceError) and error.type in (
        "ThrottlingException",
        "RequestLimitExceeded",
    ):
        return True
    return isinstance(error, _WORTH_ANOTHER_TRY)


def requests_of(reaction: Reaction) -> tuple[Request[Any], ...]:
    """Return the requests that a handler wants to be run; raises QueryInvalid for anything else."""
    if reaction is None:
        return ()
    requests = (reaction,) if isinstance(reaction, Request) else tuple(reaction)
    for each in requests:
        if not isinstance(each, Request):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            fact = f"it returned {each!r:.80}"
            raise QueryInvalid("a handler", fact, "Return requests, or None.")
    return requests
