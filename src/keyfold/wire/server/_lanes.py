"""Lanes: small thread pools whose queues share their threads fairly among those who wait.

Operations on items that may take long share one lane, everything else has another. So a slow
search delays other searches only. Within a lane, turns are shared on two levels:

- Between owners: principals, or addresses of clients that have not proved who they are. The next
  turn is that of an owner who has fewer threads at work, then of the one who has used less time.
  However many connections an owner has, its threads are limited, and others have one left.
- Between the connections of an owner: work waits by the time of its arrival plus the time that its
  connection has lately spent. A connection that has just held a thread for two seconds waits behind
  those that arrive within the next two. Nobody waits for ever, since times pass.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

# Owners without work are remembered, with the time they have used, up to this number.
_REMEMBERED = 1_000


class LaneClient(Protocol):
    """A client that submits work: a connection."""

    # The time that its work has lately taken; half of it is forgotten with each request.
    spent_seconds: float


class _Entry(NamedTuple):
    """Work that waits for its turn."""

    turn: float
    # Entries of one turn stay in order, and what follows is never compared.
    number: int
    work: Callable[[], None]
    client: LaneClient | None


@dataclass(slots=True)
class _Owner:
    """Someone whose work a lane runs."""

    # The time that it has used, counted from the time of the others when it came.
    used_seconds: float
    running: int = 0
    waiting: list[_Entry] = field(default_factory=list[_Entry])


class Lane:
    """Threads that run work; they are started when there is work for them.

    One owner has up to `threads` of them at work; one more is for others.
    """

    def __init__(
        self, name: str, threads: int, monotonic: Callable[[], float] = time.perf_counter
    ) -> None:
        self._name, self._most = name, threads
        self._monotonic = monotonic
        self._numbers = itertools.count()
        self._owners: dict[str, _Owner] = {}
        # What the owner of the last turn had used: where a new one begins.
        self._used_seconds = 0.0
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._is_stopping = False
        self._changed = threading.Condition()

    def submit(self, work: Callable[[], None], client: LaneClient | None, owner: str = "") -> None:
        """Run `work`, which must not raise, in a thread when it is its owner's and client's turn."""
        turn = self._monotonic()
        if client is not None:
            turn += client.spent_seconds
        with self._changed:
            known = self._owners.get(owner)
            if known is None:
                known = self._owners[owner] = _Owner(self._used_seconds)
            elif not known.waiting and not known.running:
                # What others have used while it had nothing to do is no credit.
                known.used_seconds = max(known.used_seconds, self._used_seconds)
            heappush(known.waiting, _Entry(turn, next(self._numbers), work, client))
            if self._idle:
                self._idle -= 1
                self._changed.notify()
            elif len(self._threads) <= self._most:
                name = f"{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def discard(self) -> int:
        """Forget the work that has not begun; return how much it was."""
        with self._changed:
            count = sum(len(owner.waiting) for owner in self._owners.values())
            for owner in self._owners.values():
                owner.waiting.clear()
        return count

    def stop(self, seconds: float | None = None) -> None:
        """Stop the threads after they have finished their work; wait `seconds` for it at most."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        ends_at = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if ends_at is None else max(0.0, ends_at - time.monotonic()))

    def _run(self) -> None:
        while (found := self._take()) is not None:
            owner, entry = found
            started = self._monotonic()
            entry.work()
            self._finish(owner, entry.client, self._monotonic() - started)
            # While it waits for more, it keeps nothing of this: not a request of 16 MB.
            del found, entry

    def _take(self) -> tuple[_Owner, _Entry] | None:
        """Return the next work, once there is some; None after a stop."""
        with self._changed:
            while (owner := self._next_owner()) is None:
                if self._is_stopping and not any(each.waiting for each in self._owners.values()):
                    return None
                # Whoever wakes this thread counts it.
                self._idle += 1
                self._changed.wait()
            self._used_seconds = max(self._used_seconds, owner.used_seconds)
            owner.running += 1
            return owner, heappop(owner.waiting)

    def _next_owner(self) -> _Owner | None:
        """Return whose turn it is; None if nobody's that waits may run now."""
        ready = [
            owner for owner in self._owners.values() if owner.waiting and owner.running < self._most
        ]
        return min(ready, key=lambda owner: (owner.running, owner.used_seconds), default=None)

    def _finish(self, owner: _Owner, client: LaneClient | None, seconds: float) -> None:
        if client is not None:
            client.spent_seconds = client.spent_seconds / 2 + seconds
        with self._changed:
            owner.running -= 1
            owner.used_seconds += seconds
            if len(self._owners) > _REMEMBERED:
                busy = {n: each for n, each in self._owners.items() if each.running or each.waiting}
                self._owners = busy
            if self._is_stopping:
                # Its other work may have waited for this, and the other threads for all of it.
                self._changed.notify_all()
