"""A clock for tests of deadlines."""

from __future__ import annotations


class Ticks:
    """A clock by which a second passes each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now
