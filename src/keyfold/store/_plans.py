"""Plans: the calls that a request needs, without any I/O.

A plan is a generator: it yields a call and is sent the response, or is thrown the error. Both
stores drive the same plans: the sync one blocks on each call, the async one awaits it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from keyfold.api import OPERATIONS, find_operation
from keyfold.errors import (
    ConditionalCheckFailedException,
    InternalServerError,
    KeyfoldError,
    OutcomeUnknown,
    QueryInvalid,
    ResourceNotFoundException,
    SerializationException,
    ValidationException,
)
from keyfold.model._calls import ApiCall, Calls
from keyfold.model._changes import Change, Handler, Reaction
from keyfold.model._requests import Request
from keyfold.model._writes import Write
from keyfold.store._read_ratios import ReadRatios
from keyfold.store._refusals import note_missing_table, refusal_error
from keyfold.store._retries import Attempts, Pause, is_transient, reason_of
from keyfold.values import Item

V = TypeVar("V")
Response = dict[str, Any]
OnInvalid = Literal["report", "raise"]


class HandlerCall(NamedTuple):
    """A handler to call with a change; the plan is sent the requests that the handler returns."""

    handler: Handler[Any]
    change: Change[Any]


class ParallelPlans(NamedTuple):
    """Plans to run at the same time; the plan that yields them is sent the list of their results."""

    plans: tuple[Generator[Any, Any, Any], ...]


Plan = Generator[ApiCall | Pause | ParallelPlans, Response, V]
# Makes a call, and retries it after transient errors.
MakeCall = Callable[[str, dict[str, Any]], Plan[Response]]
# A plan that may also call handlers.
Steps = Generator[ApiCall | Pause | ParallelPlans | HandlerCall, Any, V]


class Environment(Protocol):
    """What plans need from the store that runs them."""

    on_invalid: OnInvalid
    reports_capacity: bool
    jitter: Callable[[], float]
    # Whether the store is restricted to a principal; `principal` is unique to it, else empty.
    is_guarded: bool
    principal: str
    read_ratios: ReadRatios

    def admit(self, request: Request[Any], now: datetime) -> Calls:
        """Return the calls that a request is known to make, all of which are allowed.

        Raises WrongTable for a table of another store, and AccessDenied if the role denies a call.
        """
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


def report_capacity(context: RunContext, call: ApiCall) -> None:
    """Ask for the capacity that a call consumes, if the store has hooks that report it."""
    if context.store.reports_capacity:
        call.request["ReturnConsumedCapacity"] = "TOTAL"


def attempt(context: RunContext, request: Request[Any], call: ApiCall) -> Plan[Response]:
    """Make a call for a request, and retry it after transient errors."""
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
    attempts = Attempts(call.operation, context.store.jitter, call.attempt, request=call.request)
    # Whether an attempt may have been carried out.
    may_be_done = False
    while True:
        if isinstance(error, ValidationException | SerializationException):
            raise refusal_error(request, error, context.now) from error
        if isinstance(error, ResourceNotFoundException):
            note_missing_table(request, error)
        is_last = may_be_done and isinstance(error, ConditionalCheckFailedException)
        if isinstance(error, InternalServerError) and not find_operation(call.operation).is_read:
            may_be_done = True
            is_last = isinstance(request, Write) and not request.is_repeatable
        if is_last or (may_be_done and attempts.are_exhausted and is_transient(error)):
            raise OutcomeUnknown(repr(request), call.operation, reason_of(error)) from error
        yield attempts.fail(error)
        try:
            return (yield call._replace(attempt=attempts.number))
        except KeyfoldError as another:
            error = another


def repeat_call(
    jitter: Callable[[], float], operation: str, payload: dict[str, Any]
) -> Plan[Response]:
    """Make a call that belongs to no request, such as DescribeTable, and retry transient errors.

    Raises Unavailable when retries are exhausted.
    """
    attempts = Attempts(operation, jitter, request=payload)
    while True:
        try:
            return (yield ApiCall(operation, payload, attempts.number))
        except KeyfoldError as error:
            pause = attempts.fail(error)
        yield pause


def repeat_batch(
    jitter: Callable[[], float],
    operation: str,
    wanted: dict[str, Any],
    make_call: Callable[[dict[str, Any], int], Plan[Response]],
) -> Plan[list[Response]]:
    """Make a batch call, and repeat it for the members that were left unprocessed.

    `make_call` gets the members, by table, and the number of earlier calls. Returns all responses;
    raises Unavailable after several calls without progress.
    """
    attempts = Attempts(operation, jitter, request={"RequestItems": wanted})
    responses: list[Response] = []
    while True:
        response = yield from make_call(wanted, len(responses))
        responses.append(response)
        left: dict[str, Any] = response.get(OPERATIONS[operation].unprocessed) or {}
        if not left:
            return responses
        if _count_members(left) < _count_members(wanted):
            attempts.progress()
        wanted = left
        yield attempts.stall(f"{_count_members(left)} of its members are unprocessed")


def _count_members(wanted: dict[str, Any]) -> int:
    return sum(len(each["Keys"]) if "Keys" in each else len(each) for each in wanted.values())


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
