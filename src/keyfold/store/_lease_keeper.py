"""The leases of one worker: plans to take, renew, checkpoint and release them."""

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
from keyfold.model._paged_reads import Query
from keyfold.model._requests import Request
from keyfold.model._updates import Update
from keyfold.store._dispatch import plan
from keyfold.store._leases import DEAD_LETTERS, Lease, LeaseId, LeaseTable, LeaseView, lease_table
from keyfold.store._plans import Plan, Response, repeat_call
from keyfold.store._settings import StoreSettings
from keyfold.store._streams import StreamState, list_shards

V = TypeVar("V")

# The share of a lease's time after which it is renewed, and all leases are read again.
RENEWAL = 1 / 3


class LeaseCalls:
    """Calls that a worker makes for itself: to the lease table and to the stream."""

    def __init__(self, settings: StoreSettings, name: str) -> None:
        self.tables: LeaseTable = lease_table(name)
        # The lease table is not one of the store's tables, and its cursors stay in this process.
        self._settings = StoreSettings(
            [self.tables.table],
            cursor_key=os.urandom(32),
            clock=settings.clock,
            on_call=settings.on_call,
            jitter=settings.jitter,
        )

    def now(self) -> datetime:
        """Return the time by the store's clock."""
        return self._settings.now()

    def run(self, request: Request[V]) -> Plan[V]:
        """Run a request on the lease table."""
        return plan(self._settings, request)

    def collect(self, query: Query[V]) -> Plan[list[V]]:
        """Return all results of a query, reading page after page."""
        found: list[V] = []
        while True:
            page = yield from self.run(query)
            found += page
            if page.cursor is None:
                return found
            query = query.after(page.cursor)

    def call(self, operation: str, request: dict[str, Any]) -> Plan[Response]:
        """Make a call, and retry it after transient errors; raises Unavailable."""
        return repeat_call(self._settings.jitter, operation, request)


@dataclass(slots=True)
class OwnedLease:
    """A lease that this worker owns, and its position in the shard."""

    lease: Lease
    renewed_at: datetime
    position: str | None = None
    iterator: str | None = None
    # Whether to start at the end of the shard.
    at_end: bool = False
    empty_reads: int = 0


