"""Following a table's stream: the plan of one worker, which shares shards with others of its name.

The plan is a loop: read all leases, take this worker's share, read a batch of each of its shards,
pass the records to the handlers, write a checkpoint. `docs/internals/following.md` says what that
guarantees, and why.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from keyfold.errors import (
    ExpiredIteratorException,
    FieldNotRecorded,
    ItemInvalid,
    LimitExceededException,
    ResourceNotFoundException,
    StreamUnsuitable,
    TrimmedDataAccessException,
    Unavailable,
)
from keyfold.model._changes import Handler
from keyfold.model._requests import Request
from keyfold.store._dead_letters import DeadLetters
from keyfold.store._dispatch import plan
from keyfold.store._follow_options import Followed, FollowOptions
from keyfold.store._lease_keeper import RENEWAL, LeaseCalls, LeaseKeeper, OwnedLease
from keyfold.store._leases import DeadLetterHead
from keyfold.store._plans import HandlerCall, Plan, RunContext, Steps
from keyfold.store._records import ChangeReader, StreamRecord
from keyfold.store._retries import Backoff, Pause
from keyfold.store._settings import StoreSettings
from keyfold.store._streams import check_leases, check_stream, describe_stream, open_shard

_LOG = logging.getLogger("keyfold.store")

# The service may return no records although there are more. After this many empty responses in a
# row, a shard counts as read.
_EMPTY_READS = 3
_HANDLER_BACKOFF = Backoff(0.1, 5.0)


class _Interrupted(Exception):
    """The lease was lost, or `stop` was set: the rest of the batch is left to the next owner."""


class Worker:
    """The plan of one worker of a follower, without any I/O."""

    def __init__(
        self,
        settings: StoreSettings,
        options: FollowOptions,
        calls: LeaseCalls,
        dead_letters: DeadLetters,
    ) -> None:
        self._settings, self._options = settings, options
        self._calls, self._dead_letters = calls, dead_letters
        self._keeper = LeaseKeeper(
            calls,
            options.name,
            options.worker or _make_worker_name(),
            lease_seconds=options.lease_seconds,
            latest=options.start == "latest",
        )
        # Dead letters, in order. No later change of the same item may overtake them.
        self._heads: list[DeadLetterHead] = []
        self._blocked: set[tuple[str, str]] = set()
        self._balanced_at: datetime | None = None
        self._synced_at: datetime | None = None
        self.result = Followed()

    # The main loop.

    def run(self) -> Steps[Followed]:
        """Follow until `stop` is set or, with `until_caught_up`, nothing is left to read."""
        yield from self._set_up()
        keeper = self._keeper
        has_rechecked = False
        while not self._is_stopped():
            yield from keeper.renew()
            if keeper.is_due(self._synced_at, 1.0):
                yield from self._sync()
            if keeper.is_due(self._balanced_at, RENEWAL):
                yield from self._balance()
            did_work = False
            for owned in list(keeper.owned.values()):
                if not self._is_stopped() and keeper.is_ours(owned):
                    did_work |= yield from self._work(owned)
            if did_work:
                has_rechecked = False
                continue
            if self._options.until_caught_up:
                if has_rechecked and self._is_caught_up():
                    break
                # One more pass, with the shards and leases as they are after the last record.
                self._balanced_at = None
                if not has_rechecked:
                    self._synced_at, has_rechecked = None, True
                    continue
            yield Pause(self._options.poll_seconds)
        yield from self.release()
        return self.result

    def release(self) -> Plan[None]:
        """Release all leases, so that other workers need not wait for them to expire."""
        for owned in list(self._keeper.owned.values()):
            yield from self._keeper.release(owned, None)

    def _set_up(self) -> Plan[None]:
        table, setup = self._options.table, self._options.setup
        may_set_up = self._settings.is_embedded if setup is None else setup
        may_change = may_set_up and table.stream is not None
        stream = yield from check_stream(self._calls.call, table, may_change=may_change)
        leases = self._calls.tables.table
        yield from check_leases(self._calls.call, leases, may_make=may_set_up)
        if stream is None or not stream.is_on:
            # Records from before it was disabled can be read for a day.
            found = yield from self._keeper.list_leases()
            if stream is None or all(each.is_done or each.is_for_dead_letters for each in found):
                advice = (
                    "Enable it: setup=True, or `keyfold stream follow --setup`, does so for a "
                    "table that declares a stream."
                )
                raise StreamUnsuitable(table.name, "it is disabled", advice)

    def _sync(self) -> Plan[None]:
        self._synced_at, self._balanced_at = self._calls.now(), None
        stream = yield from describe_stream(self._calls.call, self._options.table)
        yield from self._keeper.sync(stream)

    def _balance(self) -> Plan[None]:
        self._balanced_at = self._calls.now()
        yield from self._keeper.balance()
        # After taking leases: dead letters of the previous owners must be known before any record
        # is passed to a handler.
        self._heads = yield from self._dead_letters.list_heads()
        self._blocked = {head.ordering_key for head in self._heads}

    def _is_stopped(self) -> bool:
        return self._options.stop is not None and self._options.stop.is_set()

    def _is_caught_up(self) -> bool:
        """Return whether everything is read, except what live workers are still reading."""
        view = self._keeper.view
        ready = {lease.lease_id for lease in view.find_ready()}
        for lease in view.leases:
            owned = self._keeper.owned.get(lease.lease_id)
            if owned is not None:
                if not lease.is_for_dead_letters and owned.empty_reads < _EMPTY_READS:
                    return False
            elif (
                lease.is_for_dead_letters or lease.lease_id in ready
            ) and not view.is_left_to_others(lease):
                return False
        return True

    def _work(self, owned: OwnedLease) -> Steps[bool]:
        """Read one batch or retry dead letters; return whether there was anything to do."""
        if owned.lease.requested_by is not None:
            yield from self._keeper.release(owned, owned.lease.requested_by)
            return True
        if not owned.lease.is_for_dead_letters:
            return (yield from self._read(owned))
        try:
            return (yield from self._retry_dead_letters(owned))
        except _Interrupted:
            # Some letters were removed, so the list is read again.
            self._balanced_at = None
            return True

    # Reading shards.

    def _read(self, owned: OwnedLease) -> Steps[bool]:
        """Read a batch of a shard, and pass it to the handlers."""
        if owned.iterator is None and not (yield from self._open(owned)):
            return True
        payload = {"ShardIterator": owned.iterator, "Limit": self._options.batch}
        try:
            response = yield from self._calls.call("GetRecords", payload)
        except ExpiredIteratorException:
            owned.iterator = None
            return True
        except TrimmedDataAccessException:
            self._record_gap(owned)
            owned.iterator = owned.position = None
            return True
        except ResourceNotFoundException:
            yield from self._drop_missing_shard(owned)
            return True
        except (LimitExceededException, Unavailable):
            # The shard has too many readers: try later.
            return False
        table = self._options.table
        records = [StreamRecord.from_dynamodb(each, table) for each in response["Records"]]
        before, owned.iterator = owned.position, response.get("NextShardIterator")
        try:
            for record in records:
                yield from self._deliver(owned, record)
                owned.position = record.sequence
        except _Interrupted:
            owned.iterator = None
            if owned.position != before and self._keeper.is_ours(owned):
                yield from self._keeper.checkpoint(owned)
            return True
        owned.empty_reads = 0 if records else owned.empty_reads + 1
        if owned.iterator is None:
            yield from self._finish(owned)
            return True
        if owned.position != before:
            yield from self._keeper.checkpoint(owned)
        return owned.empty_reads < _EMPTY_READS

    def _open(self, owned: OwnedLease) -> Plan[bool]:
        """Get an iterator for a shard; return whether the shard still exists."""
        opened = yield from open_shard(
            self._calls.call,
            owned.lease.arn,
            owned.lease.shard,
            after=owned.position,
            at_end=owned.at_end,
        )
        if opened is None:
            yield from self._drop_missing_shard(owned)
            return False
        if opened.is_gap:
            self._record_gap(owned)
        owned.iterator, owned.at_end = opened.iterator, False
        return True

    def _finish(self, owned: OwnedLease) -> Plan[None]:
        yield from self._keeper.finish(owned)
        # Its children can be read now.
        self._synced_at = None

    def _drop_missing_shard(self, owned: OwnedLease) -> Plan[None]:
        """Finish a shard that no longer exists."""
        self._record_gap(owned)
        yield from self._finish(owned)

    def _record_gap(self, owned: OwnedLease) -> None:
        _LOG.warning(
            "follower %r of %s: the stream dropped changes in shard %s before they were read",
            self._options.name,
            self._options.table.name,
            owned.lease.shard,
        )
        self.result = replace(self.result, gaps=self.result.gaps + 1)

    # Calling handlers.

    def _deliver(self, owned: OwnedLease, record: StreamRecord) -> Steps[None]:
        """Call the handlers for a record; those that fail get a dead letter."""
        since = owned.lease.since
        if since is not None and record.at < since.replace(microsecond=0):
            return
        yield from self._check_lease(owned)
        for handler in self._reader().find_handlers(record):
            ordering_key = handler.name, record.item_id
            error, attempts = None, 0
            if ordering_key not in self._blocked:
                error, attempts = yield from self._call_handler(owned, handler, record)
                if error is None:
                    continue
            yield from self._dead_letters.add(
                record, handler.name, error, attempts, self._calls.now()
            )
            self._blocked.add(ordering_key)
            self.result = replace(self.result, dead_letters=self.result.dead_letters + 1)
        self.result = replace(self.result, records=self.result.records + 1)

    def _check_lease(self, owned: OwnedLease) -> Plan[None]:
        """Raise _Interrupted if `stop` is set, or if another worker may own the lease."""
        yield from self._keeper.renew()
        if self._is_stopped() or not self._keeper.is_ours(owned):
            raise _Interrupted

    def _retry_dead_letters(self, owned: OwnedLease) -> Steps[bool]:
        """Retry dead letters in order per handler and item, each up to the first that fails.

        Return whether there were any to retry.
        """
        seen = {head for head in self._heads if head.state != "failed"}
        self._heads = []
        if not seen:
            return False
        # A list is not a snapshot: it may include a letter that was added later, and lack one that
        # was added earlier. Every letter that blocks one in `seen` is in a list read afterwards.
        heads = yield from self._dead_letters.list_heads()
        blocked: set[tuple[str, str]] = set()
        did_work = False
        for head in heads:
            if head.ordering_key in blocked:
                continue
            if head not in seen:
                blocked.add(head.ordering_key)
                continue
            found = yield from self._dead_letters.fetch(head)
            if found is None:
                continue
            letter, record = found
            error, attempts = yield from self._retry_dead_letter(owned, letter.handler, record)
            if error is None:
                yield from self._dead_letters.remove(letter)
            else:
                blocked.add(head.ordering_key)
                yield from self._dead_letters.fail_again(letter, error, attempts)
            did_work = True
        # Changes that waited behind these may be unblocked, and there may be new letters.
        self._balanced_at = None
        return did_work

    def _retry_dead_letter(
        self, owned: OwnedLease, name: str, record: StreamRecord
    ) -> Steps[tuple[Exception | None, int]]:
        handler = self._options.table.handlers.get(name)
        if handler is None:
            return LookupError(f"{self._options.table.name} no longer has a handler {name!r}"), 0
        return (yield from self._call_handler(owned, handler, record))

    def _call_handler(
        self, owned: OwnedLease, handler: Handler[Any], record: StreamRecord
    ) -> Steps[tuple[Exception | None, int]]:
        """Call a handler, with retries; return the last error, or None, and the number of attempts.

        Raises _Interrupted if another worker has to continue.
        """
        try:
            change = self._reader().read(record, handler)
        except ItemInvalid as error:
            self._log_failure(handler, error, "was not called", is_last=True)
            return error, 0
        number = 0
        while True:
            yield from self._check_lease(owned)
            number += 1
            try:
                requests: Sequence[Request[Any]] = yield HandlerCall(handler, change)
                for request in requests:
                    yield from plan(self._settings, request)
            except Exception as error:  # noqa: BLE001 - handlers may raise anything
                # A field that is not recorded will not be, a second later.
                is_hopeless = isinstance(error, FieldNotRecorded)
                is_last = is_hopeless or number >= self._options.attempts
                attempt = f"failed on attempt {number} of {self._options.attempts}"
                fact = f"failed: {error}" if is_hopeless else attempt
                self._log_failure(handler, error, fact, is_last=is_last)
                if is_last:
                    return error, number
            else:
                self.result = replace(self.result, handled=self.result.handled + 1)
                return None, number
            yield _HANDLER_BACKOFF.pause(number)

    def _log_failure(
        self, handler: Handler[Any], error: Exception, fact: str, *, is_last: bool
    ) -> None:
        """Log that a handler failed, or could not be called.

        A traceback helps with a bug, not with a field that is not recorded, which the error names.
        """
        _LOG.log(
            logging.ERROR if is_last else logging.WARNING,
            "follower %r of %s: handler %s %s; %s",
            self._options.name,
            self._options.table.name,
            handler.name,
            fact,
            "the change becomes a dead letter" if is_last else "retrying",
            exc_info=None if isinstance(error, FieldNotRecorded) else error,
        )

    def _reader(self) -> ChangeReader:
        return ChangeReader(self._options.table, RunContext(self._calls.now(), self._settings))


def _make_worker_name() -> str:
    return f"{socket.gethostname()[:40]}.{os.getpid()}.{os.urandom(4).hex()}"
