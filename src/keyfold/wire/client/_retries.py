"""Timeouts, retries and the retry budget of a client.

Apart from the retries of plans (`keyfold.store._retries`), because these are about a transport: lost
connections, timeouts, a deadline for the whole call and a budget for all calls together, and users
set them. A store does not retry what a client has given up, so calls are not retried twice.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from keyfold.errors import OptionInvalid

# Below the ten minutes for which the service remembers the token of a transaction.
_LONGEST_TOTAL_SECONDS = 540.0
_RETRY_COST = 5
_TIMEOUT_COST = 10


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a client waits: to connect, for more of a response, and for a whole call.

    `total_seconds` includes the call's retries and the pauses between them.
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
    """How often a call is attempted at most, and the backoff between attempts.

    A call to a host that does not exist or refuses connections is given up after
    `connect_attempts`. Pauses are random, between 0 and a limit that doubles from
    `first_pause_seconds` to `longest_pause_seconds` (full jitter). `budget` bounds the retries of
    all calls together: each retry takes 5 of it, 10 after a timeout, and each successful call
    returns what its last retry took, or 1. When most calls fail, few are retried.
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

    def pause_seconds(self, attempts: int, jitter: float) -> float:
        """Return the seconds to wait after `attempts` attempts; `jitter` is between 0 and 1."""
        # The exponent is capped: 2 to the power of many attempts is a number of many digits.
        doubled = self.first_pause_seconds * 2 ** min(attempts - 1, 30)
        return jitter * min(self.longest_pause_seconds, doubled)


def random_fraction() -> float:
    """Return a random number from 0 up to, and not including, 1.

    Without the `random` module: importing it takes as long as the rest of a client, and few
    calls are retried.
    """
    return int.from_bytes(os.urandom(7)) / 2**56


class RetryBudget:
    """The retry budget of a client, shared by all its calls. Thread-safe."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._left = capacity
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        """Whether everything that was taken has been refunded."""
        return self._left >= self._capacity

    def take(self, *, after_timeout: bool) -> int:
        """Take the cost of a retry and return it; take nothing and return 0 if too little is left."""
        cost = _TIMEOUT_COST if after_timeout else _RETRY_COST
        with self._lock:
            if cost > self._left:
                return 0
            self._left -= cost
            return cost

    def refund(self, cost: int) -> None:
        """Refund `cost`, what the last retry of a successful call took; at least 1."""
        with self._lock:
            self._left = min(self._capacity, self._left + (cost or 1))
