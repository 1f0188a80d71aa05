"""The leases of one worker: taking, renewing and giving them, call by call, without making any."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from keyfold.errors import (
    AlreadyExists,
    ConditionFailed,
    OutcomeUnknown,
    ResourceNotFoundException,
)
from keyfold.model._requests import Query, Request
from keyfold.model._updates import Update
from keyfold.store._dispatch import plan
from keyfold.store._leases import DEAD_LETTERS, Lease, LeaseTable, LeaseView, Place, lease_table
from keyfold.store._plans import Plan, Response, RunContext, ask
from keyfold.store._settings import StoreSettings
from keyfold.store._streams import StreamState, list_shards

V = TypeVar("V")

# How much of a lease's time passes before it is renewed, and before others' are looked at.
RENEWAL = 1 / 3


class LeaseCalls:
    """Calls for a worker's own purposes: of the lease table, and of the stream."""

    def __init__(self, settings: StoreSettings, name: str) -> None:
        self.tables: LeaseTable = lease_table(name)
        # The lease table is no table of the store's, and its cursors are nobody else's.
        self._settings = StoreSettings(
            [self.tables.table],
            cursor_key=os.urandom(32),
            clock=settings.clock,
            on_call=settings.on_call,
            jitter=settings.jitter,
        )

    def now(self) -> datetime:
        """Return the time by the store's clock."""
        return self._settings.clock()

    def run(self, request: Request[V]) -> Plan[V]:
        """Run a request of the lease table."""
        return plan(self._settings, request)

    def collect(self, query: Query[V]) -> Plan[list[V]]:
        """Return all that a query finds, page by page."""
        found: list[V] = []
        while True:
            page = yield from self.run(query)
            found += page
            if page.cursor is None:
                return found
            query = query.after(page.cursor)

    def ask(self, operation: str, request: dict[str, Any]) -> Plan[Response]:
        """Make a call, again if the service refuses for the moment."""
        return ask(RunContext(self.now(), self._settings), operation, request)


@dataclass(slots=True)
class OwnedLease:
    """A lease that the worker has, and how far it is in the shard."""

    lease: Lease
    renewed_at: datetime
    position: str | None = None
    iterator: str | None = None
    # Whether to begin with what comes from now on.
    at_end: bool = False
    empty_reads: int = 0


