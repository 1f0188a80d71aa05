"""One interface to Store and AsyncStore, so that every test runs on both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeVar

import keyfold
from keyfold.engine import Engine
from keyfold.model import Query, Request, Scan, Table
from keyfold.store import (
    AsyncStore,
    CallRecord,
    DeadLetter,
    Executor,
    Followed,
    Store,
    StoreSettings,
)
from keyfold.testing import Clock, Service
from keyfold.values import Item
from keyfold.wire.client import Client
from keyfold.wire.server import Server
from tests import transports
from tests.lagging import open_lagging_core
from tests.transports import Transport, make_boto_client, new_cursor_key, new_foreign_database

V = TypeVar("V")
Kind = Literal["sync", "async"]

START = transports.START


class AnyStore(Protocol):
    """A Store or an AsyncStore, called synchronously; records its calls and pauses."""

    calls: list[CallRecord]
    pauses: list[float]

    def run(self, request: Request[V]) -> V: ...

    def run_until(
        self, request: Request[V], condition: Callable[[V], object], **options: Any
    ) -> V: ...

    def iterate(self, query: Query[V] | Scan[V], **options: Any) -> list[V]: ...

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]: ...

    def as_principal(self, role: str, /, *roles: str, **ids: str) -> AnyStore: ...

    def create_table(self, table: Table) -> None: ...

    def drop_table(self, table: Table) -> None: ...

    def follow(self, table: Table, **options: Any) -> Followed: ...

    def dead_letters(self, table: Table, **options: Any) -> list[DeadLetter]: ...

    def retry_dead_letters(self, table: Table, **options: Any) -> int: ...

    def close(self) -> None: ...


OpenStore = Callable[..., AnyStore]


class SyncStoreAdapter:
    """A Store, unchanged."""

    def __init__(self, store: Store, calls: list[CallRecord], pauses: list[float]) -> None:
        self.store, self.calls, self.pauses = store, calls, pauses

    def run(self, request: Request[V]) -> V:
        return self.store.run(request)

    def run_until(self, request: Request[V], condition: Callable[[V], object], **options: Any) -> V:
        return self.store.run_until(request, condition, **options)

    def iterate(self, query: Query[V] | Scan[V], **options: Any) -> list[V]:
        return list(self.store.iterate(query, **options))

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self.store.execute(operation, request)

    def as_principal(self, role: str, /, *roles: str, **ids: str) -> AnyStore:
        return SyncStoreAdapter(
            self.store.as_principal(role, *roles, **ids), self.calls, self.pauses
        )

    def create_table(self, table: Table) -> None:
        self.store.create_table(table)

    def drop_table(self, table: Table) -> None:
        self.store.drop_table(table)

    def follow(self, table: Table, **options: Any) -> Followed:
        return self.store.follow(table, **options)

    def dead_letters(self, table: Table, **options: Any) -> list[DeadLetter]:
        return self.store.dead_letters(table, **options)

    def retry_dead_letters(self, table: Table, **options: Any) -> int:
        return self.store.retry_dead_letters(table, **options)

    def close(self) -> None:
        self.store.close()


class AsyncStoreAdapter:
    """An AsyncStore on its own event loop."""

    living: ClassVar[set[AsyncStoreAdapter]] = set()

    def __init__(
        self,
        make: Callable[[], AsyncStore],
        calls: list[CallRecord],
        pauses: list[float],
        *,
        runner: asyncio.Runner | None = None,
    ) -> None:
        self.calls, self.pauses = calls, pauses
        self._owns_runner = runner is None
        self._runner = runner or asyncio.Runner()
        try:
            self.store = make()
            self._runner.run(self.store.__aenter__())
        except BaseException:
            self._close_runner()
            raise
        if self._owns_runner:
            self.living.add(self)

    def run(self, request: Request[V]) -> V:
        return self._runner.run(self.store.run(request))

    def run_until(self, request: Request[V], condition: Callable[[V], object], **options: Any) -> V:
        return self._runner.run(self.store.run_until(request, condition, **options))

    def iterate(self, query: Query[V] | Scan[V], **options: Any) -> list[V]:
        async def walk() -> list[V]:
            return [each async for each in self.store.iterate(query, **options)]

        return self._runner.run(walk())

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._runner.run(self.store.execute(operation, request))

    def as_principal(self, role: str, /, *roles: str, **ids: str) -> AnyStore:
        return AsyncStoreAdapter(
            lambda: self.store.as_principal(role, *roles, **ids),
            self.calls,
            self.pauses,
            runner=self._runner,
        )

    def create_table(self, table: Table) -> None:
        self._runner.run(self.store.create_table(table))

    def drop_table(self, table: Table) -> None:
        self._runner.run(self.store.drop_table(table))

    def follow(self, table: Table, **options: Any) -> Followed:
        return self._runner.run(self.store.follow(table, **options))

    def dead_letters(self, table: Table, **options: Any) -> list[DeadLetter]:
        return self._runner.run(self.store.dead_letters(table, **options))

    def retry_dead_letters(self, table: Table, **options: Any) -> int:
        return self._runner.run(self.store.retry_dead_letters(table, **options))

    def close(self) -> None:
        self.living.discard(self)
        self._runner.run(self.store.close())
        self._close_runner()

    def _close_runner(self) -> None:
        if self._owns_runner:
            self._runner.close()


class _Awaited:
    """An async executor around a synchronous one."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._executor.execute(operation, request)


