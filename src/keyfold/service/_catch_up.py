"""Reads what a client has missed, up to exactly where a feed is."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import AsyncIterator
from typing import NamedTuple

from keyfold.model import Table
from keyfold.service._change_feeds import ChangeFeed, ChangeRenderer, Subscription
from keyfold.service._change_shards import OpenShard, StreamReader
from keyfold.service._change_views import PrincipalView
from keyfold.service._positions import ShardPoint


class Joined(NamedTuple):
    """The subscription to a feed, and the last blocks that come before it."""

    feed: ChangeFeed
    subscription: Subscription
    missed: list[bytes]


class NotJoined(NamedTuple):
    """The feed is elsewhere; these blocks were read meanwhile."""

    missed: list[bytes]
    feed: None = None


class CatchUp:
    """One client's reader of what it has missed; `readers` limits how many read at the same time."""

    def __init__(
        self, table: Table, reader: StreamReader, view: PrincipalView, readers: Semaphore
    ) -> None:
        self.reader, self.view = reader, view
        self.renderer = ChangeRenderer(table, reader)
        self._readers = readers
        # Whether the last call of `read_up_to` has read anything.
        self.has_progressed = False
        self._has_told_gap = False

    async def read_up_to(self, feed: ChangeFeed | None) -> AsyncIterator[bytes]:
        """Read each shard once, where the feed is ahead, and yield the events that the client sees."""
        self.has_progressed = False
        if self.reader.is_stale:
            async with self._readers:
                await self.reader.sync()
        for shard in self.reader.list_ready():
            limit = None if feed is None else self._find_limit(shard, feed.reader)
            if limit is not None and shard.point.number >= limit:
                continue
            async with self._readers:
                found = await self.reader.read(shard)
            if found.is_gap:
                for gap in self.tell_gap():
                    yield gap
            for record in found.records:
                if limit is not None and int(record.sequence) > limit:
                    # The feed will send it. If it does not, this reader comes back to it.
                    break
                self.has_progressed = True
                if self.renderer.take(shard, record):
                    block = self.renderer.write(self.view)
                    if block is not None:
                        yield block
            if found.is_end and (limit is None or found.is_gap):
                self.reader.finish(shard)
                self.has_progressed = True
            elif limit is not None:
                shard.iterator = None

    def tell_gap(self) -> list[bytes]:
        """Return the event of a gap, once.

        What other shards have lost is older than this event, so a client that reads its state
        again has it. And how often there was something to lose is not its business.
        """
        if self._has_told_gap:
            return []
        self._has_told_gap = True
        return [self.renderer.write_gap(self.view)]

    def _find_limit(self, shard: OpenShard, feed: StreamReader) -> int | None:
        """Return the record up to which a feed has read a shard: -1 if none, None if all."""
        if self.reader.label != feed.label:
            return None if self.reader.label < feed.label else -1
        theirs = feed.shards.get(shard.id)
        if theirs is not None:
            return None if theirs.is_done else theirs.point.number
        return -1 if self._is_after(shard, feed) else None

    def _is_after(self, shard: OpenShard, feed: StreamReader) -> bool:
        """Return whether a shard that a feed does not know descends from one that it knows."""
        parent = shard.parent
        while parent is not None:
            if parent in feed.shards:
                return True
            known = self.reader.shards.get(parent)
            parent = None if known is None else known.parent
        return False

    async def join(self, feed: ChangeFeed, expires: float | None) -> Joined | NotJoined:
        """Subscribe to a feed if it is, or comes to be, exactly where this reader is.

        The feed stands still meanwhile; the reader has just read what it had read.
        """
        missed: list[bytes] = []
        async with feed.lock:
            if not feed.is_running:
                return NotJoined(missed)
            if not self._has_met(feed.reader):
                await self.reader.sync()
                await feed.reader.sync()
            self.has_progressed = True
            while self.has_progressed:
                missed += [block async for block in self.read_up_to(feed)]
            if feed.is_running and self._has_met(feed.reader):
                return Joined(feed, feed.subscribe(self.view, expires), missed)
        return NotJoined(missed)

    def _has_met(self, feed: StreamReader) -> bool:
        """Return whether a feed is exactly where this reader is.

        Where neither has read anything of a shard, the feed begins with the earlier of both times.
        """
        mine = {each.id: each for each in self.reader.list_frontier()}
        theirs = {each.id: each for each in feed.list_frontier()}
        if (
            self.reader.label != feed.label
            or mine.keys() != theirs.keys()
            or any(each.point.number != theirs[name].point.number for name, each in mine.items())
        ):
            return False
        for name, each in mine.items():
            if each.point.after is None:
                times = each.point.since, theirs[name].point.since
                since = None if None in times else min(time for time in times if time is not None)
                theirs[name].point = ShardPoint(since=since)
        return True
