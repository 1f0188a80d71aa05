"""Runs each operation where it fits: on the event loop, or in a thread.

Reads of a few items take microseconds, so they run on the event loop. One that turns out to be more
work (`NeedsThread`) runs again in a thread. The writes of one loop iteration share a commit (group
commit). If the commit has to wait for the disk, or for another process, it runs in a thread, and the
writes that arrive meanwhile share the next one. Operations that may take long, such as a scan, run in
a small thread pool; large writes, and operations that are not about items, have pools of their own
(`_lanes`). There, each has a deadline, and all are cancelled when a stop takes too long.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

import orjson

from keyfold.api import names_where
from keyfold.api.bodies import parse_body
from keyfold.engine import NO_DEADLINE, Deadline, Engine, NeedsThread
from keyfold.errors import FileBusy, ServiceError
from keyfold.wire.server._lanes import Lane, LaneClient
from keyfold.wire.server._lookups import Execute
from keyfold.wire.server._memory import MemoryFull, ServerMemory
from keyfold.wire.server._requests import WireCall

INLINE_READS = names_where(lambda each: each.run == "inline")
_GROUPED_WRITES = names_where(lambda each: each.run == "group commit")

_ABOUT_ITEMS = names_where(lambda each: each.returns_items)

# With these, a write returns items.
_RETURNING = ("ReturnValues", "ReturnValuesOnConditionCheckFailure", "TransactItems")

_MAX_GROUP = 500
# Python runs one of them at a time, and SQLite gives the interpreter up for each row. With four, pages
# took longer in total than with two, and the event loop had to wait for its turn among five.
_SEARCH_THREADS = 2
_METADATA_THREADS = 2
_ANSWER_THREADS = 1
_WRITE_THREADS = 1
# How long the writes of one commit may take together; those that remain share the next one.
_GROUP_SECONDS = 0.005
# How long a commit to disk is delayed so that more writes can share it.
_GATHER_SECONDS = 0.000_2
# Holding a view pays off from this many reads on. After a loop iteration with fewer, the next
# `_UNSHARED_READS` reads do not hold one.
_MIN_HELD_READS = 3
_UNSHARED_READS = 50
# A loop that is always busy gives the interpreter up and takes it back before a thread that waits for it
# wakes up. So it sleeps for a moment between turns, so often at most, while a commit is under way.
_YIELD_SECONDS = 0.000_05
_YIELD_EVERY_SECONDS = 0.001
_DRAIN_SECONDS = 0.001
# How long `close` waits for threads whose work cannot be cancelled.
_JOIN_SECONDS = 1.0

T = TypeVar("T")
Outcome = bytes | Exception
Done = Callable[[Outcome], None]


class ServedEngine(Protocol):
    """What a server serves: an engine, or a wrapper around one."""

    def execute_parsed(self, operation: str, request: Any) -> dict[str, Any]:
        """Carry out one operation, as `Engine.execute_parsed` does; raises KeyfoldError."""
        ...


def _may_return_items(call: WireCall) -> bool:
    """Return whether the answer to a call may be many times as long as its request."""
    if call.operation not in _GROUPED_WRITES:
        return call.operation in _ABOUT_ITEMS
    request = call.request
    return isinstance(request, dict) and any(name in request for name in _RETURNING)


class ScheduledClient(LaneClient, Protocol):
    """A connection, as the scheduler uses it."""

    @property
    def is_gone(self) -> bool:
        """Whether nobody waits for its answers any more."""
        ...

    def find_owner(self, *, is_verified: bool) -> str:
        """Return whom a lane counts its work for: the access key, if verified, or the address."""
        ...


class _Job(NamedTuple):
    call: WireCall
    done: Done
    client: ScheduledClient | None


class _Committer:
    """A thread that runs commits one after another; started with the first one."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="keyfold-commits", daemon=True)
            self._thread.start()
        self._work.put(work)

    def stop(self) -> None:
        self._work.put(None)
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()