class LeaseKeeper:
    """What a worker has, and what it knows of the others."""

    def __init__(
        self, calls: LeaseCalls, follower: str, worker: str, *, lease_seconds: float, latest: bool
    ) -> None:
        self._calls, self._follower, self._worker = calls, follower, worker
        self._lease_seconds, self._latest = lease_seconds, latest
        self._entity = calls.tables.lease
        self.view = LeaseView(worker, lease_seconds)
        self.held: dict[Place, OwnedLease] = {}
        # Shards that were there when the follower began, with what comes from then on.
        self._at_end: set[Place] = set()

    def is_due(self, last: datetime | None, share: float) -> bool:
        """Tell whether such a share of a lease's time has passed."""
        if last is None:
            return True
        return self._calls.now() - last >= timedelta(seconds=self._lease_seconds * share)

    def is_ours(self, held: OwnedLease) -> bool:
        """Tell whether a lease is this worker's still, and no other can have taken it."""
        if self.held.get(held.lease.place) is not held:
            return False
        if self.is_due(held.renewed_at, 1.0):
            del self.held[held.lease.place]
            return False
        return True

    def list_leases(self) -> Plan[list[Lease]]:
        """Return the leases of all workers."""
        query = self._entity.query(follower=self._follower).consistent()
        return (yield from self._calls.collect(query))

    # One lease.

    def write(self, held: OwnedLease, update: Update[Lease]) -> Plan[None]:
        """Change a lease, which renews it; drop it if it is another's by now."""
        now = self._calls.now()
        try:
            changed = yield from self._calls.run(update)
        except (ConditionFailed, OutcomeUnknown):
            # If it was this worker after all, it takes the lease anew.
            self.held.pop(held.lease.place, None)
            return
        assert changed is not None  # an update that was made returns what it made
        held.lease, held.renewed_at = changed, now

    def checkpoint(self, held: OwnedLease) -> Plan[None]:
        """Write down how far a shard was read."""
        yield from self.write(held, self._move(held))

    def finish(self, held: OwnedLease) -> Plan[None]:
        """Note that a shard is read to its end, so that its children's turn comes."""
        fields = self._entity.f
        update = self._move(held).set(fields.is_done, value=True).remove(fields.owner)
        yield from self.write(held, update)
        self.held.pop(held.lease.place, None)

    def give(self, held: OwnedLease, requested_by: str | None) -> Plan[None]:
        """Let go of a lease, for another worker or for whoever wants it."""
        fields = self._entity.f
        update = held.lease.change().set(fields.owner, requested_by).remove(fields.requested_by)
        yield from self.write(held, update)
        self.held.pop(held.lease.place, None)

    def _move(self, held: OwnedLease) -> Update[Lease]:
        update = held.lease.change()
        if held.position is None:
            return update
        return update.set(self._entity.f.checkpoint, held.position)

    # All leases.

    def renew(self) -> Plan[None]:
        """Renew the leases that are due; those that others have taken are dropped."""
        for held in list(self.held.values()):
            if self.is_due(held.renewed_at, RENEWAL):
                yield from self.write(held, held.lease.change())

    def balance(self) -> Plan[None]:
        """Look at everybody's leases, and take or ask for those that are this worker's share."""
        now = self._calls.now()
        leases = yield from self.list_leases()
        self.view.look(leases, now)
        owners = {lease.place: lease.owner for lease in leases}
        for place in [*self.held]:
            if owners.get(place) != self._worker:
                del self.held[place]
        taken, asked = self.view.choose(self.held)
        for lease in taken:
            yield from self._take(lease)
        if asked is not None:
            fields = self._entity.f
            request = self._entity.update(**asked.parts).set(fields.requested_by, self._worker)
            still = fields.owner.eq(asked.owner) & fields.requested_by.not_exists()
            with suppress(ConditionFailed, OutcomeUnknown):
                yield from self._calls.run(request.where(still))

    def _take(self, lease: Lease) -> Plan[None]:
        now, fields = self._calls.now(), self._entity.f
        update = lease.change().set(fields.owner, self._worker).remove(fields.requested_by)
        try:
            taken = yield from self._calls.run(update)
        except (ConditionFailed, OutcomeUnknown):
            # Its owner is alive, or another worker was quicker.
            return
        assert taken is not None  # as above
        at_end = taken.place in self._at_end and taken.checkpoint is None
        self.held[taken.place] = OwnedLease(taken, now, position=taken.checkpoint, at_end=at_end)

    def sync(self, stream: StreamState | None) -> Plan[None]:
        """Make leases for shards that have none, and remove those of shards that are gone."""
        leases = yield from self.list_leases()
        follower = next((lease for lease in leases if lease.is_for_dead_letters), None)
        is_first = follower is None
        if follower is None:
            follower = yield from self._begin()
        arns = {lease.label: lease.arn for lease in leases if not lease.is_for_dead_letters}
        if stream is not None:
            arns[stream.label] = stream.arn
        known = {lease.place for lease in leases}
        for label, arn in sorted(arns.items()):
            try:
                shards = yield from list_shards(self._calls.ask, arn)
            except ResourceNotFoundException:
                shards = []
            for shard in shards:
                lease = self._entity(
                    follower=self._follower,
                    label=label,
                    shard=shard.id,
                    arn=arn,
                    parent=shard.parent,
                    since=follower.since,
                )
                if lease.place in known:
                    continue
                if is_first and follower.since is not None:
                    self._at_end.add(lease.place)
                # Another worker may be quicker.
                with suppress(AlreadyExists, OutcomeUnknown):
                    yield from self._calls.run(lease.create())
            there = {shard.id for shard in shards}
            for lease in leases:
                if lease.label == label and lease.is_done and lease.shard not in there:
                    yield from self._calls.run(self._entity.delete(**lease.parts))

    def _begin(self) -> Plan[Lease]:
        """Note that the follower exists, and since when changes are its business."""
        since = self._calls.now() if self._latest else None
        first = self._entity(
            follower=self._follower,
            label=DEAD_LETTERS,
            shard=DEAD_LETTERS,
            arn=DEAD_LETTERS,
            since=since,
        )
        return (yield from self._calls.run(first.create().or_get()))
