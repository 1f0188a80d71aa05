"""Following a table's stream: one worker, which shares the shards with others of its name.

The plan of a worker goes round: look whose shards there are, take some, read a batch of each, hand
its records to the handlers, write down how far that got. `docs/internals/following.md` says what
that promises, and why.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from keyfold.errors import (
    ExpiredIteratorException,
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
from keyfold.store._plans import Handling, Pause, Plan, RunContext, Steps
from keyfold.store._records import ChangeReader, StreamRecord
from keyfold.store._settings import StoreSettings
from keyfold.store._streams import check_leases, check_stream, describe_stream, open_shard

_LOG = logging.getLogger("keyfold.store")

# A service may answer with nothing while there is more; so often, and there is no more.
_EMPTY_READS = 3
_FIRST_RETRY_SECONDS = 0.1
_LONGEST_RETRY_SECONDS = 5.0


class _Interrupted(Exception):
    """The lease was lost, or it is time to stop: what was begun is left to whoever goes on."""


class Worker:
    """One follower's share of the work, call by call, without making any."""

    def __init__(self, settings: StoreSettings, options: FollowOptions) -> None:
        self._settings, self._options = settings, options
        self._calls = LeaseCalls(settings, options.leases)
        self._dead_letters = DeadLetters(self._calls, options.name)
        self._keeper = LeaseKeeper(
            self._calls,
            options.name,
            options.worker,
            lease_seconds=options.lease_seconds,
            latest=options.start == "latest",
        )
        # What is parked, in order; no later change of the same item goes past it.
        self._heads: list[DeadLetterHead] = []
        self._blocked: set[tuple[str, str]] = set()
        self._balanced_at: datetime | None = None
        self._synced_at: datetime | None = None
        self.done = Followed()

    # The round.

    def run(self) -> Steps[Followed]:
        """Follow until it is time to stop."""
        yield from self._set_up()
        keeper = self._keeper
        is_sure = False
        while not self._is_stopped():
            yield from keeper.renew()
            if keeper.is_due(self._synced_at, 1.0):
                yield from self._sync()
            if keeper.is_due(self._balanced_at, RENEWAL):
                yield from self._balance()
            work = False
            for held in list(keeper.held.values()):
                if not self._is_stopped() and keeper.is_ours(held):
                    work |= yield from self._work(held)
            if work:
                is_sure = False
                continue
            if self._options.until_caught_up:
                if is_sure and self._is_caught_up():
                    break
                # Once more, with shards and leases as they are after the last record.
                self._balanced_at = None
                if not is_sure:
                    self._synced_at, is_sure = None, True
                    continue
            yield Pause(self._options.poll_seconds)
        yield from self.release()
        return self.done

    def release(self) -> Plan[None]:
        """Give back every lease, so that others need not wait for them to lapse."""
        for held in list(self._keeper.held.values()):
            yield from self._keeper.give(held, None)

    def _set_up(self) -> Plan[None]:
        table, may_set_up = self._options.table, self._options.may_set_up
        may_change = may_set_up and table.stream is not None
        stream = yield from check_stream(self._calls.ask, table, may_change=may_change)
        leases = self._calls.tables.table
        yield from check_leases(self._calls.ask, leases, may_make=may_set_up)
        if stream is None or not stream.is_on:
            # What was recorded before it was switched off can be read for a day.
            found = yield from self._keeper.list_leases()
            if stream is None or all(each.is_done or each.is_for_dead_letters for each in found):
                advice = (
                    "Switch it on: setup=True, or `keyfold stream follow --setup`, does for a "
                    "table that declares one."
                )
                raise StreamUnsuitable(table.name, "it is off", advice)

    def _sync(self) -> Plan[None]:
        self._synced_at, self._balanced_at = self._calls.now(), None
        stream = yield from describe_stream(self._calls.ask, self._options.table)
        yield from self._keeper.sync(stream)

    def _balance(self) -> Plan[None]:
        self._balanced_at = self._calls.now()
        yield from self._keeper.balance()
        # After taking: what the last owner has parked must be known before anything is handed out.
        self._heads = yield from self._dead_letters.list_heads()
        self._blocked = {head.line for head in self._heads}

    def _is_stopped(self) -> bool:
        return self._options.stop is not None and self._options.stop.is_set()

    def _is_caught_up(self) -> bool:
        """Tell whether all is read, save what others are alive to read."""
        view = self._keeper.view
        ready = {lease.place for lease in view.find_ready()}
        for lease in view.leases:
            held = self._keeper.held.get(lease.place)
            if held is not None:
                if not lease.is_for_dead_letters and held.empty_reads < _EMPTY_READS:
                    return False
            elif (lease.is_for_dead_letters or lease.place in ready) and not view.is_left_to_others(
                lease
            ):
                return False
        return True

    def _work(self, held: OwnedLease) -> Steps[bool]:
        """Do some of what a lease is for; tell whether there was anything to do."""
        if held.lease.requested_by is not None:
            yield from self._keeper.give(held, held.lease.requested_by)
            return True
        if not held.lease.is_for_dead_letters:
            return (yield from self._read(held))
        try:
            return (yield from self._hand_out_again(held))
        except _Interrupted:
            # What was taken is gone from the list, which is read anew.
            self._balanced_at = None
            return True

    # Reading.

    def _read(self, held: OwnedLease) -> Steps[bool]:
        """Read a batch of a shard, and hand it out."""
        if held.iterator is None and not (yield from self._open(held)):
            return True
        asked = {"ShardIterator": held.iterator, "Limit": self._options.batch}
        try:
            response = yield from self._calls.ask("GetRecords", asked)
        except ExpiredIteratorException:
            held.iterator = None
            return True
        except TrimmedDataAccessException:
            self._note_gap(held)
            held.iterator = held.position = None
            return True
        except ResourceNotFoundException:
            yield from self._lose(held)
            return True
        except (LimitExceededException, Unavailable):
            # More are reading the shard than it is for: later.
            return False
        table = self._options.table
        records = [StreamRecord.from_dynamodb(each, table) for each in response["Records"]]
        before, held.iterator = held.position, response.get("NextShardIterator")
        try:
            for record in records:
                yield from self._deliver(held, record)
                held.position = record.sequence
        except _Interrupted:
            held.iterator = None
            if held.position != before and self._keeper.is_ours(held):
                yield from self._keeper.checkpoint(held)
            return True
        held.empty_reads = 0 if records else held.empty_reads + 1
        if held.iterator is None:
            yield from self._finish(held)
            return True
        if held.position != before:
            yield from self._keeper.checkpoint(held)
        return held.empty_reads < _EMPTY_READS

    def _open(self, held: OwnedLease) -> Plan[bool]:
        """Find where to go on in a shard; tell whether there is anything to go on with."""
        opened = yield from open_shard(
            self._calls.ask,
            held.lease.arn,
            held.lease.shard,
            after=held.position,
            at_end=held.at_end,
        )
        if opened is None:
            yield from self._lose(held)
            return False
        if opened.is_gap:
            self._note_gap(held)
        held.iterator, held.at_end = opened.iterator, False
        return True

    def _finish(self, held: OwnedLease) -> Plan[None]:
        yield from self._keeper.finish(held)
        # Its children's turn has come.
        self._synced_at = None

    def _lose(self, held: OwnedLease) -> Plan[None]:
        """Give up a shard that is not there any longer."""
        self._note_gap(held)
        yield from self._finish(held)

    def _note_gap(self, held: OwnedLease) -> None:
        _LOG.warning(
            "follower %r of %s: changes in %s were dropped before they were read",
            self._options.name,
            self._options.table.name,
            held.lease.shard,
        )
        self.done = replace(self.done, gaps=self.done.gaps + 1)

    # Handing out.

    def _deliver(self, held: OwnedLease, record: StreamRecord) -> Steps[None]:
        """Hand a record to every handler that it is for."""
        since = held.lease.since
        if since is not None and record.at < since.replace(microsecond=0):
            return
        yield from self._check_lease(held)
        for handler in self._reader().find_handlers(record):
            line = handler.name, record.item_id
            error, attempts = None, 0
            if line not in self._blocked:
                error, attempts = yield from self._try(held, handler, record)
                if error is None:
                    continue
            yield from self._dead_letters.park(
                record, handler.name, error, attempts, self._calls.now()
            )
            self._blocked.add(line)
            self.done = replace(self.done, dead_letters=self.done.dead_letters + 1)
        self.done = replace(self.done, records=self.done.records + 1)

    def _check_lease(self, held: OwnedLease) -> Plan[None]:
        """Raise _Interrupted if it is time to stop, or another may have the lease."""
        yield from self._keeper.renew()
        if self._is_stopped() or not self._keeper.is_ours(held):
            raise _Interrupted

    def _hand_out_again(self, held: OwnedLease) -> Steps[bool]:
        """Hand out what was parked, each line in order, up to what has failed and stays."""
        seen = {head for head in self._heads if head.state != "failed"}
        self._heads = []
        if not seen:
            return False
        # A list is not of one moment: it may have what was parked later, and lack what was parked
        # earlier. Whatever was in the way of something on it is on one that is made afterwards.
        heads = yield from self._dead_letters.list_heads()
        stuck: set[tuple[str, str]] = set()
        work = False
        for head in heads:
            if head.line in stuck:
                continue
            if head not in seen:
                stuck.add(head.line)
                continue
            found = yield from self._dead_letters.fetch(head)
            if found is None:
                continue
            letter, record = found
            error, attempts = yield from self._retry_dead_letter(held, letter.handler, record)
            if error is None:
                yield from self._dead_letters.remove(letter)
            else:
                stuck.add(head.line)
                yield from self._dead_letters.fail_again(letter, error, attempts)
            work = True
        # What waited behind them may be parked no longer, and more may have come.
        self._balanced_at = None
        return work

    def _retry_dead_letter(
        self, held: OwnedLease, name: str, record: StreamRecord
    ) -> Steps[tuple[Exception | None, int]]:
        handler = self._options.table.handlers.get(name)
        if handler is None:
            return LookupError(f"{self._options.table.name} has no handler {name!r} any longer"), 0
        return (yield from self._try(held, handler, record))

    def _try(
        self, held: OwnedLease, handler: Handler[Any], record: StreamRecord
    ) -> Steps[tuple[Exception | None, int]]:
        """Call a handler, again after a while if it fails; return how that ended.

        Raises _Interrupted where somebody else has to go on.
        """
        try:
            change = self._reader().read(record, handler)
        except ItemInvalid as error:
            return error, 0
        number = 0
        while True:
            yield from self._check_lease(held)
            number += 1
            try:
                requests: Sequence[Request[Any]] = yield Handling(handler, change)
                for request in requests:
                    yield from plan(self._settings, request)
            except Exception as error:  # noqa: BLE001 - whatever a handler may raise
                if number >= self._options.attempts:
                    return error, number
            else:
                self.done = replace(self.done, handled=self.done.handled + 1)
                return None, number
            yield Pause(min(_LONGEST_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2 ** (number - 1)))

    def _reader(self) -> ChangeReader:
        return ChangeReader(self._options.table, RunContext(self._calls.now(), self._settings))
