"""Reads the stream of a table as it grows, from its latest or its oldest change.

It takes no leases and writes nothing, so it does not disturb the followers of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor
from typing import Any, Literal, NamedTuple, TypeVar

from keyfold.errors import (
    ExpiredIteratorException,
    LimitExceededException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    Unavailable,
)
from keyfold.model import Table
from keyfold.model._calls import ApiCall
from keyfold.store import Executor
from keyfold.store._drivers import drive
from keyfold.store._plans import Plan, Response
from keyfold.store._records import StreamRecord
from keyfold.store._streams import (
    StreamState,
    describe_stream,
    list_shards,
    open_shard,
)

V = TypeVar("V")
TailStart = Literal["latest", "oldest"]

# The limit of a page of records.
_PAGE = 200
# New shards are looked for after this many reads that found nothing.
_QUIET_READS = 20


@dataclass(slots=True)
class TailShard:
    """A shard that is read: after which record, and by which iterator."""

    id: str
    parent: str | None
    after: str | None = None
    iterator: str | None = None
    at_end: bool = False
    is_done: bool = False


class TailedRecord(NamedTuple):
    """A record of a shard."""

    shard: str
    record: StreamRecord


class TailRound(NamedTuple):
    """The records of one round of reads; `is_gap` if some were dropped before they were read."""

    records: list[TailedRecord]
    is_gap: bool = False


class StreamTail:
    """Reads the stream `arn` of a table, shard by shard, parents before children.

    `positions` are the last records that were seen, by shard: reading goes on after them. Records from
    before `since`, in seconds since 1970, are passed over.
    """

    def __init__(
        self,
        executor: Executor,
        table: Table,
        arn: str,
        *,
        start: TailStart = "latest",
        positions: Mapping[str, str] | None = None,
        since: float = 0,
    ) -> None:
        self._executor, self._table, self._arn = executor, table, arn
        # Records have whole seconds.
        self._since = floor(since)
        self._shards: dict[str, TailShard] = {}
        self._quiet = 0
        # Whether a shard has ended, so that it may have children now.
        self._is_stale = False
        listed = self._run(list_shards(_call, arn))
        parents = {each.parent for each in listed}
        for each in listed:
            shard = TailShard(each.id, each.parent)
            if positions:
                shard.after = positions.get(each.id)
                # Its children were read already, or it ended before the tail began.
                shard.is_done = shard.after is None and each.id in parents
            elif start == "latest":
                shard.at_end = True
                shard.is_done = each.id in parents
            self._shards[each.id] = shard
        # What is written from now on is read, whenever the first round is.
        for shard in self._shards.values():
            if shard.at_end and not shard.is_done:
                self._open(shard)

    def read(self) -> TailRound:
        """Return the records that are new, in the order of each shard."""
        found: list[TailedRecord] = []
        is_gap = False
        for shard in list(self._shards.values()):
            parent = self._shards.get(shard.parent or "")
            if shard.is_done or (parent is not None and not parent.is_done):
                continue
            records, lost = self._read_shard(shard)
            is_gap = is_gap or lost
            found += (TailedRecord(shard.id, each) for each in records)
        self._quiet = 0 if found else self._quiet + 1
        if self._quiet >= _QUIET_READS or self._is_stale:
            self._find_new_shards()
        return TailRound(found, is_gap)

    def _read_shard(self, shard: TailShard) -> tuple[list[StreamRecord], bool]:
        lost = False
        try:
            if shard.iterator is None:
                lost = self._open(shard)
                if shard.is_done:
                    return [], lost
            request = {"ShardIterator": shard.iterator, "Limit": _PAGE}
            response = self._executor.execute("GetRecords", request)
        except ExpiredIteratorException:
            # What the end was is known by the iterator alone, or else by the time.
            shard.iterator, shard.at_end = None, False
            return [], lost
        except TrimmedDataAccessException:
            shard.iterator, shard.after, shard.at_end = None, None, False
            return [], True
        except ResourceNotFoundException:
            shard.is_done = True
            return [], True
        except (LimitExceededException, Unavailable):
            # Too many readers: the next round tries again.
            return [], lost
        records = [StreamRecord.from_dynamodb(each, self._table) for each in response["Records"]]
        if records:
            shard.after = records[-1].sequence
        shard.iterator = response.get("NextShardIterator")
        if shard.iterator is None:
            shard.is_done = self._is_stale = True
        return [each for each in records if each.at.timestamp() >= self._since], lost

    def _open(self, shard: TailShard) -> bool:
        """Get an iterator of a shard; return whether records before it were lost."""
        plan = open_shard(_call, self._arn, shard.id, after=shard.after, at_end=shard.at_end)
        opened = self._run(plan)
        if opened is None:
            shard.is_done = True
            return True
        shard.iterator = opened.iterator
        return opened.is_gap

    def _find_new_shards(self) -> None:
        self._quiet, self._is_stale = 0, False
        for each in self._run(list_shards(_call, self._arn)):
            if each.id not in self._shards:
                self._shards[each.id] = TailShard(each.id, each.parent)

    def _run(self, plan: Plan[V]) -> V:
        return run_plan(self._executor, plan)


def find_stream(executor: Executor, table: Table) -> StreamState | None:
    """Return the newest stream of a table; None if it never had one."""
    return run_plan(executor, describe_stream(_call, table))


def run_plan(
    executor: Executor, plan: Plan[V], sleep: Callable[[float], object] = lambda _: None
) -> V:
    """Run a plan on a database."""
    return drive(plan, executor.execute, sleep)


def _call(operation: str, payload: dict[str, Any]) -> Plan[Response]:
    return (yield ApiCall(operation, payload))
