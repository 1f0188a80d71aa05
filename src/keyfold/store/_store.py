"""The store: runs requests, and waits for their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from keyfold.errors import KeyfoldError, ResourceInUseException
from keyfold.model._requests import Query, Request, Scan, check_paged
from keyfold.model._tables import Table
from keyfold.store._dispatch import plan
from keyfold.store._plans import Call, Pause, Plan
from keyfold.store._settings import Settings

V = TypeVar("V")


class Executor(Protocol):
    """Answers DynamoDB's API: an embedded engine, or a client of a service."""

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raises ServiceError."""
        ...


class Store:
    """Entities of one or several tables, in a database.

    `keyfold.open` makes one.
    """

    def __init__(
        self,
        executor: Executor,
        settings: Settings,
        *,
        close: Callable[[], None] = lambda: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._executor = executor
        self._settings = settings
        self._close = close
        self._sleep = sleep

    def run(self, request: Request[V]) -> V:
        """Run a request and return its answer."""
        return self._drive(plan(self._settings, request))

    def iterate(self, query: Query[V] | Scan[V]) -> Iterator[V]:
        """Walk everything that a query finds, page by page."""
        check_paged(query)
        while True:
            page = self.run(query)
            yield from page
            if page.cursor is None:
                return
            query = query.after(page.cursor)

    def create_table(self, table: Table) -> None:
        """Make a table, with its indexes and its expiry; one that is there is left as it is."""
        table.check()
        try:
            self._call(Call("CreateTable", table.to_dynamodb()))
        except ResourceInUseException:
            return
        if table.ttl is not None:
            self._call(Call("UpdateTimeToLive", ttl_request(table)))

    def drop_table(self, table: Table) -> None:
        """Remove a table and everything in it."""
        self._call(Call("DeleteTable", {"TableName": table.name}))

    def close(self) -> None:
        """Give the database back."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _drive(self, steps: Plan[V]) -> V:
        execute, is_watched = self._executor.execute, self._settings.on_call
        try:
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    self._sleep(step.seconds)
                    step = next(steps)
                    continue
                try:
                    if is_watched:
                        response = self._call(step)
                    else:
                        response = execute(step.operation, step.request)
                except KeyfoldError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as stop:
            return stop.value

    def _call(self, call: Call) -> dict[str, Any]:
        settings = self._settings
        started = time.perf_counter()
        try:
            response = self._executor.execute(call.operation, call.request)
        except KeyfoldError as error:
            settings.tell(call, time.perf_counter() - started, None, error)
            raise
        settings.tell(call, time.perf_counter() - started, response)
        return response


def ttl_request(table: Table) -> dict[str, Any]:
    """Return the request that lets a table's items expire."""
    return {
        "TableName": table.name,
        "TimeToLiveSpecification": {"AttributeName": table.ttl, "Enabled": True},
    }
