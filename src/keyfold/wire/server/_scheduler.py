"""Who carries out which operation: the event loop itself, or a thread beside it.

Reads of a few items take microseconds, so the event loop does them itself. Writes of one turn
of the loop share a commit. Where that waits for the disk, or for another process, a thread
does it, and the writes that come meanwhile share the next one. Whatever may take long, such
as a scan, goes to a few threads of its own.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple, Protocol

from keyfold.engine import Engine
from keyfold.errors import FileBusy, KeyfoldError

QUICK_READS = frozenset({"GetItem", "Query", "TransactGetItems"})
_SHARED = {"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"}

_MOST_SHARED = 500
_THREADS = 4
# How long a commit that waits for the disk waits for more writes to share it.
_GATHER_SECONDS = 0.000_2
# To hold a view pays for itself from so many reads on; if it did not, the next try is later.
_WORTH_HOLDING = 3
_READS_ALONE = 50
_DRAIN_SECONDS = 0.001

Outcome = bytes | Exception
Done = Callable[[Outcome], None]


class ServedEngine(Protocol):
    """What a server puts behind HTTP: an engine, or something in front of one."""

    def execute_json(self, operation: str, body: bytes) -> bytes:
        """Carry out one operation; raises KeyfoldError."""
        ...


class _Job(NamedTuple):
    operation: str
    body: bytes
    done: Done


class _Committer:
    """A thread that does one thing after the other; started when there is a first one."""

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
            self._thread.join()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()


class Scheduler:
    """Has a service carry out operations, and tells when each is done."""

    def __init__(
        self, service: ServedEngine, loop: asyncio.AbstractEventLoop, *, waiting: int
    ) -> None:
        self._service = service
        self._engine = service if isinstance(service, Engine) else None
        # Only a commit that waits for the disk is worth a thread.
        self._commits_in_thread = self._engine is not None and self._engine.durability == "durable"
        self._loop = loop
        self._most_waiting = waiting
        self._others_waiting = 0
        self._writes: list[_Job] = []
        self._is_holding = False
        self._held_reads = self._reads_alone = 0
        self._is_flushing = False
        self._threads = ThreadPoolExecutor(_THREADS, "keyfold-operations")
        self._committer = _Committer()

    @property
    def is_full(self) -> bool:
        """Whether as many operations wait as may."""
        return len(self._writes) + self._others_waiting >= self._most_waiting

    def read_now(self, operation: str, body: bytes) -> bytes | None:
        """Return the response to one of QUICK_READS; None where that takes more, as errors do.

        What is None may be run as if it had not been tried.
        """
        engine = self._engine
        if engine is None:
            return None
        self._note_read(engine)
        try:
            return engine.execute_json(operation, body)
        except Exception:  # noqa: BLE001 - it will fail again where it can be answered
            return None

    def run(self, operation: str, body: bytes, done: Done) -> bool:
        """Carry out an operation; `done` is called with its response or error, maybe at once.

        Returns False, and does nothing, if as many wait as may.
        """
        if operation in QUICK_READS and self._engine is not None:
            self._note_read(self._engine)
            done(self._execute(operation, body))
            return True
        if self.is_full:
            return False
        job = _Job(operation, body, done)
        if operation in _SHARED and self._engine is not None:
            self._writes.append(job)
            if not self._is_flushing:
                self._is_flushing = True
                self._loop.call_soon(self._flush)
        else:
            self._run_in_thread(job)
        return True

    async def drain(self) -> None:
        """Wait until nothing is under way any more."""
        while self._is_flushing or self._others_waiting:  # noqa: ASYNC110 - at the very end, once
            await asyncio.sleep(_DRAIN_SECONDS)

    def close(self) -> None:
        """End the threads, once they have done what they were given."""
        self._committer.stop()
        self._threads.shutdown()

    def _execute(self, operation: str, body: bytes) -> Outcome:
        try:
            return self._service.execute_json(operation, body)
        except KeyfoldError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the server lives on, and says what it was
            report_failure(operation, error)
            return error

    def _note_read(self, engine: Engine) -> None:
        """Let the reads of one turn of the loop share a view, where there are several.

        All that is read in a turn was sent before it began, so nobody can miss a write that was
        answered before.
        """
        if self._is_holding:
            self._held_reads += 1
        elif self._reads_alone > 0:
            self._reads_alone -= 1
        else:
            engine.hold_view()
            self._is_holding, self._held_reads = True, 1
            self._loop.call_soon(self._release, engine)

    def _release(self, engine: Engine) -> None:
        engine.release_view()
        self._is_holding = False
        self._reads_alone = 0 if self._held_reads >= _WORTH_HOLDING else _READS_ALONE

    def _run_in_thread(self, job: _Job) -> None:
        self._others_waiting += 1

        def run() -> None:
            outcome = self._execute(job.operation, job.body)
            self._loop.call_soon_threadsafe(finish, outcome)

        def finish(outcome: Outcome) -> None:
            self._others_waiting -= 1
            job.done(outcome)

        self._threads.submit(run)

    def _flush(self) -> None:
        """Carry out the writes that have come together."""
        jobs, self._writes = self._writes[:_MOST_SHARED], self._writes[_MOST_SHARED:]
        if self._commits_in_thread:
            self._commit_in_thread(jobs)
            return
        try:
            outcomes = self._execute_together(jobs, may_wait=False)
        except FileBusy:
            # Another process writes; the others' requests go on while this waits for it.
            self._commit_in_thread(jobs)
        else:
            self._finish(jobs, outcomes)

    def _commit_in_thread(self, jobs: list[_Job]) -> None:
        def run() -> None:
            outcomes = self._execute_together(jobs, may_wait=True)
            self._loop.call_soon_threadsafe(self._finish, jobs, outcomes)

        self._committer.submit(run)

    def _execute_together(self, jobs: list[_Job], *, may_wait: bool) -> list[Outcome]:
        assert self._engine is not None  # only its writes are collected
        calls = [(job.operation, job.body) for job in jobs]
        try:
            return list(self._engine.execute_json_together(calls, may_wait=may_wait))
        except FileBusy:
            raise
        except Exception:  # noqa: BLE001 - one of them is to blame: each by itself shows which
            return [self._execute(operation, body) for operation, body in calls]

    def _finish(self, jobs: list[_Job], outcomes: list[Outcome]) -> None:
        for job, outcome in zip(jobs, outcomes, strict=True):
            job.done(outcome)
        if self._commits_in_thread and len(jobs) > 1:
            # Those who were answered nearly always write again at once. To commit without them
            # would leave two groups that take turns, each half as large.
            self._gather(len(jobs) + len(self._writes), self._loop.time() + _GATHER_SECONDS)
        else:
            self._go_on()

    def _gather(self, expected: int, deadline: float) -> None:
        if len(self._writes) >= expected or self._loop.time() >= deadline:
            self._go_on()
        else:
            # By turns of the loop: a timer would round up to a millisecond.
            self._loop.call_soon(self._gather, expected, deadline)

    def _go_on(self) -> None:
        if self._writes:
            self._loop.call_soon(self._flush)
        else:
            self._is_flushing = False


def report_failure(operation: str, error: Exception) -> None:
    """Show what a failure was, to whoever runs the server."""
    sys.stderr.write(f"keyfold: {operation} failed unexpectedly\n")
    traceback.print_exception(error)
