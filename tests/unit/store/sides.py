"""Both stores behind one face, so that every test runs on each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import keyfold
from keyfold.model import Query, Request, Scan, Table
from keyfold.store import (
    AsyncStore,
    CallRecord,
    Executor,
    Followed,
    ParkedChange,
    Settings,
    Store,
)
from keyfold.testing import Clock

V = TypeVar("V")
Kind = Literal["sync", "async"]

START = datetime(2024, 1, 1, tzinfo=UTC)


class Side(Protocol):
    """A store of either kind, whose answers are waited for."""

    calls: list[CallRecord]
    pauses: list[float]

    def run(self, request: Request[V]) -> V: ...

    def iterate(self, query: Query[V] | Scan[V]) -> list[V]: ...

    def create_table(self, table: Table) -> None: ...

    def drop_table(self, table: Table) -> None: ...

    def follow(self, table: Table, **options: Any) -> Followed: ...

    def parked(self, table: Table, **options: Any) -> list[ParkedChange]: ...

    def retry_parked(self, table: Table, **options: Any) -> int: ...

    def close(self) -> None: ...


OpenSide = Callable[..., Side]


class SyncSide:
    """A Store as it is."""

    def __init__(self, store: Store, calls: list[CallRecord], pauses: list[float]) -> None:
        self.store, self.calls, self.pauses = store, calls, pauses

    def run(self, request: Request[V]) -> V:
        return self.store.run(request)

    def iterate(self, query: Query[V] | Scan[V]) -> list[V]:
        return list(self.store.iterate(query))

    def create_table(self, table: Table) -> None:
        self.store.create_table(table)

    def drop_table(self, table: Table) -> None:
        self.store.drop_table(table)

    def follow(self, table: Table, **options: Any) -> Followed:
        return self.store.follow(table, **options)

    def parked(self, table: Table, **options: Any) -> list[ParkedChange]:
        return self.store.parked(table, **options)

    def retry_parked(self, table: Table, **options: Any) -> int:
        return self.store.retry_parked(table, **options)

    def close(self) -> None:
        self.store.close()


class AsyncSide:
    """An AsyncStore on an event loop of its own."""

    def __init__(
        self, make: Callable[[], AsyncStore], calls: list[CallRecord], pauses: list[float]
    ) -> None:
        self.calls, self.pauses = calls, pauses
        self._runner = asyncio.Runner()
        try:
            self.store = make()
            self._runner.run(self.store.__aenter__())
        except BaseException:
            self._runner.close()
            raise

    def run(self, request: Request[V]) -> V:
        return self._runner.run(self.store.run(request))

    def iterate(self, query: Query[V] | Scan[V]) -> list[V]:
        async def walk() -> list[V]:
            return [each async for each in self.store.iterate(query)]

        return self._runner.run(walk())

    def create_table(self, table: Table) -> None:
        self._runner.run(self.store.create_table(table))

    def drop_table(self, table: Table) -> None:
        self._runner.run(self.store.drop_table(table))

    def follow(self, table: Table, **options: Any) -> Followed:
        return self._runner.run(self.store.follow(table, **options))

    def parked(self, table: Table, **options: Any) -> list[ParkedChange]:
        return self._runner.run(self.store.parked(table, **options))

    def retry_parked(self, table: Table, **options: Any) -> int:
        return self._runner.run(self.store.retry_parked(table, **options))

    def close(self) -> None:
        self._runner.run(self.store.close())
        self._runner.close()


class _Awaited:
    """An executor whose answers are awaited."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._executor.execute(operation, request)


def open_side(
    kind: Kind,
    tables: Table | Sequence[Table],
    url: str | Path = ":memory:",
    *,
    clock: Clock | None = None,
    **options: Any,
) -> Side:
    """Open a store on an engine that deletes nothing by itself."""
    calls: list[CallRecord] = []
    options.setdefault("upkeep_seconds", None)
    options["on_call"] = [*options.get("on_call", ()), calls.append]
    if clock is not None:
        options["clock"] = clock.now
    if kind == "sync":
        return SyncSide(keyfold.open(tables, url, **options), calls, [])
    return AsyncSide(lambda: keyfold.open_async(tables, url, **options), calls, [])


def side_on(
    kind: Kind,
    executor: Executor,
    tables: Sequence[Table],
    *,
    clock: Clock | None = None,
    draw: Callable[[], float] = lambda: 1.0,
    cursor_key: bytes | None = b"a key for tests, of 32 bytes....",
    moves_clock: bool = False,
    **told: Any,
) -> Side:
    """Make a store on an executor; the time that it waits is only noted, or the clock moved on."""
    calls: list[CallRecord] = []
    pauses: list[float] = []
    if clock is not None:
        told["clock"] = clock.now
    settings = Settings(tables, cursor_key=cursor_key, draw=draw, on_call=[calls.append], **told)

    def wait(seconds: float) -> None:
        pauses.append(seconds)
        if clock is not None and moves_clock:
            clock.advance(seconds)

    if kind == "sync":
        return SyncSide(Store(executor, settings, sleep=wait), calls, pauses)

    async def sleep(seconds: float) -> None:
        wait(seconds)

    return AsyncSide(lambda: AsyncStore(_Awaited(executor), settings, sleep=sleep), calls, pauses)
