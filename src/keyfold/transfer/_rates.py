"""How fast capacity may be used up."""

from __future__ import annotations

import threading
from collections.abc import Callable


class RateLimiter:
    """Lets so many capacity units a second pass, by the service's own count of them.

    What a call takes is known when it is answered, so a limiter goes into debt and the next call
    waits until that is paid: over any while, no more than the rate and one second's worth of it
    is used.

    >>> slept = []
    >>> limiter = RateLimiter(10.0, clock=lambda: 0.0, sleep=slept.append)
    >>> limiter.take(25.0)
    >>> limiter.wait()
    >>> slept
    [1.5]
    """

    def __init__(
        self, rate: float, *, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self.rate = rate
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._level, self._filled_at = rate, clock()

    def wait(self) -> None:
        """Return when there is something left to use."""
        with self._lock:
            self._fill()
            seconds = max(0.0, -self._level / self.rate)
        if seconds:
            self._sleep(seconds)

    def take(self, units: float) -> None:
        """Note that so many units were used."""
        with self._lock:
            self._fill()
            self._level -= units

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(self.rate, self._level + (now - self._filled_at) * self.rate)
        self._filled_at = now
