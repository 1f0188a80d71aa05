"""Work of one process that others must leave alone, for as long as it is alive.

Whoever works keeps extending a moment up to which the work is its own. Processes agree by
the machine's clock, not by an engine's own.
"""

from __future__ import annotations

import time

LEASE_SECONDS = 30.0


def machine_time() -> float:
    """Return the time by the machine's clock."""
    return time.time()


def extended_lease() -> float:
    """Return up to when work that goes on now is taken."""
    return machine_time() + LEASE_SECONDS


def has_run_out(until: float) -> bool:
    """Tell whether nobody works any more on what was taken up to `until`."""
    now = machine_time()
    # One that lasts longer than any does comes from a clock that was wrong.
    return not now <= until <= now + LEASE_SECONDS
