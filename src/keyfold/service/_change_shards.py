"""Reads the shards of a table's stream, parents before children, from any position on.

It takes no leases and writes nothing: many may read one stream, and each knows its own position.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from keyfold.clocks import Clock
from keyfold.errors import (
    ExpiredIteratorException,
    LimitExceededException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    Unavailable,
)
from keyfold.model import Table
from keyfold.model._calls import ApiCall
from keyfold.service._positions import ShardPoint, WatchPosition, make_tag
from keyfold.store import AsyncStore
from keyfold.store._drivers import drive_async
from keyfold.store._plans import Plan, Response
from keyfold.store._records import StreamRecord
from keyfold.store._streams import (
    ShardPosition,
    StreamShard,
    StreamState,
    describe_stream,
    list_shards,
    open_shard,
)

V = TypeVar("V")

_MAX_RECORDS = 1_000
_KEPT_SECONDS = 1.0
# By how much the database's clock may differ from ours. It matters only where a position is a time.
_CLOCK_SKEW_SECONDS = 5


class ListedStream(NamedTuple):
    """A stream that a table has or had; labels sort by time."""

    label: str
    arn: str


class StreamCalls:
    """The calls that read a table's stream, by a store that may make them.

    Descriptions are kept for a second: DynamoDB allows ten calls of DescribeStream in that time,
    and after a restart all clients come at once.
    """

    def __init__(self, store: AsyncStore, table: Table, clock: Clock) -> None:
        self._store, self.table, self._clock = store, table, clock
        self._kept: dict[str, tuple[float, Any]] = {}
        self._lock = asyncio.Lock()

    async def describe(self) -> StreamState | None:
        """Return the table's newest stream; None if it never had one."""
        return await self._keep("", lambda: self._run(describe_stream(_call, self.table)))

    async def list_streams(self, *, is_fresh: bool = False) -> list[ListedStream]:
        """Return the streams that can be read, the oldest first."""
        if is_fresh:
            self._kept.pop("streams", None)
        return await self._keep("streams", self._list_streams)

    async def list_shards(self, arn: str, *, is_fresh: bool = False) -> list[StreamShard]:
        """Return the shards of a stream, parents before children; none if it no longer exists."""
        if is_fresh:
            self._kept.pop(arn, None)
        return await self._keep(arn, lambda: self._list_shards(arn))

    async def _keep(self, name: str, call: Callable[[], Awaitable[V]]) -> V:
        async with self._lock:
            kept = self._kept.get(name)
            if kept is None or not 0 <= self._clock() - kept[0] < _KEPT_SECONDS:
                kept = self._kept[name] = (self._clock(), await call())
            return kept[1]

    async def _list_streams(self) -> list[ListedStream]:
        found: list[ListedStream] = []
        request: dict[str, Any] = {"TableName": self.table.name}
        while True:
            response = await self._store.execute("ListStreams", request)
            found += (
                ListedStream(each["StreamLabel"], each["StreamArn"]) for each in response["Streams"]
            )
            last = response.get("LastEvaluatedStreamArn")
            if last is None:
                return sorted(found)
            request = {"TableName": self.table.name, "ExclusiveStartStreamArn": last}

    async def _list_shards(self, arn: str) -> list[StreamShard]:
        try:
            return await self._run(list_shards(_call, arn))
        except ResourceNotFoundException:
            return []

    async def open_shard(
        self, arn: str, shard: str, after: str | None, *, at_end: bool
    ) -> ShardPosition | None:
        """Return an iterator of a shard; None if the shard no longer exists."""
        return await self._run(open_shard(_call, arn, shard, after=after, at_end=at_end))

    async def get_records(self, iterator: str) -> Response:
        """Return the next records of a shard."""
        payload = {"ShardIterator": iterator, "Limit": _MAX_RECORDS}
        return await self._store.execute("GetRecords", payload)

    async def _run(self, plan: Plan[V]) -> V:
        # The store retries; these plans never pause.
        return await drive_async(plan, self._store.execute, _never)


