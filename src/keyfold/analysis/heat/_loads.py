"""Loads: which calls arrive when, by a workload or by recorded traffic."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import NamedTuple, Protocol

from keyfold.analysis.heat._calls import (
    CallPlanner,
    PlannedCall,
    PlannedRequest,
    ShardPlan,
    shard_call,
)
from keyfold.analysis.heat._distributions import spread
from keyfold.analysis.heat._plans import plan_heat
from keyfold.analysis.heat._populations import KeyPopulations, KeyRole
from keyfold.analysis.profiles import TableProfile
from keyfold.capacity import KeyLayout
from keyfold.engine import TrafficRecord
from keyfold.model import Table

# The peak begins after a fifth of the time, and lasts for three fifths.
_PEAK_BEGINS, _PEAK_ENDS = 0.2, 0.8
# The calls of a pattern use about so many shards in all: a key with a tenth of them a tenth.
_MOST_SHARDED = 1_000


class Grouping(Protocol):
    """Says which calls are alike."""

    def state(self, now: float) -> Hashable:
        """Return what changes whenever calls have to be grouped again."""
        ...

    def group_of(self, call: int) -> Hashable:
        """Return the same for alike calls."""
        ...


class Arrival(NamedTuple):
    """Calls that arrive at a time: how many, and one of them as an example.

    `share_of` are the calls among which they are distributed, with their shares.
    """

    at: float
    call: int
    calls: int
    share_of: Sequence[tuple[int, float]]


class LoadPhase(NamedTuple):
    """A part of a load, in seconds, in which it stays the same."""

    start: int
    end: int
    is_peak: bool = False


class Load(Protocol):
    """Calls, and when they arrive."""

    @property
    def calls(self) -> Sequence[PlannedCall]:
        """All different calls."""
        ...

    @property
    def seconds(self) -> int:
        """How long it takes."""
        ...

    @property
    def phases(self) -> Sequence[LoadPhase]:
        """Its parts, one after the other."""
        ...

    def rates(self, factor: float, phase: LoadPhase) -> Iterator[tuple[int, float]] | None:
        """Yield every call of a phase with its rate a second; None if it is not steady."""
        ...

    def arrivals(
        self, factor: float, phase: LoadPhase, grouping: Grouping | None = None
    ) -> Iterator[Arrival]:
        """Yield what arrives in a phase if there are `factor` times as many calls.

        With a grouping, alike calls of a second may arrive together.
        """
        ...

    def shorten(self, seconds: int) -> Load:
        """Return the load for a shorter time, if it can be shortened."""
        ...

    def shard(self, shards: Mapping[KeyRole, int]) -> Load:
        """Return the load with partition keys that are divided into shards."""
        ...


@dataclass(frozen=True, slots=True)
class _PatternLoad:
    """The calls of one pattern, by their share of its rate."""

    rate: float
    peak: float
    calls: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WorkloadLoad:
    """The load of a workload: every pattern at its rate, then at its peak, with skewed keys."""

    seconds: int
    seed: int
    calls: Sequence[PlannedCall]
    assumptions: tuple[str, ...]
    _patterns: tuple[_PatternLoad, ...]

    @classmethod
    def plan(
        cls, profile: TableProfile, *, seconds: int, seed: int = 0, skew: float = 0.0
    ) -> WorkloadLoad:
        """Plan the calls of all patterns that have a rate; `skew` is for those that give none."""
        populations, layouts = KeyPopulations(profile), plan_heat(profile.table).layouts
        draw = random.Random(seed)  # noqa: S311 - no secret
        calls: list[PlannedCall] = []
        patterns: list[_PatternLoad] = []
        unrated: list[str] = []
        unskewed: list[str] = []
        for name, measured in profile.patterns.items():
            use = profile.workload.patterns[name]
            if use.rate is None:
                unrated.append(name)
            if use.rate is None or not measured.runs:
                continue
            if use.skew is None:
                unskewed.append(name)
            planner = CallPlanner(populations, measured.runs, use.keys)
            used_skew = skew if use.skew is None else use.skew
            found = spread(planner.keys, used_skew, draw, partial(_place_call, planner, layouts))
            first = len(calls)
            calls += [
                PlannedCall(name, planner.plan(rank, for_others=number >= found.rest))
                for number, rank in enumerate(found.ranks)
            ]
            peak = use.rate if use.peak is None else use.peak
            numbers = tuple(range(first, len(calls)))
            patterns.append(
                _PatternLoad(use.rate.per_second, peak.per_second, numbers, tuple(found.shares))
            )
        notes: list[str] = []
        if unrated:
            notes.append(f"Left out, since they have no rate: {', '.join(unrated)}.")
        if unskewed:
            how = f"have a skew of {skew:g}" if skew else "use all keys alike"
            notes.append(f"Calls {how} if no skew is given: {', '.join(unskewed)}.")
        if len(calls) > len(patterns):
            notes.append("Keys that end with ~ and a number are made up, for more callers.")
        return cls(seconds, seed, calls, tuple(notes), tuple(patterns))

    @property
    def phases(self) -> Sequence[LoadPhase]:
        """The rates of patterns, their peaks, and again their rates."""
        begin, end = round(self.seconds * _PEAK_BEGINS), round(self.seconds * _PEAK_ENDS)
        return (
            LoadPhase(0, begin),
            LoadPhase(begin, end, is_peak=True),
            LoadPhase(end, self.seconds),
        )

    def rates(self, factor: float, phase: LoadPhase) -> Iterator[tuple[int, float]] | None:
        """Yield every call of a phase with its rate a second."""
        for pattern in self._patterns:
            rate = factor * (pattern.peak if phase.is_peak else pattern.rate)
            for call, share in zip(pattern.calls, pattern.shares, strict=True):
                yield call, rate * share

    def arrivals(
        self, factor: float, phase: LoadPhase, grouping: Grouping | None = None
    ) -> Iterator[Arrival]:
        """Yield the calls of each second, in an order that the seed decides."""
        draw = random.Random(f"{self.seed} {phase.start}")  # noqa: S311 - no secret
        flows: list[list[_Flow]] = []
        grouped: Hashable = None
        for second in range(phase.start, phase.end):
            state = None if grouping is None else grouping.state(float(second))
            if not flows or state != grouped:
                flows = [_group(each, grouping, draw) for each in self._patterns]
                grouped = state
            found: list[Arrival] = []
            for pattern, parts in zip(self._patterns, flows, strict=True):
                rate = factor * (pattern.peak if phase.is_peak else pattern.rate)
                for flow in parts:
                    flow.owed += rate * flow.share
                    if flow.owed >= 1:
                        count = int(flow.owed)
                        flow.owed -= count
                        found.append(Arrival(float(second), flow.pick(draw), count, flow.members))
            draw.shuffle(found)
            yield from found

    def shorten(self, seconds: int) -> WorkloadLoad:
        """Return the load for a shorter time, with the same phases."""
        return replace(self, seconds=min(seconds, self.seconds))

    def shard(self, shards: Mapping[KeyRole, int]) -> WorkloadLoad:
        """Return the load with partition keys that are divided into shards."""
        calls: list[PlannedCall] = []
        patterns: list[_PatternLoad] = []
        for pattern in self._patterns:
            first = len(calls)
            shares: list[float] = []
            for number, share in zip(pattern.calls, pattern.shares, strict=True):
                plan = ShardPlan(shards, max(1, round(share * _MOST_SHARDED)), number)
                variants = shard_call(self.calls[number], plan)
                calls += variants
                shares += [share / len(variants)] * len(variants)
            numbers = tuple(range(first, len(calls)))
            patterns.append(_PatternLoad(pattern.rate, pattern.peak, numbers, tuple(shares)))
        return replace(self, calls=calls, _patterns=tuple(patterns))


def _place_call(planner: CallPlanner, layouts: Mapping[str, KeyLayout], rank: int) -> float:
    """Return where among the partitions a call's first key lies, from 0 to 1."""
    for request in planner.plan(rank):
        for use, *_ in request.uses:
            place = layouts[use.name].touch(use).place
            if place is not None:
                return int.from_bytes(place[:4], "big") / (1 << 32)
    return 0.0


