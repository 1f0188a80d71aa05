"""Throttling: a token bucket of capacity units, and the service's reasons for throttling."""

from __future__ import annotations

from typing import Literal, NamedTuple

from keyfold.capacity.units import UnitKind

# How long the service keeps the unused units of a provisioned table for a burst, at best.
BURST_SECONDS = 300

LimitType = Literal[
    "KeyRangeThroughputExceeded",
    "ProvisionedThroughputExceeded",
    "AccountLimitExceeded",
    "MaxOnDemandThroughputExceeded",
]


class TokenBucket(NamedTuple):
    """Units that are left at a point in time, and how they are refilled.

    What a request consumes is only known afterwards. So it is admitted while any units are left,
    and may take the bucket below zero, which delays the requests that follow.
    """

    units_per_second: float
    max_units: float
    units_left: float
    at: float

    @property
    def is_empty(self) -> bool:
        """Whether no units are left, so that requests are throttled."""
        return self.units_left <= 0


def new_bucket(units_per_second: float, now: float, *, kept_seconds: float = 1) -> TokenBucket:
    """Return a full bucket, which keeps unused units for `kept_seconds`.

    >>> new_bucket(150, now=0.0, kept_seconds=BURST_SECONDS).units_left
    45000
    """
    units = units_per_second * kept_seconds
    return TokenBucket(units_per_second, units, units, now)


def refill(bucket: TokenBucket, now: float) -> TokenBucket:
    """Return the bucket at the time `now`; an earlier time than its own adds no units.

    >>> bucket = take(new_bucket(10, now=0.0), 25)
    >>> refill(bucket, 1.5).is_empty, refill(bucket, 1.6).is_empty
    (True, False)
    """
    rate, most, left, at = bucket
    return TokenBucket(rate, most, min(most, left + max(now - at, 0.0) * rate), now)


def take(bucket: TokenBucket, units: float) -> TokenBucket:
    """Return the bucket without the `units` that a request consumed, even if fewer are left."""
    rate, most, left, at = bucket
    return TokenBucket(rate, most, left - units, at)


def throttling_reason(resource: Literal["Table", "Index"], kind: UnitKind, limit: LimitType) -> str:
    """Return one of the sixteen reasons that a ThrottlingReason of the API gives.

    >>> throttling_reason("Index", "Write", "KeyRangeThroughputExceeded")
    'IndexWriteKeyRangeThroughputExceeded'
    """
    return f"{resource}{kind}{limit}"
