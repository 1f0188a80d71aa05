"""Clients that listen to changes, on a clock that moves only when a test says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from keyfold.engine import Engine
from keyfold.model import Request, Table
from keyfold.service._callers import Caller
from keyfold.service._change_feeds import FeedOptions
from keyfold.service._changes import ChangeEvents, ChangeWatcher
from keyfold.store import AsyncStore, StoreSettings
from keyfold.testing import Clock
from tests.transports import START, Database

KEY = bytes(range(32))


class HeardEvent(NamedTuple):
    """An event as a client hears it."""

    kind: str
    data: dict[str, Any]
    id: str

    @property
    def summary(self) -> tuple[str, str, Any]:
        """The kind, the entity, and its last key field."""
        return (
            self.kind,
            self.data.get("entity", ""),
            [*self.data.get("key", {"": ""}).values()][-1],
        )


class Listener:
    """A client: parses what it gets as browsers do, and remembers the last id."""

    def __init__(self, events: ChangeEvents) -> None:
        self._events = events
        self.received = b""
        self.heard: list[HeardEvent] = []
        self.last_id = ""
        self.is_over = False
        self._is_reading = asyncio.Event()
        self._is_reading.set()
        self._task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for block in self._events:
            self.received += block
            self._parse(block)
            await self._is_reading.wait()
        self.is_over = True

    def pause(self) -> None:
        """Read no more after the next block."""
        self._is_reading.clear()

    def go_on(self) -> None:
        """Read again."""
        self._is_reading.set()

    def _parse(self, block: bytes) -> None:
        for text in block.decode().removesuffix("\n\n").split("\n\n"):
            lines = [line for line in text.split("\n") if not line.startswith(":")]
            fields = {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}
            self.last_id = fields.get("id", self.last_id)
            if "data" in fields:
                self.heard.append(
                    HeardEvent(fields["event"], json.loads(fields["data"]), self.last_id)
                )

    def take(self) -> list[tuple[str, str, Any]]:
        """Return summaries of what was heard since the last call."""
        heard, self.heard = self.heard, []
        return [each.summary for each in heard]

    async def leave(self) -> str:
        """Hang up; return the last id."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._events.aclose()
        return self.last_id


class Ticker:
    """A sleep that ends when a test moves the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    async def sleep(self, seconds: float) -> None:
        if seconds == 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        self._sleepers.append((self._clock() + seconds, woken))
        await woken.wait()

    def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)
        for each in list(self._sleepers):
            if each[0] <= self._clock():
                self._sleepers.remove(each)
                each[1].set()


class _InLoop:
    """An engine that is called in the event loop, and counts the calls."""

    def __init__(self, engine: Database) -> None:
        self._engine = engine
        self.calls: list[str] = []

    async def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        self.calls.append(operation)
        await asyncio.sleep(0)
        return self._engine.execute(operation, request)


class Scene:
    """A table with a stream, a process that serves its changes, and its clients."""

    def __init__(self, engine: Database, clock: Clock, table: Table, options: FeedOptions) -> None:
        self.engine, self.clock, self.table, self._options = engine, clock, table, options
        self.ticker = Ticker(clock)
        self._executor = _InLoop(engine)
        settings = StoreSettings([table], cursor_key=KEY, clock=clock, is_embedded=True)
        self.store = AsyncStore(self._executor, settings)
        self._clients: list[Listener] = []
        self.watcher = self.start()

    def start(self) -> ChangeWatcher:
        """Start another process on the same table."""
        return ChangeWatcher(
            self.store,
            self.table,
            clock=self.clock,
            options=self._options,
            sleep=self.ticker.sleep,
        )

    @property
    def calls(self) -> list[str]:
        """The operations that were called so far."""
        return self._executor.calls

    async def run(self, *requests: Request[Any]) -> None:
        for request in requests:
            await self.store.run(request)

    async def listen(
        self,
        *roles: str,
        last: str | None = None,
        expires: float | None = None,
        watcher: ChangeWatcher | None = None,
        **ids: str,
    ) -> Listener:
        first, *others = roles
        caller = Caller((first, *others), ids, expires=expires)
        events = await (watcher or self.watcher).watch(caller, last_event_id=last)
        listener = Listener(events)
        self._clients.append(listener)
        await self.settle()
        return listener

    async def settle(self) -> None:
        """Let everybody do what they can do without time passing."""
        for _ in range(300):
            await asyncio.sleep(0)

    async def tick(self, seconds: float = 1.0) -> None:
        """Let time pass."""
        self.ticker.advance(seconds)
        await self.settle()

    async def close(self) -> None:
        for each in self._clients:
            await each.leave()
        self.watcher.close()
        await self.settle()


@asynccontextmanager
async def open_scene(
    table: Table, *, shard_records: int = 10_000, **options: Any
) -> AsyncGenerator[Scene]:
    """Open a scene on an engine in memory."""
    clock = Clock(START)
    with Engine.open(
        ":memory:", clock=clock, upkeep_seconds=None, expiry_grace=0.0, shard_records=shard_records
    ) as engine:
        scene = Scene(engine, clock, table, FeedOptions(**options))
        await scene.store.create_table(table)
        try:
            yield scene
        finally:
            await scene.close()
