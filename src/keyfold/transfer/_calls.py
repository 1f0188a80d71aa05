"""DynamoDB API calls with retries, a rate limit and a count of the capacity consumed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from keyfold.api import find_operation
from keyfold.clocks import Clock
from keyfold.errors import ResourceNotFoundException, TableMissing
from keyfold.store import Executor
from keyfold.store._drivers import drive
from keyfold.store._plans import Plan, Response, repeat_batch, repeat_call
from keyfold.transfer._rates import RateLimiter

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CallEnvironment:
    """The clocks, the sleep and the randomness that calls use; tests pass their own."""

    clock: Clock = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


class MeteredCaller:
    """Makes calls to one database, and adds up the capacity units they consume."""

    def __init__(
        self, executor: Executor, environment: CallEnvironment, rate: float | None = None
    ) -> None:
        self._executor = executor
        self._environment = environment
        self._lock = threading.Lock()
        self.rate = rate
        self.units = 0.0
        monotonic, sleep = environment.monotonic, environment.sleep
        limiter = None if rate is None else RateLimiter(rate, monotonic=monotonic, sleep=sleep)
        self._limiter = limiter

    def now(self) -> datetime:
        """Return the time, by the clock of the environment."""
        return datetime.fromtimestamp(self._environment.clock(), UTC)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Make a call, with retries after errors that are transient; raises Unavailable."""
        return self.run(self.plan(operation, request))

    def call_batch(self, operation: str, wanted: dict[str, Any]) -> None:
        """Make a batch call until all its members, by table, are processed; raises Unavailable."""

        def plan(wanted: dict[str, Any], _: int) -> Plan[Response]:
            request = {"RequestItems": wanted, "ReturnConsumedCapacity": "TOTAL"}
            return self.plan(operation, request)

        self.run(repeat_batch(self._environment.jitter, operation, wanted, plan))

    def plan(self, operation: str, request: dict[str, Any]) -> Plan[Response]:
        """Return the plan of a call with its retries."""
        return repeat_call(self._environment.jitter, operation, request)

    def run(self, plan: Plan[V]) -> V:
        """Run a plan."""
        return drive(plan, self.execute, self._environment.sleep)

    def run_with(self, writer: MeteredCaller, plan: Plan[V]) -> V:
        """Run a plan, with the calls that write made by another caller."""

        def execute(operation: str, request: dict[str, Any]) -> Response:
            caller = self if find_operation(operation).is_read else writer
            return caller.execute(operation, request)

        return drive(plan, execute, self._environment.sleep)

    def execute(self, operation: str, request: dict[str, Any]) -> Response:
        """Make a call once, within the rate limit, and count its capacity units."""
        if self._limiter is not None:
            self._limiter.wait()
        response = self._executor.execute(operation, request)
        self._count(response)
        return response

    def _count(self, response: dict[str, Any]) -> None:
        consumed: Any = response.get("ConsumedCapacity") or []
        reports: list[Any] = consumed if isinstance(consumed, list) else [consumed]  # pyright: ignore[reportUnknownVariableType]
        units = sum(float(each.get("CapacityUnits", 0.0)) for each in reports)
        with self._lock:
            self.units += units
        if self._limiter is not None:
            self._limiter.take(units)


def describe_table(caller: MeteredCaller, url: str, name: str) -> dict[str, Any]:
    """Return a table's description; raises TableMissing."""
    try:
        return caller.call("DescribeTable", {"TableName": name})["Table"]
    except ResourceNotFoundException:
        known = ", ".join(list_tables(caller)) or "none"
        fact = f"there is no table {name!r}; it has {known}"
        raise TableMissing(url, fact, "Name one of those, or create the table first.") from None


def list_tables(caller: MeteredCaller) -> list[str]:
    """Return the names of a database's tables."""
    names: list[str] = []
    request: dict[str, Any] = {}
    while True:
        page = caller.call("ListTables", request)
        names += page["TableNames"]
        if "LastEvaluatedTableName" not in page:
            return names
        request = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}
