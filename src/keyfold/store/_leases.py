"""The lease table: who reads which shard, how far that got, and what could not be handled.

It is a table of its own, since a follower that wrote to the table it follows would follow itself.
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

# The label of the lease that lets one worker hand out again what was parked.
DEAD_LETTERS = "dead-letters"

# What tells a lease from the follower's others: the stream's label, and the shard.
Place = tuple[str, str]


class Lease(Entity):
    """A shard of a stream, and the right of one worker to read it.

    The right is good as long as `counter` goes up. `checkpoint` is the sequence number of the
    last record that was handled, None before the first; `heir` a worker who asked for the lease.
    """

    follower: str = part()
    # The stream's label, which sorts by the time at which the stream was switched on.
    label: str = part()
    shard: str = part()
    arn: str
    parent: str | None = None
    checkpoint: str | None = None
    is_done: bool = False
    owner: str | None = None
    counter: int = 0
    requested_by: str | None = None
    # Changes before this moment were not asked for.
    since: datetime | None = None

    @property
    def place(self) -> Place:
        """What tells it from the follower's other leases."""
        return self.label, self.shard

    @property
    def parts(self) -> dict[str, str]:
        """The fields of its key."""
        return {"follower": self.follower, "label": self.label, "shard": self.shard}

    @property
    def is_for_dead_letters(self) -> bool:
        """Whether it is for what was parked, and not for a shard."""
        return self.label == DEAD_LETTERS

    def change(self) -> Update[Lease]:
        """Return the request that changes it, if nobody else did since it was read."""
        entity = type(self)
        unchanged = entity.f.counter.eq(self.counter)
        update = entity.update(**self.parts).set(entity.f.counter, self.counter + 1)
        return update.where(unchanged)


class StoredDeadLetter(Entity):
    """A change that a handler could not take, or that came after such a one of the same item."""

    follower: str = part()
    sequence: int = part()
    # A hash of the item's key, of a fixed width.
    item: str = part()
    handler: str = part()
    state: DeadLetterState
    error: str
    key: str
    kind: str
    changed_at: datetime
    parked_at: datetime
    attempts: int
    record: bytes
    # How many further pieces of the record there are.
    pieces: int = 0


class Piece(Entity):
    """More of a parked record than fits into one item."""

    follower: str = part()
    sequence: int = part()
    item: str = part()
    handler: str = part()
    number: int = part()
    record: bytes


class DeadLetterHead(BaseModel, frozen=True):
    """What of a parked change tells whether it is in another's way."""

    follower: str
    sequence: int
    item: str
    handler: str
    state: DeadLetterState

    @property
    def line(self) -> tuple[str, str]:
        """Those that are handed out one after the other: of one handler, of one item."""
        return self.handler, self.item


@dataclass(frozen=True, slots=True)
class LeaseTable:
    """The table, and the entities in it."""

    table: Table
    lease: type[Lease]
    dead_letters: type[StoredDeadLetter]
    piece: type[Piece]


@cache
def lease_table(name: str) -> LeaseTable:
    """Return the lease table of a name."""
    table = Table(name, key=Key("pk", "sk"))

    class OwnLease(Lease, table=table, key=("F#{follower}", "SHARD#{label}#{shard}")):
        pass

    class OwnParked(
        StoredDeadLetter,
        table=table,
        key=("F#{follower}#DEAD", "{sequence:040}#{item}#{handler}"),
    ):
        pass

    class OwnPiece(
        Piece,
        table=table,
        key=("F#{follower}#PIECES", "{sequence:040}#{item}#{handler}#{number:03}"),
    ):
        pass

    return LeaseTable(table, OwnLease, OwnParked, OwnPiece)


class Sighting(NamedTuple):
    """A lease's counter, and when it was first seen to be that."""

    counter: int
    at: datetime


class LeaseView:
    """What one worker knows of everybody's leases, and what it should do about them.

    Whether another worker is alive shows in its counters, by this worker's own clock: the clocks
    of two machines need not agree.
    """

    def __init__(self, worker: str, lease_seconds: float) -> None:
        self._worker, self._lease_seconds = worker, lease_seconds
        self._seen: dict[Place, Sighting] = {}
        self._alive: set[Place] = set()
        self.leases: Sequence[Lease] = ()
        self._now: datetime | None = None

    def look(self, leases: Sequence[Lease], now: datetime) -> None:
        """Take in the leases as they are now."""
        self.leases, self._now = leases, now
        for lease in leases:
            seen = self._seen.get(lease.place)
            if seen is None or seen.counter != lease.counter:
                self._seen[lease.place] = Sighting(lease.counter, now)
                if seen is not None:
                    self._alive.add(lease.place)
            elif self.is_expired(lease):
                self._alive.discard(lease.place)

    def is_expired(self, lease: Lease) -> bool:
        """Tell whether the owner of a lease has let it lapse."""
        assert self._now is not None  # there was a look
        age = self._now - self._seen[lease.place].at
        return age.total_seconds() >= self._lease_seconds

    def is_free(self, lease: Lease, held: Iterable[Place]) -> bool:
        """Tell whether a lease can be taken."""
        if lease.owner == self._worker:
            # A worker of the same name had it, before this one was started.
            return lease.place not in held
        return lease.owner is None or self.is_expired(lease)

    def is_left_to_others(self, lease: Lease) -> bool:
        """Tell whether another worker has a lease, and has shown that it is alive."""
        return lease.owner not in (None, self._worker) and lease.place in self._alive

    def find_ready(self) -> list[Lease]:
        """Return the leases of shards whose turn has come: whose parents are done.

        All shards of a stream come after those of the streams that the table had before.
        """
        undone = {lease.place for lease in self.leases if not lease.is_done}
        first = min((label for label, _ in undone if label != DEAD_LETTERS), default="")
        return [
            lease
            for lease in self.leases
            if not lease.is_done
            and not lease.is_for_dead_letters
            and lease.label == first
            and (lease.label, lease.parent or "") not in undone
        ]

    def choose(self, held: Iterable[Place]) -> tuple[list[Lease], Lease | None]:
        """Return the leases to take, and one to ask its owner for.

        Each worker is to have as many as the others, or one more.
        """
        mine = set(held)
        ready = self.find_ready()
        loads: dict[str, int] = {self._worker: 0}
        for lease in ready:
            if lease.place in mine:
                loads[self._worker] += 1
            elif lease.owner is not None and not self.is_free(lease, mine):
                loads[lease.owner] = loads.get(lease.owner, 0) + 1
        share = ceil(len(ready) / len(loads))
        free = [lease for lease in ready if lease.place not in mine and self.is_free(lease, mine)]
        wanted = max(0, share - loads[self._worker])
        taken = free[:wanted]
        asked = None
        if wanted and not taken:
            busiest = max(loads, key=lambda owner: (loads[owner], owner))
            if loads[busiest] > loads[self._worker] + 1:
                asked = self._find_askable(ready, busiest)
        spare = [
            lease
            for lease in self.leases
            if lease.is_for_dead_letters and lease.place not in mine and self.is_free(lease, mine)
        ]
        return [*taken, *spare], asked

    def _find_askable(self, ready: Sequence[Lease], owner: str) -> Lease | None:
        theirs = [lease for lease in ready if lease.owner == owner]
        if any(lease.requested_by == self._worker for lease in theirs):
            return None
        return next((lease for lease in theirs if lease.requested_by is None), None)