def open_any_store(
    kind: Kind,
    tables: Table | Sequence[Table],
    url: str | Path = ":memory:",
    *,
    clock: Clock | None = None,
    **options: Any,
) -> AnyStore:
    """Open a store on an engine without background upkeep."""
    calls: list[CallRecord] = []
    options.setdefault("upkeep_seconds", None)
    options["on_call"] = [*options.get("on_call", ()), calls.append]
    if clock is not None:
        options["clock"] = clock
    if kind == "sync":
        return SyncStoreAdapter(keyfold.open(tables, url, **options), calls, [])
    return AsyncStoreAdapter(lambda: keyfold.open_async(tables, url, **options), calls, [])


class ServedDatabase(NamedTuple):
    """A database behind a server: arguments for `open`, and its cursor key."""

    place: dict[str, Any]
    cursor_key: bytes


class DatabasesByUrl:
    """The databases of a test, reached by its transport; each URL is one database."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport, self._clock = transport, clock
        self._stack = ExitStack()
        self._running: dict[str, ServedDatabase] = {}
        self._services: dict[str, Service] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def open(
        self, kind: Kind, tables: Table | Sequence[Table], url: str | Path, **options: Any
    ) -> AnyStore:
        """Open a store as `open_any_store` does, by the transport."""
        if self._transport.kind == "embedded":
            return open_any_store(kind, tables, url, clock=self._clock, **options)
        if self._transport.kind == "lagging":
            return self._open_lagging(kind, tables, url, **options)
        place, cursor_key = self._find(url)
        options.setdefault("cursor_key", cursor_key)
        # Remote tables are not created on opening.
        with keyfold.open(tables, **place) as store:
            for table in tables if isinstance(tables, Sequence) else (tables,):
                with suppress(*self._transport.refusals):
                    store.create_table(table)
        calls: list[CallRecord] = []
        options["on_call"] = [*options.get("on_call", ()), calls.append]
        options["clock"] = self._clock
        if self._transport.kind == "boto3":
            where = place["url"]
            place = {
                "client": make_boto_client(where),
                "streams_client": make_boto_client(where, "dynamodbstreams"),
            }
            for client in place.values():
                self._stack.callback(client.close)
        if kind == "sync":
            return SyncStoreAdapter(keyfold.open(tables, **place, **options), calls, [])
        return AsyncStoreAdapter(lambda: keyfold.open_async(tables, **place, **options), calls, [])

    def _open_lagging(
        self, kind: Kind, tables: Table | Sequence[Table], url: str | Path, **options: Any
    ) -> AnyStore:
        service = self._services.get(str(url))
        if service is None:
            service = Service(self._stack.enter_context(closing(open_lagging_core(self._clock))))
            if str(url) != ":memory:":
                self._services[str(url)] = service
        calls: list[CallRecord] = []
        options["on_call"] = [*options.get("on_call", ()), calls.append]
        if kind == "sync":
            return SyncStoreAdapter(service.open(tables, **options), calls, [])
        return AsyncStoreAdapter(lambda: service.open_async(tables, **options), calls, [])

    def put(self, url: str, table: str, *items: Item) -> None:
        """Put raw items into a table of a database that a store was opened on."""
        if self._transport.kind == "foreign":
            opened = Client(**self._running[url].place)
        elif self._transport.kind == "lagging":
            opened = nullcontext(self._services[url])
        else:
            opened = Engine.open(url, upkeep_seconds=None)
        with opened as database:
            for item in items:
                database.execute("PutItem", {"TableName": table, "Item": item})

    def _find(self, url: str | Path) -> ServedDatabase:
        found = self._running.get(str(url))
        if found is None:
            found = ServedDatabase(self._start(url), new_cursor_key())
            if str(url) != ":memory:":
                self._running[str(url)] = found
        return found

    def _start(self, url: str | Path) -> dict[str, Any]:
        if self._transport.kind == "foreign":
            place = self._stack.enter_context(new_foreign_database(self._transport))
            return {"url": place.url, "endpoint": place.endpoint}
        engine = self._stack.enter_context(Engine.open(url, clock=self._clock, upkeep_seconds=None))
        return {"url": self._stack.enter_context(Server(engine).running())}


def any_store_on(
    kind: Kind,
    executor: Executor,
    tables: Sequence[Table],
    *,
    clock: Clock | None = None,
    jitter: Callable[[], float] = lambda: 1.0,
    cursor_key: bytes | None = b"a key for tests, of 32 bytes....",
    moves_clock: bool = False,
    **options: Any,
) -> AnyStore:
    """Make a store on an executor. Pauses are only recorded, or advance the clock."""
    calls: list[CallRecord] = []
    pauses: list[float] = []
    if clock is not None:
        options["clock"] = clock
    settings = StoreSettings(
        tables, cursor_key=cursor_key, jitter=jitter, on_call=[calls.append], **options
    )

    def wait(seconds: float) -> None:
        pauses.append(seconds)
        if clock is not None and moves_clock:
            clock.advance(seconds)

    if kind == "sync":
        return SyncStoreAdapter(Store(executor, settings, sleep=wait), calls, pauses)

    async def sleep(seconds: float) -> None:
        wait(seconds)

    return AsyncStoreAdapter(
        lambda: AsyncStore(_Awaited(executor), settings, sleep=sleep), calls, pauses
    )
