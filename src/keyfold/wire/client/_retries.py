"""How often, how soon and how long: what a client puts up with."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from keyfold.errors import OptionInvalid

# The service remembers the token of a transaction for ten minutes.
_LONGEST_TOTAL_SECONDS = 540.0
_RETRY_COST = 5
_TIMEOUT_COST = 10


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a client waits: for a connection, for more of an answer, and for all of a call.

    The last includes its retries and the pauses between them.
    """

    connect_seconds: float = 3.0
    read_seconds: float = 10.0
    total_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("connect_seconds", "read_seconds", "total_seconds"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value <= _LONGEST_TOTAL_SECONDS:
                advice = f"Give a number of seconds, up to {_LONGEST_TOTAL_SECONDS:.0f}."
                raise OptionInvalid(name, value, advice)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a call is made at most, and how long the pauses between are.

    Where nobody listens, or there is no such host, `connect_attempts` are enough to know.
    Pauses are drawn between nothing and a limit that doubles from `first_pause_seconds` to
    `longest_pause_seconds`. `budget` bounds the retries of all calls together: each takes 5 of
    it, 10 after a timeout, and each call that succeeds gives back what its last retry took,
    or 1. Where most calls fail, few are made again.
    """

    attempts: int = 8
    connect_attempts: int = 3
    first_pause_seconds: float = 0.05
    longest_pause_seconds: float = 5.0
    budget: int = 500

    def __post_init__(self) -> None:
        for name in ("attempts", "connect_attempts"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise OptionInvalid(name, value, "Give 1 or more.")
        for name in ("first_pause_seconds", "longest_pause_seconds", "budget"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or value < 0:
                raise OptionInvalid(name, value, "Give a number, 0 or more.")

    def pause_seconds(self, tries: int, drawn: float) -> float:
        """Return how long to wait after so many tries; `drawn` is between 0 and 1."""
        # Capped before it is computed: 2 to the power of many tries is a number of many digits.
        doubled = self.first_pause_seconds * 2 ** min(tries - 1, 30)
        return drawn * min(self.longest_pause_seconds, doubled)


def draw_fraction() -> float:
    """Return a number from 0 up to 1, by chance.

    The module for that takes as long to load as the rest of a client, for what fails seldom.
    """
    return int.from_bytes(os.urandom(7)) / 2**56


class RetryBudget:
    """What is left of a client's retries. Threads may share it."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._left = capacity
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        """Whether nothing was taken of it that did not come back."""
        return self._left >= self._capacity

    def take(self, *, after_timeout: bool) -> int:
        """Return what a retry takes; 0 if there is not so much left."""
        cost = _TIMEOUT_COST if after_timeout else _RETRY_COST
        with self._lock:
            if cost > self._left:
                return 0
            self._left -= cost
            return cost

    def give_back(self, taken: int) -> None:
        """Note that a call succeeded, whose last retry took so much."""
        with self._lock:
            self._left = min(self._capacity, self._left + (taken or 1))
