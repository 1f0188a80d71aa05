"""The sync store: runs requests, and blocks until they are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from keyfold.clocks import Clock
from keyfold.errors import KeyfoldError
from keyfold.model._calls import ApiCall
from keyfold.model._paged_reads import Query, Scan, check_paged
from keyfold.model._requests import Request
from keyfold.model._tables import Table
from keyfold.store._arguments import method_takes_arguments_of
from keyfold.store._awaited_results import check_reads, plan_until
from keyfold.store._call_records import Hook, is_logged
from keyfold.store._dispatch import plan_calls
from keyfold.store._drivers import CleanUp, drive
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

V = TypeVar("V")


class Executor(Protocol):
    """Executes DynamoDB operations: an embedded engine, or a client of a service."""

    def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        """Carry out one operation; raises ServiceError."""
        ...


class Store:
    """Reads and writes the entities of one or more tables in a database.

    `keyfold.open` returns one.
    """

    def __init__(
        self,
        executor: Executor,
        settings: StoreSettings,
        *,
        close: Callable[[], None] = lambda: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._executor = executor
        # Our own clients retry internally, and report each retry to an `on_retry` callback.
        self._reports_retries: bool = getattr(executor, "reports_retries", False)
        self._settings = settings
        self._check = settings.check_call if settings.is_guarded else None
        self._close = close
        self._sleep = sleep

    def run(self, request: Request[V]) -> V:
        """Run a request and return its result."""
        # As `_drive`, without another call for every request.
        observe = self._observe if self._settings.on_call or is_logged() else None
        steps, calls = plan_calls(self._settings, request)
        return drive(steps, self._executor.execute, self._sleep, observe, self._check, calls)

    def run_until(
        self, request: Request[V], condition: Callable[[V], object], *, attempts: int = 10
    ) -> V:
        """Run a request that reads until `condition` holds for its result, and return that result.

        A global index lags behind writes, usually by less than a second. Scripts and tests that
        read an index right after a write wait for it:
        `store.run_until(orders_of("ada"), lambda page: len(page) == 1)`.

        The request runs up to `attempts` times, with pauses like those between retries: about five
        seconds in all for ten attempts. Raises ResultAwaited if no result was as awaited, and
        OptionInvalid for a request that writes.
        """
        observe = self._observe if self._settings.on_call or is_logged() else None
        steps = plan_until(self._settings, request, condition, attempts)
        check = check_reads(self._check, request)
        return drive(steps, self._executor.execute, self._sleep, observe, check)

    def iterate(
        self, query: Query[V] | Scan[V], *, on_invalid: OnInvalidItem = log_invalid
    ) -> Iterator[V]:
        """Yield all results of a query or scan, reading page after page.

        `on_invalid` is called with each item in the `invalid` of a page, before the page's results.
        By default, a warning is logged.
        """
        check_paged(query)
        while True:
            page = self.run(query)
            for each in page.invalid:
                on_invalid(each)
            yield from page
            if page.cursor is None:
                return
            query = query.after(page.cursor)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Make one call of DynamoDB's API as it is, and return the response as it is.

        Use it for what requests do not cover, such as PartiQL statements. It has the store's
        retries, hooks and, in the store of a principal, checks. Nothing is validated, hidden or
        kept by the declarations: expired items and guard items are visible, and unique values are
        not guarded. Hooks report its capacity if the request asks for it.

        Raises the service's errors (ServiceError), AccessDenied, Unavailable and OutcomeUnknown.
        """
        return self._drive(plan_raw_call(self._settings, operation, request))

    def as_principal(self, role: str, /, *roles: str, **ids: str) -> Store:
        """Return a store restricted to what a principal with this role, or these roles, may do.

        `ids` holds the principal's id under the name of the role's tenant, as in `user="ada"`. A
        request that the role does not allow raises AccessDenied before any call is made. The store
        only runs requests: it cannot create, drop or follow tables. Closing it leaves the database
        open.

        With several roles, as in `as_principal("customer", "seller", user="ada")`, each access of a
        request has to be allowed by one of them as a whole.

        Raises PrincipalInvalid if no table has the role, or if the id is missing or not usable in
        keys.
        """
        from keyfold.store._principals import PrincipalSettings  # noqa: PLC0415 - loaded with the first one

        settings = PrincipalSettings(self._settings, (role, *roles), ids)
        return Store(self._executor, settings, sleep=self._sleep)

    def observed_by(self, hook: Hook) -> Store:
        """Return a store of the same database that calls one more hook; see `on_call` of `open`.

        Closing it leaves the database open.
        """
        return Store(self._executor, self._settings.with_hook(hook), sleep=self._sleep)

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

    def create_table(self, table: Table) -> None:
        """Create a table with its indexes and TTL setting, and wait until it is active.

        An existing table is left unchanged.
        """
        self._settings.check_administration("CreateTable", table)
        self._drive(plan_create_table(self._settings, table))

    def drop_table(self, table: Table) -> None:
        """Delete a table and all its items."""
        self._settings.check_administration("DeleteTable", table)
        self._drive(plan_drop_table(table))

    @method_takes_arguments_of(FollowOptions)
    def follow(self, options: FollowOptions) -> Followed:
        """Pass the changes of a table to its handlers: at least once, and in order for each item.

        Workers with the same `name` share the shards of the table's stream and their progress.
        `worker` identifies one of them; a worker that is restarted under its former name resumes
        at once. `start` says whether a new follower begins with the "oldest" change in the stream
        or with the "latest". Progress is kept in the lease table `leases`, by default named after
        the table. `setup` creates that table and enables the stream; it is on by default for
        embedded databases only.

        A handler that fails is called up to `attempts` times. Then the change becomes a dead
        letter: see `dead_letters` and `retry_dead_letters`. A worker that does not renew its leases
        for `lease_seconds` loses its shards to other workers, so no handler should take that long.

        Returns when `stop` (such as a `threading.Event`) is set or, with `until_caught_up`, when
        nothing is left to read. Until then it polls the stream every `poll_seconds`.

        Raises StreamUnsuitable, LeasesMissing, and OptionInvalid.
        """
        follower = open_follower(self._settings, options.table, options.name, options.leases)
        worker = follower.make_worker(options, may_await=False)
        return self._drive(worker.run(), clean_up=worker.release)

    def dead_letters(
        self, table: Table, *, name: str = "default", leases: str | None = None
    ) -> list[DeadLetter]:
        """Return the changes that a handler failed on, and those waiting behind them, oldest first."""
        follower = open_follower(self._settings, table, name, leases)
        return self._drive(follower.list_dead_letters())

    def retry_dead_letters(
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
        return self._drive(follower.retry_dead_letters(handler))

    def close(self) -> None:
        """Close the database or the connections to it."""
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

    def __repr__(self) -> str:
        return f"<Store {self._settings.show_tables()} on {self._executor!r}>"

    def _drive(self, steps: Steps[V], clean_up: CleanUp | None = None) -> V:
        observe = self._observe if self._settings.on_call or is_logged() else None
        return drive(
            steps, self._executor.execute, self._sleep, observe, self._check, clean_up=clean_up
        )

    def _observe(self, call: ApiCall) -> dict[str, Any]:
        """Make a call, and report each attempt of it to the hooks."""
        observer = CallObserver(self._settings, call)
        execute: Callable[..., Any] = self._executor.execute
        options = {"on_retry": observer.record_retry} if self._reports_retries else {}
        try:
            response = execute(call.operation, call.request, **options)
        except KeyfoldError as error:
            observer.finish(None, error)
            raise
        observer.finish(response)
        return response
