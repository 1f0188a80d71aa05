"""The store for event loops: the same plans, awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from keyfold.errors import KeyfoldError, ResourceInUseException
from keyfold.model._requests import Query, Request, Scan, check_paged
from keyfold.model._tables import Table
from keyfold.store._dispatch import plan
from keyfold.store._plans import Call, Pause, Plan
from keyfold.store._settings import Settings
from keyfold.store._store import ttl_request

V = TypeVar("V")


class AsyncExecutor(Protocol):
    """Answers DynamoDB's API without holding up the event loop."""

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raises ServiceError."""
        ...


async def _nothing() -> None:
    return


class AsyncStore:
    """Entities of one or several tables, in a database; `keyfold.open_async` makes one."""

    def __init__(
        self,
        executor: AsyncExecutor,
        settings: Settings,
        *,
        prepare: Callable[[AsyncStore], Awaitable[None]] | None = None,
        close: Callable[[], Awaitable[None]] = _nothing,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._executor = executor
        self._settings = settings
        self._prepare = prepare
        self._close = close
        self._sleep = sleep

    async def run(self, request: Request[V]) -> V:
        """Run a request and return its answer."""
        return await self._drive(plan(self._settings, request))

    async def iterate(self, query: Query[V] | Scan[V]) -> AsyncIterator[V]:
        """Walk everything that a query finds, page by page."""
        check_paged(query)
        while True:
            page = await self.run(query)
            for each in page:
                yield each
            if page.cursor is None:
                return
            query = query.after(page.cursor)

    async def create_table(self, table: Table) -> None:
        """Make a table, with its indexes and its expiry; one that is there is left as it is."""
        table.check()
        try:
            await self._call(Call("CreateTable", table.to_dynamodb()))
        except ResourceInUseException:
            return
        if table.ttl is not None:
            await self._call(Call("UpdateTimeToLive", ttl_request(table)))

    async def drop_table(self, table: Table) -> None:
        """Remove a table and everything in it."""
        await self._call(Call("DeleteTable", {"TableName": table.name}))

    async def close(self) -> None:
        """Give the database back."""
        await self._close()

    async def __aenter__(self) -> Self:
        if self._prepare is not None:
            await self._prepare(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _drive(self, steps: Plan[V]) -> V:
        try:
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    await self._sleep(step.seconds)
                    step = next(steps)
                    continue
                try:
                    response = await self._call(step)
                except KeyfoldError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as stop:
            return stop.value

    async def _call(self, call: Call) -> dict[str, Any]:
        settings = self._settings
        started = time.perf_counter()
        try:
            response = await self._executor.execute(call.operation, call.request)
        except KeyfoldError as error:
            settings.tell(call, time.perf_counter() - started, None, error)
            raise
        if settings.on_call:
            settings.tell(call, time.perf_counter() - started, response)
        return response
