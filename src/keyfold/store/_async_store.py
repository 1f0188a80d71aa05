"""The async store: runs the same plans as the sync store, awaiting each call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from keyfold.clocks import Clock
from keyfold.errors import KeyfoldError
from keyfold.model._calls import ApiCall, Calls
from keyfold.model._paged_reads import Query, Scan, check_paged
from keyfold.model._requests import Request
from keyfold.model._tables import Table
from keyfold.store._arguments import method_takes_arguments_of
from keyfold.store._awaited_results import check_reads, plan_until
from keyfold.store._call_records import Hook, is_logged
from keyfold.store._dispatch import plan_calls
from keyfold.store._drivers import CleanUp, drive_async
from keyfold.store._follow_options import (
    DeadLetter,
    Followed,
    FollowOptions,
    open_follower,
)
from keyfold.store._handles import Handles
from keyfold.store._invalid_items import OnInvalidItem, log_invalid
from keyfold.store._plans import Steps
from keyfold.store._raw_calls import plan_raw_call
from keyfold.store._settings import CallObserver, StoreSettings
from keyfold.store._table_creation import plan_create_table, plan_drop_table
from keyfold.store._write_watch import WriteWatch

V = TypeVar("V")


class AsyncExecutor(Protocol):
    """Executes DynamoDB operations without blocking the event loop."""

    async def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        """Carry out one operation; raises ServiceError."""
        ...


async def _nothing() -> None:
    return


class AsyncStore:
    """Reads and writes the entities of one or more tables; `keyfold.open_async` returns one."""

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
        # Our own clients retry internally, and report each retry to an `on_retry` callback.
        self._reports_retries: bool = getattr(executor, "reports_retries", False)
        self._settings = settings
        self._check = settings.check_call if settings.is_guarded else None
        self._prepare = prepare
        self._close = close
        # Not imported at the top: asyncio is slow to import, and the sync store does not need it.
        self._sleep: Callable[[float], Awaitable[None]] = sleep or import_module("asyncio").sleep

    async def run(self, request: Request[V]) -> V:
        """Run a request and return its result."""
        steps, calls = plan_calls(self._settings, request)
        return await self._drive(steps, calls)

    def plan(self, request: Request[Any]) -> Calls:
        """Return the calls that a request is known to make, without making any.

        Raises what `run` would raise before its first call: AccessDenied, WrongTable, QueryInvalid.
        """
        return plan_calls(self._settings, request)[1]

    async def run_until(
        self, request: Request[V], condition: Callable[[V], object], *, attempts: int = 10
    ) -> V:
        """Async version of `Store.run_until`: run a read until `condition` holds for its result.

        `condition` is a plain function. Raises ResultAwaited, OptionInvalid.
        """
        observe = self._observe if self._settings.on_call or is_logged() else None
        return await drive_async(
            plan_until(self._settings, request, condition, attempts),
            self._executor.execute,
            self._sleep,
            observe=observe,
            check=check_reads(self._check, request),
        )

    async def iterate(
        self, query: Query[V] | Scan[V], *, on_invalid: OnInvalidItem = log_invalid
    ) -> AsyncIterator[V]:
        """Async version of `Store.iterate`: yield all results of a query or scan.

        `on_invalid` is a plain function, called with each item in the `invalid` of a page.
        """
        check_paged(query)
        while True:
            page = await self.run(query)
            for each in page.invalid:
                on_invalid(each)
            for each in page:
                yield each
            if page.cursor is None:
                return
            query = query.after(page.cursor)

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Async version of `Store.execute`: make one call of DynamoDB's API as it is.

        Raises the service's errors (ServiceError), AccessDenied, Unavailable and OutcomeUnknown.
        """
        return await self._drive(plan_raw_call(self._settings, operation, request))

    def as_principal(self, role: str, /, *roles: str, **ids: str) -> AsyncStore:
        """Async version of `Store.as_principal`: return a store restricted to a principal's rights.

        Raises PrincipalInvalid.
        """
        from keyfold.store._principals import PrincipalSettings  # noqa: PLC0415 - loaded with the first one

        settings = PrincipalSettings(self._settings, (role, *roles), ids)
        return AsyncStore(self._executor, settings, sleep=self._sleep)

    def observed_by(self, hook: Hook) -> AsyncStore:
        """Async version of `Store.observed_by`: return a store that calls one more hook."""
        return AsyncStore(self._executor, self._settings.with_hook(hook), sleep=self._sleep)

    def watching_writes(self) -> tuple[AsyncStore, WriteWatch]:
        """Return a store like this one, and a watch that tells whether its calls wrote anything."""
        watch = WriteWatch(self._executor)
        return AsyncStore(watch, self._settings, sleep=self._sleep), watch

    @property
    def clock(self) -> Clock:
        """The clock by which requests run: a function that returns the seconds since 1970."""
        return self._settings.clock

    def derive_secret(self, purpose: str) -> bytes:
        """Return 32 secret bytes for one purpose, the same in every process with the store's key.

        The key is `cursor_key`, or that of the file of an embedded database. Raises OptionInvalid if
        there is none, and AccessDenied in the store of a principal.
        """
        return self._settings.derive_secret(purpose)

    @property
    def handles(self) -> Handles | None:
        """Shows system keys as handles, and reads them back, where end users see ids.

        None unless this is the store of a principal, and all its roles are those of end users. The
        store itself takes and returns ids. Raises OptionInvalid if the store has no `cursor_key`,
        with which handles are sealed.
        """
        return self._settings.handles

    async def create_table(self, table: Table) -> None:
        """Create a table with its indexes and TTL setting, and wait until it is active.

        An existing table is left unchanged.
        """
        self._settings.check_administration("CreateTable", table)
        await self._drive(plan_create_table(self._settings, table))

    async def drop_table(self, table: Table) -> None:
        """Delete a table and all its items."""
        self._settings.check_administration("DeleteTable", table)
        await self._drive(plan_drop_table(table))

    @method_takes_arguments_of(FollowOptions)
    async def follow(self, options: FollowOptions) -> Followed:
        """Pass the changes of a table to its handlers, which may be coroutine functions.

        Async version of `Store.follow`, with the same options; `stop` may be an `asyncio.Event`.
        A task that is cancelled releases its leases.

        Raises StreamUnsuitable, LeasesMissing, and OptionInvalid.
        """
        follower = open_follower(self._settings, options.table, options.name, options.leases)
        worker = follower.make_worker(options, may_await=True)
        return await self._drive(worker.run(), clean_up=worker.release)

    async def dead_letters(
        self, table: Table, *, name: str = "default", leases: str | None = None
    ) -> list[DeadLetter]:
        """Return the changes that a handler failed on, and those waiting behind them, oldest first."""
        follower = open_follower(self._settings, table, name, leases)
        return await self._drive(follower.list_dead_letters())

    async def retry_dead_letters(
        self,
        table: Table,
        *,
        handler: str | None = None,
        name: str = "default",
        leases: str | None = None,
    ) -> int:
        """Mark failed dead letters for retry, all of them or one handler's; return how many.

        A worker that follows the table retries them when it next reads the leases.
        """
        follower = open_follower(self._settings, table, name, leases)
        return await self._drive(follower.retry_dead_letters(handler))

    async def close(self) -> None:
        """Close the database or the connections to it."""
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

    def __repr__(self) -> str:
        return f"<AsyncStore {self._settings.show_tables()} on {self._executor!r}>"

    def _drive(
        self, steps: Steps[V], admitted: Calls = (), *, clean_up: CleanUp | None = None
    ) -> Coroutine[Any, Any, V]:
        return drive_async(
            steps,
            self._executor.execute,
            self._sleep,
            observe=self._observe if self._settings.on_call or is_logged() else None,
            check=self._check,
            admitted=admitted,
            clean_up=clean_up,
        )

    async def _observe(self, call: ApiCall) -> dict[str, Any]:
        """Make a call, and report each attempt of it to the hooks."""
        observer = CallObserver(self._settings, call)
        execute: Callable[..., Awaitable[Any]] = self._executor.execute
        options = {"on_retry": observer.record_retry} if self._reports_retries else {}
        try:
            response = await execute(call.operation, call.request, **options)
        except KeyfoldError as error:
            observer.finish(None, error)
            raise
        observer.finish(response)
        return response
