"""Rate limits, in capacity units per second."""

from __future__ import annotations

import threading
from collections.abc import Callable


class RateLimiter:
    """Limits calls to `rate` capacity units per second, as the service counts them.

    What a call consumed is known only from its response. So the balance may go negative, and the
    next call waits until it is back at zero: over any period, calls use at most `rate` per second
    plus one second's worth.

    >>> slept = []
    >>> limiter = RateLimiter(10.0, monotonic=lambda: 0.0, sleep=slept.append)
    >>> limiter.take(25.0)
    >>> limiter.wait()
    >>> slept
    [1.5]
    """

    def __init__(
        self, rate: float, *, monotonic: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self.rate = rate
        self._monotonic, self._sleep = monotonic, sleep
        self._lock = threading.Lock()
        self._level, self._filled_at = rate, monotonic()

    def wait(self) -> None:
        """Sleep until the balance is no longer negative."""
        with self._lock:
            self._fill()
            seconds = max(0.0, -self._level / self.rate)
        if seconds:
            self._sleep(seconds)

    def take(self, units: float) -> None:
        """Deduct consumed units from the balance."""
        with self._lock:
            self._fill()
            self._level -= units

    def _fill(self) -> None:
        now = self._monotonic()
        self._level = min(self.rate, self._level + (now - self._filled_at) * self.rate)
        self._filled_at = now
