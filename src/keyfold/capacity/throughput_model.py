"""The model of throttling: which requests a table and its global indexes serve, and which not.

The engine asks it before and after each request of a table, if its throttling is switched on; the
simulation of a workload asks it for requests that nobody makes. So both refuse the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, inf
from typing import NamedTuple

from keyfold.capacity.key_ranges import PartitionRange, PartitionRanges
from keyfold.capacity.partitions import ON_DEMAND_UNITS, count_partitions
from keyfold.capacity.throttling import (
    BURST_SECONDS,
    LimitType,
    TokenBucket,
    new_bucket,
    refill,
    take,
    throttling_reason,
)
from keyfold.capacity.touches import Touch
from keyfold.capacity.units import UnitKind

# What an on-demand table or index may consume each second by the default quotas of an account.
ACCOUNT_UNITS = 40_000
# On-demand tables serve twice their former peak: within half an hour, there are partitions for it.
GROWTH_SECONDS = 1_800
GROWTH_FACTOR = 2

_KINDS: tuple[UnitKind, UnitKind] = ("Read", "Write")


class ResourceLimits(NamedTuple):
    """What a table or a global index may consume each second.

    `units` are those that are provisioned; None stands for on-demand. `warm` is the throughput
    that it can serve at once; if None, that of a new table. `maximums` are on-demand maximums.
    """

    units: Mapping[UnitKind, int] | None = None
    warm: Mapping[UnitKind, int] | None = None
    maximums: Mapping[UnitKind, int] = {}
    size_bytes: int = 0

    def count_partitions(self) -> int:
        """Return how many partitions it has before any traffic."""
        least = ON_DEMAND_UNITS if self.units is None else self.units
        warm = {kind: max(least[kind], (self.warm or {}).get(kind, 0)) for kind in _KINDS}
        return count_partitions(
            self.size_bytes,
            read_units_per_second=warm["Read"],
            write_units_per_second=warm["Write"],
        )


class Refusal(NamedTuple):
    """Why a request is refused: which limit of which resource is exceeded."""

    name: str
    kind: UnitKind
    limit: LimitType

    @property
    def reason(self) -> str:
        """One of the sixteen reasons of the API."""
        return throttling_reason("Index" if self.name else "Table", self.kind, self.limit)


class ThroughputModel:
    """What a table and its global indexes have left to serve; the table has the name "".

    Without `has_partitions`, only on-demand maximums are enforced.

    >>> from keyfold.capacity import place_key
    >>> model = ThroughputModel({"": ResourceLimits()}, now=0.0)
    >>> day = place_key({"day": {"S": "2026-01-01"}}, ["day"])
    >>> model.admit("Write", [Touch("", day, 1.0)], now=0.0, count=1_200)
    (1000, Refusal(name='', kind='Write', limit='KeyRangeThroughputExceeded'))
    """

    def __init__(
        self, limits: Mapping[str, ResourceLimits], now: float, *, has_partitions: bool = True
    ) -> None:
        """Begin with full buckets, as after some time without traffic."""
        self._has_partitions = has_partitions
        self._resources: dict[str, _Resource] = {}
        self.update(limits, now)

    def update(self, limits: Mapping[str, ResourceLimits], now: float) -> None:
        """Switch to other limits; what stays as it was keeps its state."""
        before = self._resources
        self._resources = {}
        for name, each in limits.items():
            known = before.get(name)
            if known is None:
                known = _Resource(name, each, now, has_partitions=self._has_partitions)
            else:
                known.update(each, now)
            self._resources[name] = known

    @property
    def is_limited(self) -> bool:
        """Whether any request can be refused."""
        return self._has_partitions or any(each.has_buckets for each in self._resources.values())

    def advance(self, now: float) -> None:
        """Split and add partitions, as the traffic until now requires; requests do so, too."""
        for each in self._resources.values():
            each.advance(now)

    def check(self, kind: UnitKind, name: str, place: bytes | None, now: float) -> Refusal | None:
        """Return why a request to a place is refused now, or None.

        What a request consumes is known afterwards: it is admitted while any units are left. A
        write to the table is also refused if an index has reached its on-demand maximum.
        """
        resource = self._resources[name]
        concerned = self._resources.values() if kind == "Write" and not name else (resource,)
        for each in concerned:
            if each.is_exhausted(kind, "MaxOnDemandThroughputExceeded", now):
                return Refusal(each.name, kind, "MaxOnDemandThroughputExceeded")
        return resource.check(kind, place, now)

    def take(self, kind: UnitKind, touches: Sequence[Touch], now: float, count: int = 1) -> None:
        """Subtract what admitted requests consumed, `count` alike."""
        for touch in touches:
            self._resources[touch.name].take(kind, touch, now, count)

    def admit(
        self, kind: UnitKind, touches: Sequence[Touch], now: float, count: int = 1
    ) -> tuple[int, Refusal | None]:
        """Admit as many of `count` alike requests as there are units for, one after the other.

        Return how many, and why the others are refused. The first touch is that of the table or
        index that the request names.
        """
        left = count
        while left:
            for touch in touches:
                refusal = self.check(kind, touch.name, touch.place, now)
                if refusal is not None:
                    self._refuse(refusal, touch, left - 1)
                    return count - left, refusal
            # So many can follow each other before a bucket is empty.
            admitted = min(left, *(self._count_left(kind, each, touches) for each in touches))
            self.take(kind, touches, now, admitted)
            left -= admitted
        return count, None

    def _refuse(self, refusal: Refusal, touch: Touch, count: int) -> None:
        """Count further refusals of a partition; `check` has counted the first."""
        if refusal.limit == "KeyRangeThroughputExceeded" and touch.place is not None and count:
            found = self.partition(touch.name, touch.place)
            if found is not None:
                found.note(touch.place, count)

    def _count_left(self, kind: UnitKind, touch: Touch, touches: Sequence[Touch]) -> int:
        """Return how many requests are certainly admitted before a check may refuse one."""
        left = self._resources[touch.name].units_left(kind, touch.place)
        units = sum(each.units for each in touches if each.name == touch.name)
        return max(1, ceil(left / units)) if units and left < inf else 1 << 60

    def partition(self, name: str, place: bytes) -> PartitionRange | None:
        """Return the partition of a place; None without partitions."""
        ranges = self._resources[name].ranges
        return None if ranges is None else ranges.find(place)

    def partitions(self, name: str) -> tuple[PartitionRange, ...]:
        """Return the partitions of the table ("") or an index, in order; none without them."""
        ranges = self._resources[name].ranges
        return () if ranges is None else tuple(ranges.ranges)


class _Resource:
    """What a table or a global index has left: as a whole, and in each partition."""

    def __init__(
        self, name: str, limits: ResourceLimits, now: float, *, has_partitions: bool
    ) -> None:
        self.name = name
        self.ranges = PartitionRanges(limits.count_partitions(), now) if has_partitions else None
        self._buckets: dict[tuple[LimitType, UnitKind], TokenBucket] = {}
        # The highest consumption so far, and when partitions for more are there.
        self._peak: dict[UnitKind, float] = dict.fromkeys(_KINDS, 0.0)
        self._growth: list[tuple[float, dict[UnitKind, float]]] = []
        self.limits = limits
        self.update(limits, now)

    @property
    def has_buckets(self) -> bool:
        return bool(self._buckets)

    def update(self, limits: ResourceLimits, now: float) -> None:
        self.limits = limits
        before = self._buckets
        self._buckets = {}
        for kind in _KINDS:
            if limits.units is not None:
                if self.ranges is not None:
                    self._keep(
                        "ProvisionedThroughputExceeded", kind, limits.units[kind], before, now
                    )
                continue
            maximum = limits.maximums.get(kind)
            if maximum is not None:
                self._keep("MaxOnDemandThroughputExceeded", kind, maximum, before, now)
            if self.ranges is not None:
                self._keep("AccountLimitExceeded", kind, ACCOUNT_UNITS, before, now)
        if self.ranges is not None:
            self.ranges.grow(limits.count_partitions(), now)

    def _keep(
        self,
        limit: LimitType,
        kind: UnitKind,
        rate: int,
        before: Mapping[tuple[LimitType, UnitKind], TokenBucket],
        now: float,
    ) -> None:
        known = before.get((limit, kind))
        if known is None or known.units_per_second != rate:
            kept = BURST_SECONDS if limit == "ProvisionedThroughputExceeded" else 1
            known = new_bucket(rate, now, kept_seconds=kept)
        self._buckets[limit, kind] = known

    def is_exhausted(self, kind: UnitKind, limit: LimitType, now: float) -> bool:
        bucket = self._buckets.get((limit, kind))
        if bucket is None:
            return False
        refilled = self._buckets[limit, kind] = refill(bucket, now)
        return refilled.is_empty

    def check(self, kind: UnitKind, place: bytes | None, now: float) -> Refusal | None:
        self.advance(now)
        limits: tuple[LimitType, ...] = ("ProvisionedThroughputExceeded", "AccountLimitExceeded")
        for limit in limits:
            if self.is_exhausted(kind, limit, now):
                return Refusal(self.name, kind, limit)
        if self.ranges is None:
            return None
        if place is None:
            is_full = all(_refill(each, kind, now).is_empty for each in self.ranges.ranges)
        else:
            found = self.ranges.find(place)
            is_full = _refill(found, kind, now).is_empty
            if is_full:
                found.has_refused = True
                found.note(place, 1)
        return Refusal(self.name, kind, "KeyRangeThroughputExceeded") if is_full else None

    def take(self, kind: UnitKind, touch: Touch, now: float, count: int) -> None:
        units = touch.units * count
        for key, bucket in self._buckets.items():
            if key[1] == kind:
                self._buckets[key] = take(bucket, units)
        if self.ranges is None:
            return
        self.advance(now)
        if touch.place is None:
            every = self.ranges.ranges
            for each in every:
                _take(each, kind, units / len(every))
            return
        found = self.ranges.find(touch.place)
        _take(found, kind, units)
        found.note(touch.place, count)

    def units_left(self, kind: UnitKind, place: bytes | None) -> float:
        """Return the units until some bucket is empty, as of the last check."""
        left = [bucket.units_left for key, bucket in self._buckets.items() if key[1] == kind]
        if self.ranges is not None:
            if place is None:
                every = [each.buckets[kind].units_left for each in self.ranges.ranges]
                left.append(max(every) * len(every))
            else:
                left.append(self.ranges.find(place).buckets[kind].units_left)
        return min(left, default=inf)

    def advance(self, now: float) -> None:
        """Split and add partitions, as the traffic until now requires."""
        if self.ranges is None:
            return
        mean = self.ranges.end_windows(now)
        if mean is not None and any(mean[kind] > self._peak[kind] for kind in _KINDS):
            self._peak = {kind: max(self._peak[kind], mean[kind]) for kind in _KINDS}
            self._growth.append((now + GROWTH_SECONDS, dict(self._peak)))
        while self.limits.units is None and self._growth and self._growth[0][0] <= now:
            _, peak = self._growth.pop(0)
            wanted = count_partitions(
                0,
                read_units_per_second=ceil(GROWTH_FACTOR * peak["Read"]),
                write_units_per_second=ceil(GROWTH_FACTOR * peak["Write"]),
            )
            self.ranges.grow(wanted, now)


def _refill(held: PartitionRange, kind: UnitKind, now: float) -> TokenBucket:
    refilled = held.buckets[kind] = refill(held.buckets[kind], now)
    return refilled


def _take(held: PartitionRange, kind: UnitKind, units: float) -> None:
    held.buckets[kind] = take(held.buckets[kind], units)
    held.used[kind] += units
