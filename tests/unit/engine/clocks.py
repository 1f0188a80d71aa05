"""A clock that tests move."""

from __future__ import annotations


class Clock:
    """A clock for an engine; the test sets its time."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def let_pass(self, seconds: float) -> None:
        """Move the clock forward."""
        self.now += seconds
