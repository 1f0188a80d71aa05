"""Counting the keys that are used most, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace, nlargest

from keyfold.values import Item

# A key with a share of more than one in so many of all that is counted cannot be missed.
KEPT_KEYS = 1_000


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key that is used much: at most `count` times, and at least `at_least` times."""

    key: Item
    count: int
    at_least: int


class KeyCounter:
    """The "space-saving" algorithm: counts of the commonest of any number of different keys.

    >>> counter = KeyCounter(kept=2)
    >>> for key in (b"a", b"b", b"a", b"c", b"a"):
    ...     counter.add(key)
    >>> counter.top(1)
    [(b'a', 3, 3)]

    When there is no room for a new key, the one with the smallest count gives its place, and
    its count, which the new one may owe to others. So no count is too small, and none is too
    large by more than the sum of all counts divided by the number of keys kept.
    """

    def __init__(self, kept: int = KEPT_KEYS) -> None:
        self._kept = kept
        self._counts: dict[bytes, int] = {}
        # How much of a count may belong to keys that were here before.
        self._inherited: dict[bytes, int] = {}
        # Every key once, by a count that it had; counts only grow, so the true smallest is
        # found by bringing the top up to date until it is.
        self._heap: list[tuple[int, bytes]] = []

    def add(self, key: bytes) -> None:
        """Count a use of a key."""
        counts = self._counts
        known = counts.get(key)
        if known is not None:
            counts[key] = known + 1
            return
        smallest = self._make_room() if len(counts) >= self._kept else 0
        counts[key] = smallest + 1
        self._inherited[key] = smallest
        heappush(self._heap, (smallest + 1, key))

    def _make_room(self) -> int:
        """Drop the key with the smallest count, and return that count."""
        heap, counts = self._heap, self._counts
        while True:
            noted, key = heap[0]
            count = counts[key]
            if noted == count:
                heappop(heap)
                del counts[key], self._inherited[key]
                return count
            heapreplace(heap, (count, key))

    def top(self, limit: int) -> list[tuple[bytes, int, int]]:
        """Return the commonest keys: each with the most and the least it was used."""
        commonest = nlargest(limit, self._counts.items(), key=lambda entry: entry[1])
        return [(key, count, count - self._inherited[key]) for key, count in commonest]