class Scheduler:
    """Runs operations on the served engine, and calls back when each is done."""

    def __init__(
        self,
        service: ServedEngine,
        loop: asyncio.AbstractEventLoop,
        *,
        waiting: int,
        run_seconds: float = 10.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        # None if something else is served, which may take its time.
        self.engine = service if isinstance(service, Engine) else None
        # A thread only pays off if the commit waits for the disk.
        self._commits_in_thread = self.engine is not None and self.engine.durability == "durable"
        self._loop = loop
        self._most_waiting = waiting
        self._run_seconds, self._monotonic = run_seconds, monotonic
        self._is_cancelled = False
        self._others_waiting = 0
        self._writes: list[_Job] = []
        # Called when the reads of a loop iteration begin to share a view.
        self.on_view: Callable[[], None] = lambda: None
        # Knows whether answers of many bytes may be made; set by the server's state.
        self.memory: ServerMemory | None = None
        self._is_holding = False
        self._held_reads = self._unshared_reads = 0
        # Whether a group of writes is being committed, and whether that is done in a thread.
        self._is_flushing = self._is_committing = False
        self._yielded_at = 0.0
        self._sleep: Callable[[float], None] = time.sleep
        self._searches = Lane("keyfold-operations", _SEARCH_THREADS)
        self._metadata = Lane("keyfold-metadata", _METADATA_THREADS)
        self._answers = Lane("keyfold-answers", _ANSWER_THREADS)
        self._long_writes = Lane("keyfold-writes", _WRITE_THREADS)
        self._lanes = (self._searches, self._metadata, self._answers, self._long_writes)
        # Held by the thread of a lane that computes.
        self._compute_turn = threading.Lock()
        self._committer = _Committer()

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of operations is waiting."""
        return len(self._writes) + self._others_waiting >= self._most_waiting

    def read_now(self, operation: str, body: bytes) -> bytes | NeedsThread | None:
        """Return the response of the engine to one of INLINE_READS; None if it fails.

        After None, `read_inline` handles the read from the start, and reports its error.
        """
        engine = self.engine
        assert engine is not None  # the caller has checked it
        self.begin_read(engine)
        try:
            return orjson.dumps(engine.read_inline(operation, parse_body(body)))
        except NeedsThread as needs_thread:
            return needs_thread
        except Exception:  # noqa: BLE001 - `read_inline` will meet and report the error again
            return None

    def read_inline(self, call: WireCall) -> Outcome:
        """Carry out one of INLINE_READS on the engine, and return its response or error.

        The error is NeedsThread if `run_in_thread` has to carry it out.
        """
        assert self.engine is not None  # the caller has checked it
        self.begin_read(self.engine)
        return self._execute(call, self.engine.read_inline)

    def run(self, call: WireCall, done: Done, client: ScheduledClient | None = None) -> bool:
        """Carry out a call; call `done` with its response or error, possibly at once.

        Returns False, and does nothing, if the maximum number of operations is waiting.
        """
        if call.operation in INLINE_READS and not call.runs_aside and self.engine is not None:
            outcome = self.read_inline(call)
            if not isinstance(outcome, NeedsThread):
                done(outcome)
                return True
            call.runs_aside = True
        if self.is_full or (self._is_short_of_memory() and _may_return_items(call)):
            return False
        if call.operation in _GROUPED_WRITES and self.engine is not None:
            job = _Job(call, done, client)
            if call.is_large:
                self._write_in_lane(job)
                return True
            self._writes.append(job)
            if not self._is_flushing:
                self._is_flushing = True
                self._loop.call_soon(self._flush)
        else:
            is_search = call.operation in _ABOUT_ITEMS
            lane = self._searches if is_search else self._metadata
            run = self._search if is_search else self._execute_in_lane
            owner = "" if client is None else client.find_owner(is_verified=True)
            self._submit(lane, lambda: run(call, client), done, client, owner)
        return True

    def run_in_thread(
        self,
        work: Callable[[], T],
        done: Callable[[T], None],
        client: ScheduledClient | None = None,
    ) -> bool:
        """Run `work` in a thread, then `done` with its result on the event loop.

        Returns False, and does nothing, if the maximum number of operations is waiting.
        """
        if self.is_full:
            return False
        owner = "" if client is None else client.find_owner(is_verified=False)
        self._submit(self._searches, work, done, client, owner)
        return True

    def finish_in_thread(
        self, work: Callable[[], T], done: Callable[[T], None], client: ScheduledClient
    ) -> None:
        """Run what is left to do for a large answer in a thread, then `done` with its result."""
        self._submit(self._answers, work, done, client, client.find_owner(is_verified=False))

    def run_next_turn(self, work: Callable[[], None]) -> None:
        """Call `work` in the loop's next iteration, after the connections that are waiting."""
        self._others_waiting += 1

        def run() -> None:
            self._others_waiting -= 1
            if self._is_committing:
                self._yield_to_commit()
            work()

        self._loop.call_soon(run)

    def _yield_to_commit(self) -> None:
        now = self._loop.time()
        if now - self._yielded_at >= _YIELD_EVERY_SECONDS:
            self._yielded_at = now
            self._sleep(_YIELD_SECONDS)

    def _submit(
        self,
        lane: Lane,
        work: Callable[[], T],
        done: Callable[[T], None],
        client: ScheduledClient | None,
        owner: str,
    ) -> None:
        self._others_waiting += 1

        def run() -> None:
            result = work()
            with suppress(RuntimeError):
                # The loop is closed if a stop did not wait any longer.
                self._loop.call_soon_threadsafe(finish, result)

        def finish(result: T) -> None:
            self._others_waiting -= 1
            done(result)

        lane.submit(run, client, owner)

    async def drain(self) -> None:
        """Wait until no operation is running or waiting."""
        while self._is_flushing or self._others_waiting:  # noqa: ASYNC110 - only once, at shutdown
            await asyncio.sleep(_DRAIN_SECONDS)

    def cancel(self) -> None:
        """Forget the work that has not begun, and let what runs in lanes end as soon as it can.

        Nobody is called back for forgotten work. A page that is being read ends early; other
        operations raise an error, unless they are nearly done.
        """
        self._is_cancelled = True
        for lane in self._lanes:
            self._others_waiting -= lane.discard()

    def close(self) -> None:
        """Stop the threads after they have finished their work.

        After `cancel`, work that still does not end is left to itself.
        """
        self._committer.stop()
        for lane in self._lanes:
            lane.stop(_JOIN_SECONDS if self._is_cancelled else None)

    def _execute_in_lane(self, call: WireCall, client: ScheduledClient | None) -> Outcome:
        """Carry out a call that has to end in time, or when its client is gone."""

        def is_cancelled() -> bool:
            return self._is_cancelled or (client is not None and client.is_gone)

        deadline = Deadline(
            self._run_seconds,
            monotonic=self._monotonic,
            is_cancelled=is_cancelled,
            turn=self._compute_turn,
        )
        execute: Execute = self._service.execute_parsed
        if self.engine is not None:
            execute = partial(self.engine.execute_parsed, deadline=deadline)
        try:
            deadline.check()
        except ServiceError as error:
            # It was cancelled while it waited.
            return error
        return self._execute(call, execute, deadline)

    def _execute(
        self, call: WireCall, execute: Execute, deadline: Deadline = NO_DEADLINE
    ) -> Outcome:
        try:
            return call.run(execute, deadline)
        except Exception as error:  # noqa: BLE001 - `answer_exception` reports it
            return error

    def _search(self, call: WireCall, client: ScheduledClient | None) -> Outcome:
        if self._is_short_of_memory():
            # Answers to those that were before it in the lane wait to be read.
            return MemoryFull()
        return self._execute_in_lane(call, client)

    def _is_short_of_memory(self) -> bool:
        return self.memory is not None and self.memory.is_full

    def begin_read(self, engine: Engine) -> bool:
        """Let the reads of one loop iteration share a view, if there are several.

        Return whether they share one, for which `on_view` has been called in this iteration.

        All requests of an iteration were sent before it began, so no reader can miss a write
        that was answered before it sent its read.
        """
        if self._is_holding:
            self._held_reads += 1
            return True
        if self._unshared_reads > 0:
            self._unshared_reads -= 1
        else:
            engine.hold_view()
            self._is_holding, self._held_reads = True, 1
            self._loop.call_soon(self._release, engine)
            self.on_view()
            return True
        return False

    def _release(self, engine: Engine) -> None:
        engine.release_view()
        self._is_holding = False
        self._unshared_reads = 0 if self._held_reads >= _MIN_HELD_READS else _UNSHARED_READS

    def _flush(self) -> None:
        """Carry out the writes that have been collected."""
        jobs, self._writes = self._writes[:_MAX_GROUP], self._writes[_MAX_GROUP:]
        if self._commits_in_thread:
            self._commit_in_thread(jobs)
            return
        try:
            outcomes = self._execute_together(jobs, may_wait=False)
        except FileBusy:
            # Somebody else is writing: wait for it in a thread, so that other requests proceed.
            self._commit_in_thread(jobs)
        else:
            self._finish(jobs, outcomes)

    def _write_in_lane(self, job: _Job) -> None:
        """Carry out a write that may take long: other writes wait for its commit only."""
        call, client = job.call, job.client
        owner = "" if client is None else client.find_owner(is_verified=True)
        self._submit(
            self._long_writes, lambda: self._execute_in_lane(call, client), job.done, client, owner
        )

    def _commit_in_thread(self, jobs: list[_Job]) -> None:
        def run() -> None:
            outcomes = self._execute_together(jobs, may_wait=True)
            self._loop.call_soon_threadsafe(self._finish, jobs, outcomes)

        self._is_committing = True
        self._committer.submit(run)

    def _execute_together(self, jobs: list[_Job], *, may_wait: bool) -> list[Outcome]:
        assert self.engine is not None  # only its writes are collected
        calls = [(job.call.operation, job.call.request) for job in jobs]
        deadline = Deadline(_GROUP_SECONDS, monotonic=self._monotonic)
        try:
            responses = self.engine.execute_together(calls, may_wait=may_wait, deadline=deadline)
        except FileBusy:
            raise
        except Exception:  # noqa: BLE001 - running each alone shows which of them fails
            return [self._execute(job.call, self.engine.execute_parsed) for job in jobs]
        return [
            response if isinstance(response, Exception) else job.call.write_response(response)
            for job, response in zip(jobs, responses, strict=False)
        ]

    def _finish(self, jobs: list[_Job], outcomes: list[Outcome]) -> None:
        self._is_committing = False
        if len(outcomes) < len(jobs):
            # They took long. The others are first in the next commit, and this thread is free.
            self._writes = jobs[len(outcomes) :] + self._writes
        for job, outcome in zip(jobs, outcomes, strict=False):
            if isinstance(outcome, NeedsThread):
                self._write_in_lane(job)
            else:
                job.done(outcome)
        if self._commits_in_thread and len(jobs) > 1:
            # Clients that got a response nearly always write again at once. Committing without
            # them would leave two alternating groups, each half as large.
            self._gather(len(jobs) + len(self._writes), self._loop.time() + _GATHER_SECONDS)
        else:
            self._flush_or_stop()

    def _gather(self, expected: int, deadline: float) -> None:
        if len(self._writes) >= expected or self._loop.time() >= deadline:
            self._flush_or_stop()
        else:
            # Polled in loop iterations: a timer would round up to a millisecond.
            self._loop.call_soon(self._gather, expected, deadline)

    def _flush_or_stop(self) -> None:
        if self._writes:
            self._loop.call_soon(self._flush)
        else:
            self._is_flushing = False
