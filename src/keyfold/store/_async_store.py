"""The store for event loops: the same plans, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from keyfold.errors import KeyfoldError
from keyfold.model._requests import Query, Request, Scan, check_paged
from keyfold.model._tables import Table
from keyfold.store._dispatch import plan
from keyfold.store._follow_options import DeadLetter, Followed, Start, Stop, read_options
from keyfold.store._making import make_table
from keyfold.store._plans import ApiCall, Handling, Pause, Steps, requests_of
from keyfold.store._settings import CallObserver, StoreSettings

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
        settings: StoreSettings,
        *,
        prepare: Callable[[AsyncStore], Awaitable[None]] | None = None,
        close: Callable[[], Awaitable[None]] = _nothing,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        self._executor = executor
        # Our own clients retry by themselves, and can say when they do.
        self._reports_retries: bool = getattr(executor, "reports_retries", False)
        self._settings = settings
        self._prepare = prepare
        self._close = close
        # Not at the top: to load it takes long, and a store for threads needs none of it.
        self._sleep: Callable[[float], Awaitable[None]] = sleep or import_module("asyncio").sleep

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

    def as_principal(self, role: str, /, **ids: str) -> AsyncStore:
        """Return the store as somebody with a role may use it: it refuses what the role denies.

        `ids` has the principal's own id, by the role's tenant, as in `user="ada"`. A request that
        could reach what is not theirs raises AccessDenied before any call is made. It runs requests
        and nothing else; closing it leaves the database open.

        Raises PrincipalInvalid for a role that no table has, and for an id that cannot be one.
        """
        from keyfold.store._principals import PrincipalSettings  # noqa: PLC0415 - loaded with the first one

        settings = PrincipalSettings(self._settings, role, ids)
        return AsyncStore(self._executor, settings, sleep=self._sleep)

    async def create_table(self, table: Table) -> None:
        """Make a table, with its indexes and its expiry; one that is there is left as it is.

        It can be used then: where that takes a while, it is waited for.
        """
        self._settings.check_administration("CreateTable", table)
        await self._drive(make_table(self._settings, table))

    async def drop_table(self, table: Table) -> None:
        """Remove a table and everything in it."""
        self._settings.check_administration("DeleteTable", table)
        await self._call(ApiCall("DeleteTable", {"TableName": table.name}))

    async def follow(
        self,
        table: Table,
        *,
        name: str = "default",
        worker: str | None = None,
        start: Start = "oldest",
        batch: int = 100,
        attempts: int = 5,
        lease_seconds: float = 30.0,
        poll_seconds: float = 1.0,
        until_caught_up: bool = False,
        stop: Stop | None = None,
        leases: str | None = None,
        setup: bool | None = None,
    ) -> Followed:
        """Hand the changes of a table to its handlers, which may be coroutine functions.

        Takes what `Store.follow` takes, and does the same; `stop` may be an event of asyncio's. A
        task that is cancelled gives its leases back.

        Raises StreamUnsuitable, LeasesMissing, and OptionInvalid.
        """
        from keyfold.store._following import Worker  # noqa: PLC0415 - loaded with the first one

        self._settings.check_administration("GetRecords", table)
        options = read_options(
            self._settings,
            table,
            name=name,
            worker=worker,
            start=start,
            batch=batch,
            attempts=attempts,
            lease_seconds=lease_seconds,
            poll_seconds=poll_seconds,
            until_caught_up=until_caught_up,
            stop=stop,
            leases=leases,
            setup=setup,
        )
        follower = Worker(self._settings, options)
        try:
            return await self._drive(follower.run())
        except GeneratorExit:
            # Of a coroutine that is closed nothing more can be awaited: its leases lapse.
            raise
        except BaseException:
            # Others need not wait for what this one has; the error that ends it comes first.
            with suppress(KeyfoldError):
                await self._drive(follower.release())
            raise

    async def dead_letters(
        self, table: Table, *, name: str = "default", leases: str | None = None
    ) -> list[DeadLetter]:
        """Return the changes that handlers could not take, oldest first."""
        from keyfold.store._dead_letters import list_dead_letters, open_dead_letters  # noqa: PLC0415 - as above

        self._settings.check_administration("GetRecords", table)
        dead_letters = open_dead_letters(self._settings, table, name, leases)
        return await self._drive(list_dead_letters(dead_letters))

    async def retry_dead_letters(
        self,
        table: Table,
        *,
        handler: str | None = None,
        name: str = "default",
        leases: str | None = None,
    ) -> int:
        """Let the changes that have failed be handed out again, all or one handler's.

        A worker that follows the table does so when it next looks at the leases. Returns how many.
        """
        from keyfold.store._dead_letters import open_dead_letters, retry_dead_letters  # noqa: PLC0415 - as above

        self._settings.check_administration("GetRecords", table)
        dead_letters = open_dead_letters(self._settings, table, name, leases)
        return await self._drive(retry_dead_letters(dead_letters, handler))

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

    async def _drive(self, steps: Steps[V]) -> V:
        try:
            step = next(steps)
            while True:
                if not isinstance(step, ApiCall):
                    step = await self._handle_step(steps, step)
                    continue
                try:
                    response = await self._call(step)
                except KeyfoldError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as stop:
            return stop.value

    async def _handle_step(
        self, steps: Steps[Any], step: Pause | Handling
    ) -> ApiCall | Pause | Handling:
        """Do what is no call, and return the step after it."""
        if isinstance(step, Pause):
            await self._sleep(step.seconds)
            return next(steps)
        try:
            reaction = step.handler(step.change)
            if isinstance(reaction, Awaitable):
                reaction = await reaction
            requests = requests_of(reaction)
        except Exception as error:  # noqa: BLE001 - the plan decides what becomes of it
            return steps.throw(error)
        return steps.send(requests)

    async def _call(self, call: ApiCall) -> dict[str, Any]:
        if not self._settings.on_call:
            return await self._executor.execute(call.operation, call.request)
        watch = CallObserver(self._settings, call)
        try:
            if self._reports_retries:
                execute: Callable[..., Any] = self._executor.execute
                response = await execute(call.operation, call.request, on_retry=watch.note)
            else:
                response = await self._executor.execute(call.operation, call.request)
        except KeyfoldError as error:
            watch.end(None, error)
            raise
        watch.end(response)
        return response
