"""Changes of a table as server-sent events: each principal sees its own, live or from where it was.

All clients of a process share one feed. A client that comes with a `Last-Event-ID` first reads what it
has missed by itself, up to exactly where a feed is, and joins it there. `docs/internals/changes.md`
says why nothing is missed or sent twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Self

from keyfold.clocks import Clock
from keyfold.errors import ChangesUnavailable, KeyfoldError
from keyfold.model import Table
from keyfold.service._callers import Caller
from keyfold.service._catch_up import CatchUp, Joined, NotJoined
from keyfold.service._change_feeds import ChangeFeed, FeedOptions
from keyfold.service._change_shards import StreamCalls, StreamReader
from keyfold.service._change_views import PrincipalView
from keyfold.service._positions import WatchPosition
from keyfold.store import AsyncStore
from keyfold.store._streams import StreamState

_LOG = logging.getLogger("keyfold.service")

# How long a stream keeps a record. An older position is always told of a gap: whether there was
# anything to lose would tell a principal whether others have written.
_RETENTION_SECONDS = 24 * 60 * 60
# How many clients read at the same time what they have missed.
_MAX_READERS = 4


class ChangeWatcher:
    """Lets callers watch the changes of a table; a service has one for all of its clients.

    `store` is the whole store, not a principal's. `clock` and `sleep` are for tests.
    """

    def __init__(
        self,
        store: AsyncStore,
        table: Table,
        *,
        clock: Clock,
        options: FeedOptions | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._store, self._table = store, table
        self._calls = StreamCalls(store, table, clock)
        self._options = options or FeedOptions()
        self._clock, self._sleep = clock, sleep
        self._feeds: list[ChangeFeed] = []
        self._starting = asyncio.Lock()
        self._readers = asyncio.Semaphore(_MAX_READERS)

    async def watch(self, caller: Caller, *, last_event_id: str | None = None) -> ChangeEvents:
        """Return the blocks of an event stream for a caller: the changes of what it may read.

        Without a `last_event_id`, it begins with the changes that are made from now on. Every
        block is bytes of `text/event-stream`. They end when `caller.expires` has passed, when the
        client is too slow, and when the watcher is closed; a client then reconnects.

            async with await watcher.watch(caller, last_event_id=headers.get("last-event-id")) as events:
                async for block in events:
                    await send({"type": "http.response.body", "body": block, "more_body": True})

        What is wrong is raised before the first block: EventIdInvalid (400), ChangesUnavailable
        (404) for a table without a stream, and PrincipalInvalid.
        """
        view = PrincipalView(self._store, self._table, caller)
        position = view.ids.open(last_event_id) if last_event_id else None
        stream = await self._find_stream()
        if position is None:
            blocks = self._watch_from_now(view, caller, stream)
        else:
            blocks = self._watch_from(view, caller, position)
        return ChangeEvents(await anext(blocks), blocks)

    def close(self) -> None:
        """End all event streams; clients reconnect to another process."""
        for feed in self._feeds:
            feed.close()
        self._feeds.clear()

    async def _find_stream(self) -> StreamState:
        name = self._table.name
        if self._table.stream is None:
            advice = 'Declare one, as in Table(…, stream="new and old"), and run `keyfold apply`.'
            raise ChangesUnavailable(name, "The table declares no stream", advice)
        stream = await self._calls.describe()
        if stream is None or not stream.is_on:
            raise ChangesUnavailable(name, "The table's stream is off", "Run `keyfold apply`.")
        return stream

    # From now on.

    async def _watch_from_now(
        self, view: PrincipalView, caller: Caller, stream: StreamState
    ) -> AsyncGenerator[bytes]:
        async with self._starting:
            running = self._list_feeds()
            feed = next((each for each in running if each.reader.is_known), None)
            if feed is None and running:
                feed = running[0]
            if feed is None:
                reader = StreamReader(self._calls, self._clock)
                await reader.start_latest(stream)
                feed = self._add_feed(reader)
            subscription = feed.subscribe(view, caller.expires)
        try:
            yield feed.renderer.write_position(view, self._options.retry_seconds)
            while (block := await subscription.next()) is not None:
                yield block
        finally:
            feed.unsubscribe(subscription)

    def _list_feeds(self) -> list[ChangeFeed]:
        self._feeds = [each for each in self._feeds if each.is_running]
        return self._feeds

    def _add_feed(self, reader: StreamReader) -> ChangeFeed:
        feed = ChangeFeed(self._table, reader, self._options, self._clock, self._sleep)
        self._feeds.append(feed)
        return feed

    # From a position.

    async def _watch_from(
        self, view: PrincipalView, caller: Caller, position: WatchPosition
    ) -> AsyncGenerator[bytes]:
        reader = StreamReader(self._calls, self._clock)
        catch_up = CatchUp(self._table, reader, view, self._readers)
        is_gap = await reader.start_at(position)
        yield catch_up.renderer.write_position(view, self._options.retry_seconds)
        if is_gap or self._clock() - position.at >= _RETENTION_SECONDS:
            for gap in catch_up.tell_gap():
                yield gap
        told_at = self._clock()
        while True:
            if caller.expires is not None and caller.expires <= self._clock():
                return
            feed = self._find_known_feed()
            async for block in catch_up.read_up_to(feed):
                told_at = self._clock()
                yield block
            if catch_up.has_progressed:
                continue
            joined = await self._join(catch_up, feed, caller)
            if joined.feed is not None:
                break
            for block in joined.missed:
                yield block
            if self._clock() - told_at >= self._options.keep_alive_seconds:
                told_at = self._clock()
                yield catch_up.renderer.write_position(view)
            await self._sleep(self._options.poll_seconds)
        try:
            for block in joined.missed:
                yield block
            while (waiting := await joined.subscription.next()) is not None:
                yield waiting
        finally:
            joined.feed.unsubscribe(joined.subscription)

    def _find_known_feed(self) -> ChangeFeed | None:
        return next((each for each in self._list_feeds() if each.reader.is_known), None)

    async def _join(
        self, catch_up: CatchUp, feed: ChangeFeed | None, caller: Caller
    ) -> Joined | NotJoined:
        """Go on with a feed; without one whose position is known, the reader becomes one."""
        if feed is not None:
            return await catch_up.join(feed, caller.expires)
        if self._find_known_feed() is not None:
            return NotJoined([])
        # It has read everything that there is.
        feed = self._add_feed(catch_up.reader)
        return Joined(feed, feed.subscribe(catch_up.view, caller.expires), [])


class ChangeEvents:
    """The blocks of one event stream, as bytes; `async with` ends it with the client."""

    def __init__(self, first: bytes, blocks: AsyncGenerator[bytes]) -> None:
        # It was read by now, so that errors could be raised before the response began.
        self._first: bytes | None = first
        self._blocks = blocks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            return await anext(self._blocks)
        except KeyfoldError as error:
            # The client reconnects, and is then told what is wrong, if it still is.
            _LOG.warning("an event stream ends: %s", error)
            raise StopAsyncIteration from error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Unsubscribe; there are no more blocks."""
        await self._blocks.aclose()