def _call(operation: str, payload: dict[str, Any]) -> Plan[Response]:
    return (yield ApiCall(operation, payload))


async def _never(seconds: float) -> None:
    raise AssertionError(f"a plan that does not retry pauses for {seconds} s")


@dataclass(slots=True)
class OpenShard:
    """A shard that is read, or was: how far, and by which iterator."""

    id: str
    parent: str | None
    point: ShardPoint
    iterator: str | None = None
    # Whether reading begins with the newest record, whose number is not known yet.
    at_end: bool = False
    is_done: bool = False

    @property
    def is_known(self) -> bool:
        """Whether its place can be compared with another reader's."""
        return self.is_done or not self.at_end or self.point.after is not None


class ReadRecords(NamedTuple):
    """Records of a shard.

    `is_gap` if some before them were dropped unread, `is_end` if the shard has no more.
    """

    records: tuple[StreamRecord, ...] = ()
    is_gap: bool = False
    is_end: bool = False


class StreamReader:
    """Reads a table's streams, one after the other, each shard after its parent."""

    def __init__(self, calls: StreamCalls, clock: Clock) -> None:
        self._calls, self._clock = calls, clock
        self.label = self.arn = ""
        self.shards: dict[str, OpenShard] = {}
        # Whether a shard has ended, so that it may have children now.
        self.is_stale = False

    # Where to begin.

    async def start_latest(self, stream: StreamState) -> None:
        """Begin with the changes that are made from now on."""
        self.label, self.arn = stream.label, stream.arn
        since = ShardPoint(since=int(self._clock()) - _CLOCK_SKEW_SECONDS)
        listed = await self._calls.list_shards(self.arn)
        parents = {each.parent for each in listed}
        for each in listed:
            if each.id not in parents:
                self.shards[each.id] = OpenShard(each.id, each.parent, since, at_end=True)
        # The iterators say what "now" is.
        for shard in self.shards.values():
            await self._open(shard)

    async def start_at(self, position: WatchPosition) -> bool:
        """Begin after a position; return whether changes after it are no longer there."""
        # Another process may know streams and shards that are newer than what was kept.
        for is_fresh in (False, True):
            streams = await self._calls.list_streams(is_fresh=is_fresh)
            for stream in streams:
                if make_tag(stream.label) == position.stream:
                    self.label, self.arn = stream
                    shards = await self._calls.list_shards(self.arn, is_fresh=is_fresh)
                    if self._place(shards, position):
                        return False
        if not self.label:
            # That stream was disabled, and is gone. Those after it have the oldest there is.
            await self._start_stream(await self._calls.list_streams())
        return True

    def _place(self, listed: list[StreamShard], position: WatchPosition) -> bool:
        """Set each shard to its point; return whether all shards of the position exist."""
        by_id = {each.id: each for each in listed}
        points = {
            each.id: point
            for each in listed
            if (point := position.shards.get(make_tag(each.id))) is not None
        }
        done = {parent for shard in points for parent in _ancestors(by_id, by_id[shard].parent)}
        self.shards = {}
        for each in listed:
            point = points.get(each.id, ShardPoint())
            is_done = each.id in done and each.id not in points
            self.shards[each.id] = OpenShard(each.id, each.parent, point, is_done=is_done)
        return len(points) == len(position.shards)

    async def _start_stream(self, streams: list[ListedStream]) -> None:
        """Begin with the first of some streams, if there is one, at its oldest change."""
        if streams:
            listed = await self._calls.list_shards(streams[0].arn)
            (self.label, self.arn), self.shards = streams[0], {}
            self._add(listed)

    # Reading.

    def list_ready(self) -> list[OpenShard]:
        """Return the shards that can be read: their parents were read to the end."""
        return [
            shard
            for shard in self.shards.values()
            if not shard.is_done
            and (shard.parent not in self.shards or self.shards[shard.parent].is_done)
        ]

    async def read(self, shard: OpenShard) -> ReadRecords:
        """Return the next records of a shard; `advance` and `finish` say which were handled."""
        is_gap = False
        try:
            if shard.iterator is None:
                opened = await self._open(shard)
                if opened is None:
                    return ReadRecords(is_gap=True, is_end=True)
                is_gap = opened.is_gap
            assert shard.iterator is not None  # it was opened
            response = await self._calls.get_records(shard.iterator)
        except ExpiredIteratorException:
            # What "now" was is known by the iterator alone, or else by the time.
            shard.iterator, shard.at_end = None, False
            return ReadRecords(is_gap=is_gap)
        except TrimmedDataAccessException:
            shard.iterator, shard.point = None, ShardPoint()
            return ReadRecords(is_gap=True)
        except ResourceNotFoundException:
            return ReadRecords(is_gap=True, is_end=True)
        except (LimitExceededException, Unavailable):
            # Too many readers: try again later.
            return ReadRecords(is_gap=is_gap)
        shard.iterator = response.get("NextShardIterator")
        table = self._calls.table
        records = (StreamRecord.from_dynamodb(each, table) for each in response["Records"])
        return ReadRecords(tuple(records), is_gap, is_end=shard.iterator is None)

    def advance(self, shard: OpenShard, record: StreamRecord) -> bool:
        """Take a record as handled; return whether it is one of those to be read.

        It is not if it is older than the time that the position says.
        """
        since = shard.point.since
        if since is not None and math.floor(record.at.timestamp()) < since:
            # The rest may be as old.
            shard.point = ShardPoint(record.sequence, since)
            return False
        shard.point = ShardPoint(record.sequence)
        return True

    def finish(self, shard: OpenShard) -> None:
        """Take all records of a shard as handled: its children can be read."""
        shard.is_done = self.is_stale = True

    async def sync(self) -> None:
        """Find new shards; go on with the table's next stream if there are none in this one."""
        self.is_stale = False
        self._add(await self._calls.list_shards(self.arn))
        if all(shard.is_done for shard in self.shards.values()):
            later = [each for each in await self._calls.list_streams() if each.label > self.label]
            await self._start_stream(later)

    def _add(self, listed: list[StreamShard]) -> None:
        """Add the shards that are new, and forget those that are gone."""
        by_id = {each.id: each for each in listed}
        older = {
            parent for each in self.shards.values() for parent in _ancestors(by_id, each.parent)
        }
        for each in listed:
            if each.id not in self.shards and each.id not in older:
                self.shards[each.id] = OpenShard(each.id, each.parent, ShardPoint())
        for shard in list(self.shards.values()):
            if shard.is_done and shard.id not in by_id:
                del self.shards[shard.id]

    async def _open(self, shard: OpenShard) -> ShardPosition | None:
        at_end = shard.at_end and shard.point.after is None
        opened = await self._calls.open_shard(self.arn, shard.id, shard.point.after, at_end=at_end)
        if opened is not None:
            shard.iterator = opened.iterator
            if opened.is_gap:
                shard.point = ShardPoint()
        return opened

    # Positions.

    @property
    def is_known(self) -> bool:
        """Whether its position can be compared with another reader's."""
        return all(shard.is_known for shard in self.shards.values())

    def find_position(self) -> WatchPosition:
        """Return how far the stream was read."""
        shards = {make_tag(each.id): each.point for each in self.list_frontier()}
        return WatchPosition(int(self._clock()), make_tag(self.label), shards)

    def list_frontier(self) -> list[OpenShard]:
        """Return the shards that a position names: all others follow from them."""
        parents = {shard.parent for shard in self.shards.values()}
        return [
            shard for shard in self.shards.values() if not (shard.is_done and shard.id in parents)
        ]


def _ancestors(shards: dict[str, StreamShard], parent: str | None) -> list[str]:
    found: list[str] = []
    while parent is not None:
        found.append(parent)
        parent = shards[parent].parent if parent in shards else None
    return found
