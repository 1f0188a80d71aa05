"""Feeds: one reader of a stream, and everybody who listens to it.

A feed reads each record once, decides once for each principal whether it sees the change, and puts
the event into the queues of its subscriptions. A subscription whose client does not keep up is ended:
the client reconnects with the last event that it got, and misses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass

from keyfold.clocks import Clock
from keyfold.errors import KeyfoldError
from keyfold.model import Table
from keyfold.policy import ReaderIndex
from keyfold.service._change_shards import OpenShard, ReadRecords, StreamReader
from keyfold.service._change_views import PrincipalView, RecordedChange
from keyfold.service._events import SentEvent, write_position
from keyfold.service._positions import pack_position
from keyfold.store._records import StreamRecord
from keyfold.store._retries import Backoff
from keyfold.values import Item

_LOG = logging.getLogger("keyfold.service")

GAP = b'{"detail":"Changes before this one are no longer in the stream. Read again what you show."}'
_FAILURES = 5
# How many records and principals are handled before other tasks get their turn.
_UNINTERRUPTED = 50
_BACKOFF = Backoff(1.0, 30.0)


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """How changes are read and sent.

    A subscription is ended when its queue has more than `queue_events` events or `queue_bytes` bytes.
    """

    poll_seconds: float = 1.0
    keep_alive_seconds: float = 15.0
    retry_seconds: float = 2.0
    # How often new shards are looked for, besides when one ends.
    sync_seconds: float = 10.0
    queue_events: int = 1_000
    queue_bytes: int = 4_000_000


class Subscription:
    """The events that wait for one client."""

    def __init__(self, view: PrincipalView, expires: float | None, options: FeedOptions) -> None:
        self.view, self.expires = view, expires
        self._options = options
        self._waiting: deque[bytes] = deque()
        self._size_bytes = 0
        self._has_news = asyncio.Event()
        self.is_ended = False

    @property
    def is_empty(self) -> bool:
        """Whether the client has got everything."""
        return not self._waiting

    def put(self, block: bytes) -> None:
        """Add a block; the subscription is ended if too many wait. A single one always fits."""
        if self.is_ended:
            return
        self._waiting.append(block)
        self._size_bytes += len(block)
        too_many = len(self._waiting) > self._options.queue_events
        if too_many or (self._size_bytes > self._options.queue_bytes and len(self._waiting) > 1):
            # From the newest: those before it are sent, and the client goes on after them.
            self._waiting.pop()
            self.end()
        self._has_news.set()

    def end(self) -> None:
        """Send what waits, and then no more."""
        self.is_ended = True
        self._has_news.set()

    async def next(self) -> bytes | None:
        """Return all blocks that wait, at least one; None at the end."""
        while not self._waiting:
            if self.is_ended:
                return None
            self._has_news.clear()
            await self._has_news.wait()
        blocks = b"".join(self._waiting)
        self._waiting.clear()
        self._size_bytes = 0
        return blocks


class ChangeRenderer:
    """Writes the events of a reader's records, as each principal sees them."""

    def __init__(self, table: Table, reader: StreamReader) -> None:
        self._table, self._reader = table, reader
        self._change: RecordedChange | None = None
        self._packed: bytes | None = None

    def take(self, shard: OpenShard, record: StreamRecord) -> bool:
        """Go on to a record; return whether it is to be shown."""
        is_wanted = self._reader.advance(shard, record)
        self._change, self._packed = RecordedChange(self._table, record), None
        return is_wanted

    def write(self, view: PrincipalView) -> bytes | None:
        """Return the event of the current record for a principal; None if it sees nothing of it."""
        assert self._change is not None  # a record was taken
        shown = view.show(self._change)
        if shown is None:
            return None
        return SentEvent(shown.kind, shown.data, self._seal(view)).to_bytes()

    def write_gap(self, view: PrincipalView) -> bytes:
        """Return an event that says that changes were lost."""
        self._packed = None
        return SentEvent("gap", GAP, self._seal(view)).to_bytes()

    def write_position(self, view: PrincipalView, retry_seconds: float | None = None) -> bytes:
        """Return a block with the current position, and without an event."""
        self._packed = None
        return write_position(self._seal(view), retry_seconds=retry_seconds)

    def _seal(self, view: PrincipalView) -> str:
        # The same for all principals until the next record.
        if self._packed is None:
            self._packed = pack_position(self._reader.find_position())
        return view.ids.seal(self._packed)


