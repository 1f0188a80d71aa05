"""Key ranges: the partitions of a table or a global index, and how they are split for heat.

A partition holds the items whose places lie in a range. A place begins with the hash of the
partition key, in the order in which scans visit items, and ends with the sort key. `heat.md` in the
internals has the sources of these rules, and says which of them are assumed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from keyfold.capacity.partitions import PARTITION_UNITS
from keyfold.capacity.throttling import TokenBucket, new_bucket
from keyfold.capacity.units import UnitKind
from keyfold.values import AttributeValue, Item, encode_partition, encode_scalar, terminate_part

# Consumption is judged by windows. A partition is hot in a window if it refuses a request, or if
# it serves this share of what it can sustain; it is split after so many hot windows in a row.
WINDOW_SECONDS = 60
HOT_SHARE = 0.8
SPLIT_WINDOWS = 5

_KINDS: tuple[UnitKind, UnitKind] = ("Read", "Write")
_HASH_BYTES = 4
_HASHES = 1 << (8 * _HASH_BYTES)
# Of so many places of a window, the traffic is known one by one.
_MOST_PLACES = 4_096
# The share of a window's requests that go beyond all before, if a range is written in order.
_SEQUENTIAL_SHARE = 0.9


def place_key(key: Item, partition: Sequence[str], sort: Sequence[str] = ()) -> bytes:
    """Return the place of a key among the partitions: the hash, the partition key, the sort key.

    `partition` and `sort` are attribute names. Without `sort`, all items of a partition key have
    the same place; sort attributes that the key lacks are left out.

    >>> place_key({"pk": {"S": "a"}}, ["pk"]) == place_key({"pk": {"S": "a"}}, ["pk"], ["sk"])
    True
    """
    parts = [_encode(key[name]) for name in partition]
    whole = parts[0] if len(parts) == 1 else b"".join(map(terminate_part, parts))
    found = [_encode(key[name]) for name in sort if name in key]
    return encode_partition(whole) + (
        b"".join(map(terminate_part, found)) if len(sort) > 1 else b"".join(found)
    )


def _encode(value: AttributeValue) -> bytes:
    ((kind, data),) = value.items()
    return data if isinstance(data, bytes) else encode_scalar(kind, data)


@dataclass(slots=True)
class PartitionRange:
    """One partition: where it begins, what it has left to serve, and how hot it is."""

    number: int
    low: bytes
    buckets: dict[UnitKind, TokenBucket]
    # In the current window: the units, whether requests were refused, and the requests by place.
    used: dict[UnitKind, float] = field(default_factory=lambda: dict.fromkeys(_KINDS, 0.0))
    has_refused: bool = False
    requests: dict[bytes, int] = field(default_factory=dict[bytes, int])
    # The highest place of the window, and how many requests went beyond all before.
    highest: bytes = b""
    rising: int = 0
    # How many windows in a row it has been hot.
    hot_windows: int = 0

    def note(self, place: bytes, count: int) -> None:
        """Count requests to a place, admitted or refused."""
        if place in self.requests or len(self.requests) < _MOST_PLACES:
            self.requests[place] = self.requests.get(place, 0) + count
        if place > self.highest:
            self.highest = place
            self.rising += count

    def end_window(self) -> None:
        """Judge the window that ends."""
        is_hot = self.has_refused or any(
            units >= HOT_SHARE * WINDOW_SECONDS * PARTITION_UNITS[kind]
            for kind, units in self.used.items()
        )
        self.hot_windows = self.hot_windows + 1 if is_hot else 0

    def begin_window(self) -> None:
        """Forget what was counted in the window before."""
        self.used = dict.fromkeys(_KINDS, 0.0)
        self.has_refused = False
        self.requests.clear()
        self.highest, self.rising = b"", 0

    def find_split(self) -> bytes | None:
        """Return the place at which the requests of the window halve, or None.

        There is none if all requests are for one place, or if each goes beyond all before: a split
        would leave all traffic on one side.
        """
        total = sum(self.requests.values())
        if len(self.requests) < 2 or self.rising >= _SEQUENTIAL_SHARE * total:  # noqa: PLR2004 - two sides
            return None
        places = sorted(self.requests)
        below, best, best_gap = 0, None, float(total)
        for before, place in pairwise(places):
            below += self.requests[before]
            gap = abs(2 * below - total)
            if gap < best_gap:
                best, best_gap = place, gap
        return best


class PartitionRanges:
    """The partitions of a table or index, in the order of their places."""

    def __init__(self, count: int, now: float) -> None:
        """Divide all places evenly."""
        self._count = 0
        self.ranges: list[PartitionRange] = []
        for number in range(count):
            low = (number * _HASHES // count).to_bytes(_HASH_BYTES, "big") if number else b""
            self.ranges.append(self._new(low, now))
        self._lows = [each.low for each in self.ranges]
        self._window_start = now

    def _new(self, low: bytes, now: float) -> PartitionRange:
        self._count += 1
        buckets: dict[UnitKind, TokenBucket] = {
            kind: new_bucket(PARTITION_UNITS[kind], now) for kind in _KINDS
        }
        return PartitionRange(self._count, low, buckets)

    def find(self, place: bytes) -> PartitionRange:
        """Return the partition that holds a place."""
        return self.ranges[bisect_right(self._lows, place) - 1]

    def end_windows(self, now: float) -> dict[UnitKind, float] | None:
        """End the window if it is over, and split what has been hot for long enough.

        Return the mean units a second of the window that ended; None if none ended.
        """
        windows = int((now - self._window_start) // WINDOW_SECONDS)
        if windows <= 0:
            return None
        mean: dict[UnitKind, float] = {
            kind: sum(each.used[kind] for each in self.ranges) / WINDOW_SECONDS for kind in _KINDS
        }
        for each in tuple(self.ranges):
            each.end_window()
            if each.hot_windows >= SPLIT_WINDOWS and (low := each.find_split()) is not None:
                self._split(each, low, now)
            if windows > 1:
                each.hot_windows = 0  # nothing was used in the windows since
        for each in self.ranges:
            each.begin_window()
        self._window_start += windows * WINDOW_SECONDS
        return mean

    def grow(self, count: int, now: float) -> None:
        """Split the widest partitions in their middle until there are `count`."""
        while len(self.ranges) < count:
            ends = [*(_hash_of(low) for low in self._lows[1:]), _HASHES]
            widths = [end - _hash_of(each.low) for each, end in zip(self.ranges, ends, strict=True)]
            widest = max(range(len(widths)), key=widths.__getitem__)
            if widths[widest] < 2:  # noqa: PLR2004 - no place is between
                return
            middle = _hash_of(self.ranges[widest].low) + widths[widest] // 2
            self._split(self.ranges[widest], middle.to_bytes(_HASH_BYTES, "big"), now)

    def _split(self, split: PartitionRange, low: bytes, now: float) -> None:
        """Divide a partition at a place; both halves serve as much as the whole did."""
        place = bisect_right(self._lows, split.low)
        split.hot_windows = 0
        self.ranges.insert(place, self._new(low, now))
        self._lows.insert(place, low)


def _hash_of(low: bytes) -> int:
    return int.from_bytes(low[:_HASH_BYTES].ljust(_HASH_BYTES, b"\0"), "big")
