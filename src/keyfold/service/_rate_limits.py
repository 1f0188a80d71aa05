"""Rate limits by principal, in capacity units.

What a request consumes is only known afterwards, so a request is admitted while any units are left,
and may take the bucket of its principal below zero: the requests that follow wait for that.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from math import ceil, isfinite

from keyfold.capacity.throttling import TokenBucket, refill, take
from keyfold.clocks import Clock
from keyfold.errors import OptionInvalid, RateLimited

# Buckets that are remembered. One takes about 300 bytes, with the text of its principal.
_MOST_BUCKETS = 10_000
# The longest wait that is told to a client. Its next request is asked to wait again.
_LONGEST_WAIT_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The capacity units that each principal may use: on average, and at once.

    Reads and writes count alike. Raises OptionInvalid.
    """

    units_per_second: float
    burst_units: float

    def __post_init__(self) -> None:
        for name in ("units_per_second", "burst_units"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not isfinite(value) or value <= 0:
                raise OptionInvalid(name, value, "Give a number above 0.")


class RateLimits:
    """One token bucket for each principal.

    >>> limits = RateLimits(RateLimit(units_per_second=10, burst_units=20), monotonic=lambda: 0.0)
    >>> limits.charge("ada", 25)
    >>> limits.admit("ada"), limits.admit("bob")
    (0.5, None)

    At most 10,000 buckets are remembered. A full bucket needs no memory, so those of principals that
    have been idle are forgotten first. It is for one event loop: no lock.
    """

    def __init__(
        self,
        limit: RateLimit,
        *,
        monotonic: Clock = time.monotonic,
        most_buckets: int = _MOST_BUCKETS,
    ) -> None:
        self._limit = limit
        self._monotonic = monotonic
        self._most_buckets = most_buckets
        # Ordered by use, the oldest first.
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def admit(self, principal: str) -> float | None:
        """Return how many seconds a principal has to wait; None if it may send a request now."""
        bucket = self._buckets.get(principal)
        if bucket is None:
            return None
        bucket = refill(bucket, self._monotonic())
        # A little above zero, so that a client that waits as told is not a rounding error too early.
        return (
            None if not bucket.is_empty else max(-bucket.units_left / bucket.units_per_second, 1e-3)
        )

    def check(self, principal: str) -> None:
        """Raise RateLimited if a principal has to wait."""
        seconds = self.admit(principal)
        if seconds is not None:
            raise RateLimited(min(ceil(seconds), _LONGEST_WAIT_SECONDS))

    def charge(self, principal: str, units: float) -> None:
        """Take the units that a request consumed from the bucket of its principal."""
        now = self._monotonic()
        bucket = self._buckets.pop(principal, None)
        if bucket is None:
            rate, most = self._limit.units_per_second, self._limit.burst_units
            bucket = TokenBucket(rate, most, most, now)
        self._buckets[principal] = take(refill(bucket, now), units)
        if len(self._buckets) > self._most_buckets:
            self._forget_one(now)

    def _forget_one(self, now: float) -> None:
        """Forget buckets that are full again; if none is, the one that was used longest ago."""
        buckets = self._buckets
        full = [
            name
            for name, bucket in buckets.items()
            if refill(bucket, now).units_left >= bucket.max_units
        ]
        for name in full:
            del buckets[name]
        if not full:
            buckets.popitem(last=False)
