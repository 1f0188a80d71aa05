"""Calls of DynamoDB's API: tried again where that helps, within a rate, and counted."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keyfold.errors import KeyfoldError, ResourceNotFoundException, TableMissing, Unavailable
from keyfold.store import Executor
from keyfold.store._plans import MOST_ATTEMPTS, is_passing, pause_seconds
from keyfold.transfer._rates import RateLimiter


@dataclass(frozen=True, slots=True)
class CallEnvironment:
    """Time and chance, which tests give themselves."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


class Caller:
    """Calls one database, and adds up the capacity that this takes."""

    def __init__(
        self, executor: Executor, surroundings: CallEnvironment, rate: float | None = None
    ) -> None:
        self._executor = executor
        self._surroundings = surroundings
        self._lock = threading.Lock()
        self.rate = rate
        self.units = 0.0
        clock, sleep = surroundings.clock, surroundings.sleep
        self._bucket = None if rate is None else RateLimiter(rate, clock=clock, sleep=sleep)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Make a call, again after a pause if the service refuses for the moment alone."""
        for number in range(1, MOST_ATTEMPTS + 1):
            if self._bucket is not None:
                self._bucket.wait()
            try:
                response = self._executor.execute(operation, request)
            except KeyfoldError as error:
                if not is_passing(error):
                    raise
                if number == MOST_ATTEMPTS:
                    raise Unavailable(operation, number, str(error).rstrip(".")) from error
            else:
                self._count(response)
                return response
            self.pause(number)
        raise AssertionError(operation)

    def pause(self, attempts: int) -> None:
        """Wait for up to twice as long each time."""
        surroundings = self._surroundings
        surroundings.sleep(pause_seconds(attempts, surroundings.jitter))

    def _count(self, response: dict[str, Any]) -> None:
        consumed: Any = response.get("ConsumedCapacity") or []
        reports: list[Any] = consumed if isinstance(consumed, list) else [consumed]  # pyright: ignore[reportUnknownVariableType]
        units = sum(float(each.get("CapacityUnits", 0.0)) for each in reports)
        with self._lock:
            self.units += units
        if self._bucket is not None:
            self._bucket.take(units)


def describe_table(caller: Caller, url: str, name: str) -> dict[str, Any]:
    """Return a table's description; raises TableMissing."""
    try:
        return caller.call("DescribeTable", {"TableName": name})["Table"]
    except ResourceNotFoundException:
        known = ", ".join(list_tables(caller)) or "none"
        fact = f"there is no table {name!r}; it has {known}"
        raise TableMissing(url, fact, "Name one of those, or make it first.") from None


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