@dataclass(slots=True)
class _Flow:
    """Alike calls of a pattern: their share of its rate, and what has not arrived yet."""

    share: float
    members: Sequence[tuple[int, float]]
    summed: Sequence[float]
    owed: float

    def pick(self, draw: random.Random) -> int:
        """Return one of its calls, by their shares."""
        if len(self.members) == 1:
            return self.members[0][0]
        return draw.choices(self.members, cum_weights=self.summed)[0][0]


def _group(pattern: _PatternLoad, grouping: Grouping | None, draw: random.Random) -> list[_Flow]:
    groups: dict[Hashable, list[tuple[int, float]]] = {}
    for call, share in zip(pattern.calls, pattern.shares, strict=True):
        group = call if grouping is None else grouping.group_of(call)
        groups.setdefault(group, []).append((call, share))
    flows: list[_Flow] = []
    for found in groups.values():
        total = sum(share for _, share in found)
        members = [(call, share / total) for call, share in found]
        # They begin at random, or rare calls would all arrive in the same second.
        summed = list(accumulate(share for _, share in members))
        flows.append(_Flow(total, members, summed, draw.random()))
    return flows


class RecordedLoad:
    """The load of recorded traffic: every request at its time, `factor` times."""

    def __init__(self, records: Iterable[TrafficRecord], table: Table) -> None:
        """Group alike requests; `records` are those of the table."""
        self._table = table
        self._calls: list[PlannedCall] = []
        self._arrivals: list[tuple[float, int]] = []
        numbers: dict[str, int] = {}
        for record in records:
            identity = repr(record[1:])
            number = numbers.setdefault(identity, len(self._calls))
            if number == len(self._calls):
                request = PlannedRequest.from_record(table, record, record.uses)
                self._calls.append(PlannedCall(record.operation, (request,)))
            self._arrivals.append((record.at, number))
        self._arrivals.sort(key=lambda each: each[0])
        self._start = self._arrivals[0][0] if self._arrivals else 0.0

    @property
    def calls(self) -> Sequence[PlannedCall]:
        """The different requests of the traffic."""
        return self._calls

    @property
    def seconds(self) -> int:
        """How long the traffic was recorded."""
        return int(self._arrivals[-1][0] - self._start) + 1 if self._arrivals else 0

    @property
    def phases(self) -> Sequence[LoadPhase]:
        """One phase: the traffic is what it is."""
        return (LoadPhase(0, self.seconds),)

    def rates(self, factor: float, phase: LoadPhase) -> Iterator[tuple[int, float]] | None:
        """Return None: the traffic has no rates."""
        del factor, phase

    def arrivals(
        self, factor: float, phase: LoadPhase, grouping: Grouping | None = None
    ) -> Iterator[Arrival]:
        """Yield every request at its time, since the first one."""
        del phase, grouping  # there is one phase, in which requests arrive one by one
        owed = 0.0
        for at, number in self._arrivals:
            owed += factor
            if count := int(owed):
                owed -= count
                yield Arrival(at - self._start, number, count, ((number, 1.0),))

    def shorten(self, seconds: int) -> RecordedLoad:
        """Return the load itself: its hottest time may be at its end."""
        del seconds
        return self

    def shard(self, shards: Mapping[KeyRole, int]) -> RecordedLoad:
        """Return the traffic with partition keys that are divided into shards, in turn."""
        found = RecordedLoad((), self._table)
        variants: list[list[int]] = []
        arrivals = Counter(number for _, number in self._arrivals)
        for first, call in enumerate(self._calls):
            # A call cannot arrive in more shards than it arrives at all.
            made = shard_call(call, ShardPlan(shards, arrivals[first], first))
            variants.append(list(range(len(found._calls), len(found._calls) + len(made))))
            found._calls += made
        turns = [0] * len(variants)
        for at, number in self._arrivals:
            choices = variants[number]
            found._arrivals.append((at, choices[turns[number] % len(choices)]))
            turns[number] += 1
        found._start = self._start
        return found
