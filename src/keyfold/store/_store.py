"""The store: runs requests, and waits for their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, cast

from keyfold.errors import KeyfoldError, OptionInvalid
from keyfold.model._changes import Reaction
from keyfold.model._requests import Query, Request, Scan, check_paged
from keyfold.model._tables import Table
from keyfold.store._dispatch import plan
from keyfold.store._follow_options import DeadLetter, Followed, Start, Stop, read_options
from keyfold.store._making import make_table
from keyfold.store._plans import ApiCall, Handling, Pause, Steps, requests_of
from keyfold.store._settings import CallObserver, StoreSettings

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
        settings: StoreSettings,
        *,
        close: Callable[[], None] = lambda: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._executor = executor
        # Our own clients retry by themselves, and can say when they do.
        self._reports_retries: bool = getattr(executor, "reports_retries", False)
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

    def as_principal(self, role: str, /, **ids: str) -> Store:
        """Return the store as somebody with a role may use it: it refuses what the role denies.

        `ids` has the principal's own id, by the role's tenant, as in `user="ada"`. A request that
        could reach what is not theirs raises AccessDenied before any call is made. It runs requests
        and nothing else; closing it leaves the database open.

        Raises PrincipalInvalid for a role that no table has, and for an id that cannot be one.
        """
        from keyfold.store._principals import PrincipalSettings  # noqa: PLC0415 - loaded with the first one

        settings = PrincipalSettings(self._settings, role, ids)
        return Store(self._executor, settings, sleep=self._sleep)

    def create_table(self, table: Table) -> None:
        """Make a table, with its indexes and its expiry; one that is there is left as it is.

        It can be used then: where that takes a while, it is waited for.
        """
        self._settings.check_administration("CreateTable", table)
        self._drive(make_table(self._settings, table))

    def drop_table(self, table: Table) -> None:
        """Remove a table and everything in it."""
        self._settings.check_administration("DeleteTable", table)
        self._call(ApiCall("DeleteTable", {"TableName": table.name}))

    def follow(
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
        """Hand the changes of a table to its handlers, in order for each item, at least once.

        Workers of the same `name` share the shards of the table's stream, and what they have done;
        `worker` tells one from another, and one that is started again under its name goes on at
        once. It begins with the `oldest` change that the stream has, or with the `latest`. How far
        it got is kept in the lease table, `leases`, by default named after the table; `setup` makes
        that, and switches the stream on, which is the default for embedded databases only.

        A handler that fails is called `attempts` times, then the change is parked: `parked` lists
        those. A worker that does not show itself for `lease_seconds` loses its shards to others, so
        no handler should take that long.

        Returns when `stop` is set, an event of threading's for instance; with `until_caught_up`,
        when nothing is left to read. Otherwise it looks for more every `poll_seconds`.

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
        for handler in table.handlers.values():
            if handler.is_async:
                advice = "It is a coroutine function: follow the table with an AsyncStore."
                raise OptionInvalid("handler", handler.name, advice)
        follower = Worker(self._settings, options)
        try:
            return self._drive(follower.run())
        except BaseException:
            # Others need not wait for what this one has; the error that ends it comes first.
            with suppress(KeyfoldError):
                self._drive(follower.release())
            raise

    def dead_letters(
        self, table: Table, *, name: str = "default", leases: str | None = None
    ) -> list[DeadLetter]:
        """Return the changes that handlers could not take, oldest first."""
        from keyfold.store._dead_letters import list_dead_letters, open_dead_letters  # noqa: PLC0415 - as above

        self._settings.check_administration("GetRecords", table)
        dead_letters = open_dead_letters(self._settings, table, name, leases)
        return self._drive(list_dead_letters(dead_letters))

    def retry_dead_letters(
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
        return self._drive(retry_dead_letters(dead_letters, handler))

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

    def _drive(self, steps: Steps[V]) -> V:
        execute, is_watched = self._executor.execute, self._settings.on_call
        try:
            step = next(steps)
            while True:
                if not isinstance(step, ApiCall):
                    step = self._handle_step(steps, step)
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

    def _handle_step(self, steps: Steps[Any], step: Pause | Handling) -> ApiCall | Pause | Handling:
        """Do what is no call, and return the step after it."""
        if isinstance(step, Pause):
            self._sleep(step.seconds)
            return next(steps)
        try:
            requests = requests_of(cast(Reaction, step.handler(step.change)))
        except Exception as error:  # noqa: BLE001 - the plan decides what becomes of it
            return steps.throw(error)
        return steps.send(requests)

    def _call(self, call: ApiCall) -> dict[str, Any]:
        if not self._settings.on_call:
            return self._executor.execute(call.operation, call.request)
        watch = CallObserver(self._settings, call)
        try:
            if self._reports_retries:
                execute: Callable[..., Any] = self._executor.execute
                response = execute(call.operation, call.request, on_retry=watch.note)
            else:
                response = self._executor.execute(call.operation, call.request)
        except KeyfoldError as error:
            watch.end(None, error)
            raise
        watch.end(response)
        return response
