"""The lease table: which worker reads which shard, its checkpoints, and dead letters.

It is a separate table: a follower that wrote to the followed table would follow its own writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from math import ceil
from typing import NamedTuple

from pydantic import BaseModel

from keyfold.model._entities import Entity
from keyfold.model._fields import part
from keyfold.model._keys import Key
from keyfold.model._tables import Table
from keyfold.model._updates import Update
from keyfold.store._follow_options import DeadLetterState

# The label of the lease whose owner retries dead letters.
DEAD_LETTERS = "dead-letters"

# Identifies a lease of a follower: the stream's label, and the shard.
LeaseId = tuple[str, str]


class Lease(Entity):
    """The right of one worker to read a shard of a stream.

    It is valid as long as `counter` goes up. `checkpoint` is the sequence number of the last record
    that was handled, None before the first. `requested_by` is a worker that wants the lease.
    """

    follower: str = part()
    # The stream's label, which sorts by the time at which the stream was enabled.
    label: str = part()
    shard: str = part()
    arn: str
    parent: str | None = None
    checkpoint: str | None = None
    is_done: bool = False
    owner: str | None = None
    counter: int = 0
    requested_by: str | None = None
    # Changes before this time are ignored.
    since: datetime | None = None

    @property
    def lease_id(self) -> LeaseId:
        """Identifies it among the leases of the follower."""
        return self.label, self.shard

    @property
    def is_for_dead_letters(self) -> bool:
        """Whether it is the lease for dead letters, and not for a shard."""
        return self.label == DEAD_LETTERS

    def renew(self) -> Update[Lease]:
        """Return an update that increments the counter if no other worker has changed the lease."""
        counter = type(self).f.counter
        return self.update().set(counter, self.counter + 1).where(counter.eq(self.counter))


class StoredDeadLetter(Entity):
    """A change that a handler failed on, or that waits behind one of the same item."""

    follower: str = part()
    sequence: int = part()
    # A hash of the item's key, of fixed width.
    item: str = part()
    handler: str = part()
    state: DeadLetterState
    error: str
    key: str
    kind: str
    changed_at: datetime
    added_at: datetime
    attempts: int
    record: bytes
    # The number of further pieces of the record.
    pieces: int = 0


class RecordPiece(Entity):
    """A further piece of a record that is too large for one item."""

    follower: str = part()
    sequence: int = part()
    item: str = part()
    handler: str = part()
    number: int = part()
    record: bytes


class DeadLetterHead(BaseModel, frozen=True):
    """A dead letter without its record: enough to tell which changes it blocks."""

    follower: str
    sequence: int
    item: str
    handler: str
    state: DeadLetterState

    @property
    def ordering_key(self) -> tuple[str, str]:
        """The handler and the item; letters with the same ones are handled in order."""
        return self.handler, self.item


@dataclass(frozen=True, slots=True)
class LeaseTable:
    """A lease table and its entities."""

    table: Table
    lease: type[Lease]
    dead_letter: type[StoredDeadLetter]
    piece: type[RecordPiece]


@cache
def lease_table(name: str) -> LeaseTable:
    """Return the lease table with this name."""
    table = Table(name, key=Key("pk", "sk"))

    class OwnLease(Lease, table=table, key=("F#{follower}", "SHARD#{label}#{shard}")):
        pass

    class OwnDeadLetter(
        StoredDeadLetter,
        table=table,
        key=("F#{follower}#DEAD", "{sequence:040}#{item}#{handler}"),
    ):
        pass

    class OwnRecordPiece(
        RecordPiece,
        table=table,
        key=("F#{follower}#PIECES", "{sequence:040}#{item}#{handler}#{number:03}"),
    ):
        pass

    return LeaseTable(table, OwnLease, OwnDeadLetter, OwnRecordPiece)


class Sighting(NamedTuple):
    """A lease's counter, and when it was first seen with that value."""

    counter: int
    at: datetime


class LeaseView:
    """All leases of a follower as seen by one worker, and which of them it should take.

    Another worker is alive if its counters change, by this worker's own clock: the clocks of two
    machines need not agree.
    """

    def __init__(self, worker: str, lease_seconds: float) -> None:
        self._worker, self._lease_seconds = worker, lease_seconds
        self._seen: dict[LeaseId, Sighting] = {}
        self._alive: set[LeaseId] = set()
        self.leases: Sequence[Lease] = ()
        self._now: datetime | None = None

    def update(self, leases: Sequence[Lease], now: datetime) -> None:
        """Record the leases as they are now."""
        self.leases, self._now = leases, now
        for lease in leases:
            seen = self._seen.get(lease.lease_id)
            if seen is None or seen.counter != lease.counter:
                self._seen[lease.lease_id] = Sighting(lease.counter, now)
                if seen is not None:
                    self._alive.add(lease.lease_id)
            elif self.is_expired(lease):
                self._alive.discard(lease.lease_id)

    def is_expired(self, lease: Lease) -> bool:
        """Return whether the owner of a lease has failed to renew it in time."""
        assert self._now is not None  # `update` was called before
        age = self._now - self._seen[lease.lease_id].at
        return age.total_seconds() >= self._lease_seconds

    def is_free(self, lease: Lease, owned: Iterable[LeaseId]) -> bool:
        """Return whether a lease can be taken."""
        if lease.owner == self._worker:
            # A former process of this worker owned it.
            return lease.lease_id not in owned
        return lease.owner is None or self.is_expired(lease)

    def is_left_to_others(self, lease: Lease) -> bool:
        """Return whether a lease is owned by another worker that is alive."""
        return lease.owner not in (None, self._worker) and lease.lease_id in self._alive

    def find_ready(self) -> list[Lease]:
        """Return the leases of shards that can be read: those whose parents are done.

        The shards of a stream come after all shards of the table's earlier streams.
        """
        undone = {lease.lease_id for lease in self.leases if not lease.is_done}
        first = min((label for label, _ in undone if label != DEAD_LETTERS), default="")
        return [
            lease
            for lease in self.leases
            if not lease.is_done
            and not lease.is_for_dead_letters
            and lease.label == first
            and (lease.label, lease.parent or "") not in undone
        ]

    def choose(self, owned: Iterable[LeaseId]) -> tuple[list[Lease], Lease | None]:
        """Return the leases to take, and one to request from its owner.

        The target is an even share, in which no worker has more than one lease above another.
        """
        mine = set(owned)
        ready = self.find_ready()
        loads: dict[str, int] = {self._worker: 0}
        for lease in ready:
            if lease.lease_id in mine:
                loads[self._worker] += 1
            elif lease.owner is not None and not self.is_free(lease, mine):
                loads[lease.owner] = loads.get(lease.owner, 0) + 1
        share = ceil(len(ready) / len(loads))
        free = [
            lease for lease in ready if lease.lease_id not in mine and self.is_free(lease, mine)
        ]
        wanted = max(0, share - loads[self._worker])
        taken = free[:wanted]
        requested = None
        if wanted and not taken:
            busiest = max(loads, key=lambda owner: (loads[owner], owner))
            if loads[busiest] > loads[self._worker] + 1:
                requested = self._find_requestable(ready, busiest)
        spare = [
            lease
            for lease in self.leases
            if lease.is_for_dead_letters
            and lease.lease_id not in mine
            and self.is_free(lease, mine)
        ]
        return [*taken, *spare], requested

    def _find_requestable(self, ready: Sequence[Lease], owner: str) -> Lease | None:
        theirs = [lease for lease in ready if lease.owner == owner]
        if any(lease.requested_by == self._worker for lease in theirs):
            return None
        return next((lease for lease in theirs if lease.requested_by is None), None)
