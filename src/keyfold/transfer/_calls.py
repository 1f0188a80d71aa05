"""DynamoDB API calls with retries, a rate limit and a count of the capacity consumed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keyfold.errors import KeyfoldError, ResourceNotFoundException, TableMissing, Unavailable
from keyfold.store import Executor
from keyfold.store._plans import MAX_ATTEMPTS, is_transient, pause_seconds
from keyfold.transfer._rates import RateLimiter


@dataclass(frozen=True, slots=True)
class CallEnvironment:
    """The clocks, the sleep and the randomness that calls use; tests pass their own."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


class Caller:
    """Makes calls to one database, and adds up the capacity units they consume."""

    def __init__(
        self, executor: Executor, environment: CallEnvironment, rate: float | None = None
    ) -> None:
        self._executor = executor
        self._environment = environment
        self._lock = threading.Lock()
        self.rate = rate
        self.units = 0.0
        clock, sleep = environment.clock, environment.sleep
        self._limiter = None if rate is None else RateLimiter(rate, clock=clock, sleep=sleep)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Make a call, with retries after errors that are transient.

        Raises Unavailable when the retries are exhausted.
        """
        for number in range(1, MAX_ATTEMPTS + 1):
            if self._limiter is not None:
                self._limiter.wait()
            try:
                response = self._executor.execute(operation, request)
            except KeyfoldError as error:
                if not is_transient(error):
                    raise
                if number == MAX_ATTEMPTS:
                    raise Unavailable(operation, number, str(error).rstrip(".")) from error
            else:
                self._count(response)
                return response
            self.pause(number)
        raise AssertionError(operation)

    def pause(self, attempts: int) -> None:
        """Sleep before the next attempt: exponential backoff with jitter."""
        environment = self._environment
        environment.sleep(pause_seconds(attempts, environment.jitter))

    def _count(self, response: dict[str, Any]) -> None:
        consumed: Any = response.get("ConsumedCapacity") or []
        reports: list[Any] = consumed if isinstance(consumed, list) else [consumed]  # pyright: ignore[reportUnknownVariableType]
        units = sum(float(each.get("CapacityUnits", 0.0)) for each in reports)
        with self._lock:
            self.units += units
        if self._limiter is not None:
            self._limiter.take(units)


def describe_table(caller: Caller, url: str, name: str) -> dict[str, Any]:
    """Return a table's description; raises TableMissing."""
    try:
        return caller.call("DescribeTable", {"TableName": name})["Table"]
    except ResourceNotFoundException:
        known = ", ".join(list_tables(caller)) or "none"
        fact = f"there is no table {name!r}; it has {known}"
        raise TableMissing(url, fact, "Name one of those, or create the table first.") from None


def list_tables(caller: Caller) -> list[str]:
    """Return the names of a database's tables."""
    names: list[str] = []
    request: dict[str, Any] = {}
    while True:
        page = caller.call("ListTables", request)
        names += page["TableNames"]
        if "LastEvaluatedTableName" not in page:
            return names
        request = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}
