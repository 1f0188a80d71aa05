"""What running a request takes, call by call, without making any.

A plan is a generator: it yields a call and is sent the response, or is thrown the error. Both
stores drive the same plans, one waiting for each call, the other awaiting it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from keyfold.errors import (
    InternalServerError,
    KeyfoldError,
    ProvisionedThroughputExceededException,
    ServiceError,
    TransactionCanceledException,
    TransactionConflictException,
    TransactionInProgressException,
    Unavailable,
)
from keyfold.model._requests import Request
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
_PASSING_REASONS = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}


class Call(NamedTuple):
    """One call of DynamoDB's API; `attempt` counts from 1."""

    operation: str
    request: dict[str, Any]
    attempt: int = 1


class Pause(NamedTuple):
    """A while to wait before the next call."""

    seconds: float


Plan = Generator[Call | Pause, Response, V]


class Cursors(Protocol):
    """Seals the positions at which pages end, and opens them again."""

    def seal(self, position: Item, binding: str) -> str:
        """Return the cursor of a position, good for the query of that binding alone."""
        ...

    def open(self, cursor: str, binding: str) -> Item:
        """Return the position of a cursor; raises CursorInvalid."""
        ...


class Run(NamedTuple):
    """What plans need to know of the store and the moment."""

    now: datetime
    cursors: Cursors
    on_unfit: OnUnfit
    # Raises TableForeign for a request of another table.
    check: Callable[[Request[Any]], None]
    draw: Callable[[], float] = random.random
    reports_capacity: bool = False


def attempt(
    run: Run, operation: str, request: dict[str, Any], *, earlier: int = 0
) -> Plan[Response]:
    """Make a call, again after a pause if the service refuses for the moment alone.

    `earlier` attempts that were answered, but not all done, count for those who watch.
    """
    for number in range(1, MOST_ATTEMPTS + 1):
        try:
            response = yield Call(operation, request, earlier + number)
            return response
        except KeyfoldError as error:
            if not is_passing(error):
                raise
            if number == MOST_ATTEMPTS:
                raise Unavailable(operation, earlier + number, str(error).rstrip(".")) from error
        yield pause(run, number)
    raise AssertionError(operation)


def pause(run: Run, attempts: int) -> Pause:
    """Return how long to wait after so many attempts: up to twice as long each time."""
    return Pause(pause_seconds(attempts, run.draw))


def pause_seconds(attempts: int, draw: Callable[[], float]) -> float:
    """Return so many seconds to wait after so many attempts."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** (attempts - 1))
    return draw() * longest


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