class LeaseKeeper:
    """The leases that a worker owns, and its view of all leases."""

    def __init__(
        self, calls: LeaseCalls, follower: str, worker: str, *, lease_seconds: float, latest: bool
    ) -> None:
        self._calls, self._follower, self._worker = calls, follower, worker
        self._lease_seconds, self._latest = lease_seconds, latest
        self._entity = calls.tables.lease
        self.view = LeaseView(worker, lease_seconds)
        self.owned: dict[LeaseId, OwnedLease] = {}
        # Shards that existed when a follower with start="latest" began: read from their end.
        self._at_end: set[LeaseId] = set()

    def is_due(self, last: datetime | None, share: float) -> bool:
        """Return whether this share of a lease's time has passed since `last`."""
        if last is None:
            return True
        return self._calls.now() - last >= timedelta(seconds=self._lease_seconds * share)

    def is_ours(self, owned: OwnedLease) -> bool:
        """Return whether this worker still owns a lease, so that no other can have taken it."""
        if self.owned.get(owned.lease.lease_id) is not owned:
            return False
        if self.is_due(owned.renewed_at, 1.0):
            del self.owned[owned.lease.lease_id]
            return False
        return True

    def list_leases(self) -> Plan[list[Lease]]:
        """Return the leases of all workers of the follower."""
        query = self._entity.query(follower=self._follower).consistent()
        return (yield from self._calls.collect(query))

    # One lease.

    def write(self, owned: OwnedLease, update: Update[Lease]) -> Plan[None]:
        """Change a lease, which renews it; drop it if another worker owns it by now."""
        now = self._calls.now()
        try:
            changed = yield from self._calls.run(update)
        except (ConditionFailed, OutcomeUnknown):
            # If the write did succeed, this worker takes the lease again in the next round.
            self.owned.pop(owned.lease.lease_id, None)
            return
        assert changed is not None  # a successful update returns the lease
        owned.lease, owned.renewed_at = changed, now

    def checkpoint(self, owned: OwnedLease) -> Plan[None]:
        """Store the position in a shard."""
        yield from self.write(owned, self._move(owned))

    def finish(self, owned: OwnedLease) -> Plan[None]:
        """Mark a shard as read to its end, so that its children can be read."""
        fields = self._entity.f
        update = self._move(owned).set(fields.is_done, value=True).remove(fields.owner)
        yield from self.write(owned, update)
        self.owned.pop(owned.lease.lease_id, None)

    def release(self, owned: OwnedLease, requested_by: str | None) -> Plan[None]:
        """Release a lease, to the worker that requested it or, for None, to any."""
        fields = self._entity.f
        update = owned.lease.renew().set(fields.owner, requested_by).remove(fields.requested_by)
        yield from self.write(owned, update)
        self.owned.pop(owned.lease.lease_id, None)

    def _move(self, owned: OwnedLease) -> Update[Lease]:
        update = owned.lease.renew()
        if owned.position is None:
            return update
        return update.set(self._entity.f.checkpoint, owned.position)

    # All leases.

    def renew(self) -> Plan[None]:
        """Renew the leases that are due; drop those that other workers have taken."""
        for owned in list(self.owned.values()):
            if self.is_due(owned.renewed_at, RENEWAL):
                yield from self.write(owned, owned.lease.renew())

    def balance(self) -> Plan[None]:
        """Read all leases, and take or request those of this worker's share."""
        now = self._calls.now()
        leases = yield from self.list_leases()
        self.view.update(leases, now)
        owners = {lease.lease_id: lease.owner for lease in leases}
        for lease_id in [*self.owned]:
            if owners.get(lease_id) != self._worker:
                del self.owned[lease_id]
        taken, requested = self.view.choose(self.owned)
        for lease in taken:
            yield from self._take(lease)
        if requested is not None:
            fields = self._entity.f
            request = requested.update().set(fields.requested_by, self._worker)
            still = fields.owner.eq(requested.owner) & fields.requested_by.not_exists()
            with suppress(ConditionFailed, OutcomeUnknown):
                yield from self._calls.run(request.where(still))

    def _take(self, lease: Lease) -> Plan[None]:
        now, fields = self._calls.now(), self._entity.f
        update = lease.renew().set(fields.owner, self._worker).remove(fields.requested_by)
        try:
            taken = yield from self._calls.run(update)
        except (ConditionFailed, OutcomeUnknown):
            # Its owner is alive, or another worker took it first.
            return
        assert taken is not None  # a successful update returns the lease
        at_end = taken.lease_id in self._at_end and taken.checkpoint is None
        self.owned[taken.lease_id] = OwnedLease(
            taken, now, position=taken.checkpoint, at_end=at_end
        )

    def sync(self, stream: StreamState | None) -> Plan[None]:
        """Create leases for new shards, and delete those of shards that no longer exist."""
        leases = yield from self.list_leases()
        follower = next((lease for lease in leases if lease.is_for_dead_letters), None)
        is_first = follower is None
        if follower is None:
            follower = yield from self._begin()
        arns = {lease.label: lease.arn for lease in leases if not lease.is_for_dead_letters}
        if stream is not None:
            arns[stream.label] = stream.arn
        known = {lease.lease_id for lease in leases}
        for label, arn in sorted(arns.items()):
            try:
                shards = yield from list_shards(self._calls.call, arn)
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
                if lease.lease_id in known:
                    continue
                if is_first and follower.since is not None:
                    self._at_end.add(lease.lease_id)
                # Another worker may have created it first.
                with suppress(AlreadyExists, OutcomeUnknown):
                    yield from self._calls.run(lease.create())
            existing = {shard.id for shard in shards}
            for lease in leases:
                if lease.label == label and lease.is_done and lease.shard not in existing:
                    yield from self._calls.run(lease.delete())

    def _begin(self) -> Plan[Lease]:
        """Create the lease for dead letters, which marks the start of the follower."""
        since = self._calls.now() if self._latest else None
        first = self._entity(
            follower=self._follower,
            label=DEAD_LETTERS,
            shard=DEAD_LETTERS,
            arn=DEAD_LETTERS,
            since=since,
        )
        return (yield from self._calls.run(first.create().or_get()))
