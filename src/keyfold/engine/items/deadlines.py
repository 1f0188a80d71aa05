"""Deadlines: when an operation that takes long has to end.

A server gives one to each operation that it runs in a thread; a program that calls the engine itself
waits as long as it takes. Operations look at their deadline between slices of their work. A page of
Query, Scan or SELECT then ends early, with a LastEvaluatedKey. What cannot be answered in part, such
as a vector search, raises InternalServerError, after which DynamoDB's clients try again.

Operations whose deadlines share a `turn` compute one at a time: each has it for a slice. Threads that compute at
the same time hand the interpreter to each other, and the event loop, which waits for it as well, may wait for
long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from keyfold.errors import InternalServerError

# How much work is done between two looks at the clock, in the units of `work`: a few milliseconds.
SLICE_WORK = 1 << 20
# How long a pause is: long enough for a thread that waits for a lock to take it.
_PAUSE_SECONDS = 0.000_2


def _never() -> bool:
    return False


class Deadline:
    """The time at which an operation has to end; earlier if it is cancelled.

    >>> now = 0.0
    >>> deadline = Deadline(10.0, monotonic=lambda: now)
    >>> deadline.is_over
    False
    >>> now = 10.0
    >>> deadline.is_over
    True
    """

    __slots__ = ("_ends_at", "_is_cancelled", "_monotonic", "_seconds", "_turn")

    def __init__(
        self,
        seconds: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        is_cancelled: Callable[[], bool] = _never,
        turn: threading.Lock | None = None,
    ) -> None:
        self._seconds, self._turn = seconds, turn
        self._monotonic, self._is_cancelled = monotonic, is_cancelled
        self._ends_at = monotonic() + seconds

    def __repr__(self) -> str:
        return f"Deadline({self._seconds:g})"

    @property
    def is_over(self) -> bool:
        """Whether the time has passed, or the operation was cancelled."""
        return self._is_cancelled() or self._monotonic() >= self._ends_at

    @contextmanager
    def computing(self) -> Generator[None]:
        """In the block, no other operation with the same turn computes. It must not wait for anything."""
        if self._turn is None:
            yield
            return
        with self._turn:
            yield

    def pass_turn(self) -> None:
        """Let another operation compute, between two slices of a `computing` block."""
        turn = self._turn
        if turn is not None:
            turn.release()
            self.pause()
            turn.acquire()

    def pause(self) -> None:
        """Let other threads take what they wait for: the interpreter, or the right to commit."""
        time.sleep(_PAUSE_SECONDS)

    def check(self) -> None:
        """Raise InternalServerError if the deadline is over."""
        if self._is_cancelled():
            raise InternalServerError("The operation was cancelled")
        if self._monotonic() >= self._ends_at:
            raise InternalServerError(
                f"The operation was cancelled after {self._seconds:g} seconds. "
                "Make it smaller, or try again when the server is less busy"
            )


NO_DEADLINE = Deadline(float("inf"), monotonic=lambda: 0.0)