class ChangeFeed:
    """One loop that reads a stream for all of its subscriptions, until the last one has left."""

    def __init__(
        self,
        table: Table,
        reader: StreamReader,
        options: FeedOptions,
        clock: Clock,
        sleep: Callable[[float], Awaitable[object]],
    ) -> None:
        self.reader = reader
        # Held while records are read: whoever holds it finds the position unchanged.
        self.lock = asyncio.Lock()
        self.renderer = ChangeRenderer(table, reader)
        self._table, self._options, self._clock, self._sleep = table, options, clock, sleep
        self._by_principal: dict[str, list[Subscription]] = {}
        self._readers = ReaderIndex()
        self._told_at = self._synced_at = clock()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether its loop runs, as it does while there are subscriptions."""
        return self._task is not None and not self._task.done()

    def subscribe(self, view: PrincipalView, expires: float | None) -> Subscription:
        """Return a subscription to what is read from now on; the first one starts the loop."""
        subscription = Subscription(view, expires, self._options)
        listed = self._by_principal.setdefault(view.principal, [])
        if not listed and view.guard is not None:
            self._readers.add(view.principal, view.guard)
        listed.append(subscription)
        if not self.is_running:
            # In no request's context: it would be traced as part of the first one.
            self._task = asyncio.create_task(self._run(), context=Context())
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forget a subscription; without any, the loop ends."""
        subscription.end()
        listed = self._by_principal.get(subscription.view.principal, [])
        if subscription in listed:
            listed.remove(subscription)
            if not listed:
                view = subscription.view
                del self._by_principal[view.principal]
                if view.guard is not None:
                    self._readers.remove(view.principal, view.guard)
        if not self._by_principal:
            self._stop()

    def close(self) -> None:
        """End all subscriptions, and the loop."""
        for subscription in self._list_subscriptions():
            subscription.end()
        self._by_principal.clear()
        self._readers = ReaderIndex()
        self._stop()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _list_subscriptions(self) -> list[Subscription]:
        return [each for listed in self._by_principal.values() for each in listed]

    async def _run(self) -> None:
        failures = 0
        try:
            while True:
                try:
                    async with self.lock:
                        has_read = await self.read_round()
                    failures = 0
                except KeyfoldError as error:
                    failures += 1
                    _LOG.warning("changes of %s cannot be read: %s", self._table.name, error)
                    if failures >= _FAILURES:
                        break
                    await self._sleep(_BACKOFF.pause(failures).seconds)
                    continue
                self._end_expired()
                self._keep_alive()
                await self._sleep(0 if has_read else self._options.poll_seconds)
        except Exception:  # noqa: BLE001 - nobody awaits the task
            _LOG.exception("changes of %s: the feed failed", self._table.name)
        # Clients reconnect, and go on where they were.
        for subscription in self._list_subscriptions():
            subscription.end()

    async def read_round(self) -> bool:
        """Read each shard once, and deliver its records; return whether there were any."""
        has_read = False
        if self.reader.is_stale or self._clock() - self._synced_at >= self._options.sync_seconds:
            await self.reader.sync()
            self._synced_at = self._clock()
        for shard in self.reader.list_ready():
            found = await self.reader.read(shard)
            has_read = has_read or bool(found.records) or found.is_end
            await self._deliver(shard, found)
        return has_read

    async def _deliver(self, shard: OpenShard, found: ReadRecords) -> None:
        self._end_expired()
        if found.is_gap:
            _LOG.warning("changes of %s: the stream dropped some unread", self._table.name)
            for subscription in self._list_subscriptions():
                subscription.put(self.renderer.write_gap(subscription.view))
        work = 0
        for record in found.records:
            if self.renderer.take(shard, record):
                work += 1 + self._send(record.key)
            if work >= _UNINTERRUPTED:
                # Others have something to do, too. The position is that of this record.
                work = 0
                await asyncio.sleep(0)
        if found.is_end:
            self.reader.finish(shard)

    def _send(self, key: Item) -> int:
        """Put the event of the current record into the queues of those who see it.

        Return how many principals may have been able to.
        """
        readers = self._readers.find(key[self._table.key.partition[0]])
        for principal in readers:
            # All subscriptions of a principal see the same.
            listed = self._by_principal[principal]
            block = self.renderer.write(listed[0].view)
            if block is not None:
                for subscription in listed:
                    subscription.put(block)
        return len(readers)

    def _end_expired(self) -> None:
        """End the subscriptions of callers whose tokens have expired."""
        now = self._clock()
        for subscription in self._list_subscriptions():
            if subscription.expires is not None and subscription.expires <= now:
                subscription.end()

    def _keep_alive(self) -> None:
        """Tell those who wait that the connection lives.

        They get the position, too, so that a client without changes does not fall behind.
        """
        if self._clock() - self._told_at >= self._options.keep_alive_seconds:
            self._told_at = self._clock()
            for subscription in self._list_subscriptions():
                if subscription.is_empty:
                    subscription.put(self.renderer.write_position(subscription.view))
