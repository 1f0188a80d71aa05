"""Lanes: small thread pools whose queues let clients that cost little go first.

Operations on items that may take long share one lane, everything else has another. So a slow
search delays other searches only. Within a lane, work waits by the time of its arrival plus the
time that its client has lately spent there: a client that has just held a thread for two seconds
waits behind those that arrive within the next two. Nobody waits for ever, since times pass.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from queue import PriorityQueue
from typing import Protocol

_Entry = tuple[float, int, Callable[[], None] | None]


class LaneClient(Protocol):
    """A client that submits work: a connection."""

    # The time that its work has lately taken; half of it is forgotten with each request.
    spent_seconds: float


class Lane:
    """Threads that run work; they are started when there is work for them."""

    def __init__(
        self, name: str, threads: int, monotonic: Callable[[], float] = time.perf_counter
    ) -> None:
        self._name, self._most = name, threads
        self._monotonic = monotonic
        self._queue: PriorityQueue[_Entry] = PriorityQueue()
        # Entries of one time stay in order, and their functions are never compared.
        self._numbers = itertools.count()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], None], client: LaneClient | None) -> None:
        """Run `work`, which must not raise, in a thread when it is its client's turn."""

        def run() -> None:
            started = self._monotonic()
            work()
            if client is not None:
                client.spent_seconds = client.spent_seconds / 2 + self._monotonic() - started

        turn = self._monotonic()
        if client is not None:
            turn += client.spent_seconds
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif len(self._threads) < self._most:
                name = f"{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._queue.put((turn, next(self._numbers), run))

    def stop(self) -> None:
        """Stop the threads after they have finished their work."""
        for _ in self._threads:
            self._queue.put((float("inf"), next(self._numbers), None))
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (work := self._queue.get()[2]) is not None:
            work()
            with self._lock:
                if self._queue.empty():
                    self._idle += 1
