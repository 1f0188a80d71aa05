"""Leases: work of one process that others must not touch while that process is alive.

The owner keeps extending the time at which its lease expires. Times are those of the machine's
clock, on which all processes agree, not of an engine's clock.
"""

from __future__ import annotations

import time

LEASE_SECONDS = 30.0


def machine_time() -> float:
    """Return the machine's time, in seconds since 1970."""
    return time.time()


def extended_lease() -> float:
    """Return the expiry time of a lease that is taken or extended now."""
    return machine_time() + LEASE_SECONDS


def has_expired(until: float) -> bool:
    """Return whether a lease that lasts until `until` has expired."""
    now = machine_time()
    # An expiry time further ahead than a lease can last comes from a clock that was wrong.
    return not now <= until <= now + LEASE_SECONDS
