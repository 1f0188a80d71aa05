"""Counting the most used keys, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace, nlargest

from keyfold.values import Item

# A key that makes up more than 1/KEPT_KEYS of all counted uses cannot be missed.
KEPT_KEYS = 1_000


@dataclass(frozen=True, slots=True)
class HotKey:
    """A frequently used key: used at most `count` times, and at least `at_least` times."""

    key: Item
    count: int
    at_least: int


class KeyCounter:
    """The "space-saving" algorithm: counts the most frequent of any number of distinct keys.

    >>> counter = KeyCounter(kept=2)
    >>> for key in (b"a", b"b", b"a", b"c", b"a"):
    ...     counter.add(key)
    >>> counter.top(1)
    [(b'a', 3, 3)]

    When there is no room for a new key, it replaces the key with the smallest count and inherits
    that count, which may include uses of other keys. So no count is too small, and none is too
    large by more than the sum of all counts divided by the number of keys kept.
    """

    def __init__(self, kept: int = KEPT_KEYS) -> None:
        self._kept = kept
        self._counts: dict[bytes, int] = {}
        # How much of each count may belong to keys that were replaced.
        self._inherited: dict[bytes, int] = {}
        # Every key once, with a count that it had. Counts only grow, so the smallest is found by
        # updating the top entry until its count is current.
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
        """Return the most frequent keys, each with the most and the least times it was used."""
        most_used = nlargest(limit, self._counts.items(), key=lambda entry: entry[1])
        return [(key, count, count - self._inherited[key]) for key, count in most_used]
