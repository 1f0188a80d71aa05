"""Runs a load over the model of partitions, and counts what is used and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from keyfold.analysis.heat._demand import SteadyDemand
from keyfold.analysis.heat._loads import Arrival, Load, LoadPhase
from keyfold.analysis.heat._plans import HeatPlan
from keyfold.analysis.heat._populations import KeyRole
from keyfold.capacity import (
    KeyLayout,
    KeyUse,
    Refusal,
    ThroughputModel,
    Touch,
    UnitKind,
)

# Called with each arrival, how many of its calls were refused, and why.
OnOutcome = Callable[[Arrival, int, Refusal | None], None]


class HotSpot(NamedTuple):
    """A key or a partition: what it was asked for, and what was refused.

    `peak` is the highest number of units that were asked for in one second.
    """

    name: str
    kind: UnitKind
    label: str
    role: KeyRole | None
    peak: float
    units: float
    refused: float


class ThrottlingStart(NamedTuple):
    """A reason of throttling: when it began, in seconds, and how many calls were refused."""

    reason: str
    name: str
    at: float
    calls: int
    # The patterns whose calls were refused, the most refused first.
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeatRun:
    """What a load does to a table at one factor."""

    factor: float
    seconds: int
    calls: int
    refused: int
    throttling: tuple[ThrottlingStart, ...]
    keys: tuple[HotSpot, ...]
    partitions: tuple[HotSpot, ...]
    # How many partitions the table ("") and each index have, at the beginning and at the end.
    partition_counts: Mapping[str, tuple[int, int]]
    # The highest number of units that were asked for in one second.
    peaks: Mapping[tuple[str, UnitKind], float]

    def refusals_of(self, limit: str) -> int:
        """Return how many calls a limit refused, such as KeyRangeThroughputExceeded."""
        return sum(each.calls for each in self.throttling if each.reason.endswith(limit))


def simulate(
    load: Load, plan: HeatPlan, factor: float, on_outcome: OnOutcome | None = None
) -> HeatRun:
    """Run a load, `factor` times as large, and return what it does.

    With `on_outcome`, calls arrive one by one; otherwise, calls that are alike for the partitions
    arrive together, which takes less time.
    """
    return _Simulation(load, plan, factor, groups=on_outcome is None).run(on_outcome)


class _PlacedRequest(NamedTuple):
    kind: UnitKind
    touches: tuple[Touch, ...]


@dataclass(slots=True)
class _Count:
    """What a key, a partition or a table was asked for: in all, and in a second."""

    role: KeyRole | None = None
    units: float = 0.0
    refused: float = 0.0
    in_second: float = 0.0
    peak: float = 0.0

    def add(self, units: float, refused: float) -> None:
        self.units += units
        self.refused += refused
        self.in_second += units

    def end_second(self) -> None:
        self.peak = max(self.peak, self.in_second)
        self.in_second = 0.0


@dataclass(slots=True)
class _GroupCount:
    """What a group of alike calls asked for: in all, and in a second."""

    members: Sequence[tuple[int, float]]
    state: Hashable
    calls: int = 0
    in_second: int = 0
    peak: int = 0
    # How many were refused, by the table ("") or index that refused them.
    refused: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, calls: int, refused: int, refused_by: str) -> None:
        self.calls += calls
        self.in_second += calls
        if refused:
            self.refused[refused_by] = self.refused.get(refused_by, 0) + refused

    def end_second(self) -> None:
        self.peak = max(self.peak, self.in_second)
        self.in_second = 0


_CountKey = tuple[str, UnitKind, str]


@dataclass(slots=True)
class _Throttled:
    at: float
    calls: int = 0
    patterns: dict[str, int] = field(default_factory=dict[str, int])


class _Simulation:
    """One run: the model, and the counts."""

    def __init__(self, load: Load, plan: HeatPlan, factor: float, *, groups: bool) -> None:
        self._load, self._plan, self._factor, self._groups = load, plan, factor, groups
        self._model = ThroughputModel(plan.limits, 0.0)
        self._keys: dict[_CountKey, _Count] = {}
        self._partitions: dict[_CountKey, _Count] = {}
        self._totals: dict[_CountKey, _Count] = {}
        # The counts that the current second changed.
        self._changed: dict[int, _Count | _GroupCount] = {}
        # What groups of alike calls asked for, by the group and the place of the request.
        self._groups_seen: dict[tuple[int, int], _GroupCount] = {}
        # The phase, and the numbers of partitions, by which calls are grouped.
        self._phase = 0
        self._state: Hashable = None
        self._throttled: dict[Refusal, _Throttled] = {}
        self._calls, self._refused = 0.0, 0
        self._placed: dict[int, tuple[_PlacedRequest, ...]] = {}
        # The counts of the keys of each request.
        self._key_counts: dict[tuple[int, int], tuple[_Count, ...]] = {}

    def run(self, on_outcome: OnOutcome | None) -> HeatRun:
        before = self._count_partitions()
        for phase in self._load.phases:
            if not self._groups or not self._pass_quietly(phase):
                self._run_phase(phase, on_outcome)
        self._add_groups()
        after = self._count_partitions()
        return HeatRun(
            self._factor,
            self._load.seconds,
            round(self._calls),
            self._refused,
            tuple(self._list_throttling()),
            _rank(self._keys),
            _rank(self._partitions),
            {name: (count, after[name]) for name, count in before.items()},
            {(name, kind): count.peak for (name, kind, _), count in self._totals.items()},
        )

    def _run_phase(self, phase: LoadPhase, on_outcome: OnOutcome | None) -> None:
        second = -1
        self._phase = phase.start
        grouping = self if self._groups else None
        for arrival in self._load.arrivals(self._factor, phase, grouping):
            if int(arrival.at) != second:
                second = int(arrival.at)
                self._end_second()
            self._calls += arrival.calls
            count, refusal = self._call(arrival)
            self._refused += count
            if on_outcome is not None:
                on_outcome(arrival, count, refusal)
        self._end_second()

    def _pass_quietly(self, phase: LoadPhase) -> bool:
        """Count the calls of a phase in which nothing gets hot; return whether it is one.

        Nothing can be refused, and no partition is split, if everything is asked for less than it
        serves, even if its largest request arrives at the same time.
        """
        rates = self._load.rates(self._factor, phase)
        if rates is None:
            return False
        known = [(call, rate) for call, rate in rates if rate]
        uses = SteadyDemand(self._model)
        for call, rate in known:
            for request in self._place(call):
                for touch in request.touches:
                    uses.add(request.kind, touch, rate)
        if not uses.is_quiet(self._plan.limits):
            return False
        seconds = phase.end - phase.start
        for call, rate in known:
            self._calls += rate * seconds
            for place in range(len(self._place(call))):
                self._count_quietly(call, place, rate, seconds)
        self._end_second()
        return True

    def _count_quietly(self, call: int, place: int, rate: float, seconds: int) -> None:
        request = self._place(call)[place]
        for touch, count in zip(request.touches, self._counts_of(call, place), strict=True):
            counts = [count, self._total(self._totals, touch.name, request.kind, "")]
            number = self._number(touch)
            if number:
                label = f"partition {number}"
                counts.append(self._total(self._partitions, touch.name, request.kind, label))
            for each in counts:
                each.units += touch.units * rate * seconds
                each.in_second += touch.units * rate
                self._changed[id(each)] = each

    def _count_partitions(self) -> dict[str, int]:
        return {name: len(self._model.partitions(name)) for name in self._plan.limits}

    def state(self, now: float) -> Hashable:
        """Return the phase and the numbers of partitions, as the traffic until now requires."""
        self._model.advance(now)
        self._state = (self._phase, *self._count_partitions().values())
        return self._state

    def group_of(self, call: int) -> Hashable:
        """Return what makes calls alike: the partitions and units that they use."""
        return tuple(
            (request.kind, touch.name, self._number(touch), touch.units)
            for request in self._place(call)
            for touch in request.touches
        )

    def _number(self, touch: Touch) -> int:
        held = None if touch.place is None else self._model.partition(touch.name, touch.place)
        return 0 if held is None else held.number

    def _end_second(self) -> None:
        for count in self._changed.values():
            count.end_second()
        self._changed.clear()

    def _call(self, arrival: Arrival) -> tuple[int, Refusal | None]:
        """Make calls; return how many are refused, and why the last of them is.

        A call ends with the first request that is refused.
        """
        left, reason = arrival.calls, None
        for place, request in enumerate(self._place(arrival.call)):
            numbers = [self._number(touch) for touch in request.touches]
            admitted, refusal = self._model.admit(request.kind, request.touches, arrival.at, left)
            self._count(arrival, place, numbers, left, left - admitted, refusal)
            if refusal is not None:
                reason = refusal
                self._note(refusal, arrival, left - admitted)
            left = admitted
            if not left:
                break
        return arrival.calls - left, reason

    def _count(
        self,
        arrival: Arrival,
        place: int,
        numbers: list[int],
        calls: int,
        refused: int,
        refusal: Refusal | None,
    ) -> None:
        """Count what a request of some calls asked for, by key, by partition and in all."""
        request = self._place(arrival.call)[place]
        refused_by = "" if refusal is None else refusal.name
        for touch, number in zip(request.touches, numbers, strict=True):
            lost = refused if refusal is not None and touch.name == refused_by else 0
            units, lost_units = touch.units * calls, touch.units * lost
            shared = [self._total(self._totals, touch.name, request.kind, "")]
            if number:
                label = f"partition {number}"
                shared.append(self._total(self._partitions, touch.name, request.kind, label))
            for count in shared:
                count.add(units, lost_units)
                self._changed[id(count)] = count
        if len(arrival.share_of) > 1:
            key = id(arrival.share_of), place
            group = self._groups_seen.get(key)
            if group is None:
                # It keeps the members, so that their id stays theirs.
                group = self._groups_seen[key] = _GroupCount(arrival.share_of, self._state)
            group.add(calls, refused, refused_by)
            self._changed[id(group)] = group
            return
        touches = request.touches
        for touch, count in zip(touches, self._counts_of(arrival.call, place), strict=True):
            lost = refused if refusal is not None and touch.name == refused_by else 0
            count.add(touch.units * calls, touch.units * lost)
            self._changed[id(count)] = count

    def _add_groups(self) -> None:
        """Add what groups of calls asked for to the counts of their keys, by their shares."""
        # While calls are grouped alike, the peaks of all groups with a key are its peak.
        peaks: dict[tuple[int, Hashable], float] = {}
        for (_, place), group in self._groups_seen.items():
            for call, share in group.members:
                touches = self._place(call)[place].touches
                for touch, count in zip(touches, self._counts_of(call, place), strict=True):
                    units = touch.units * share
                    count.units += units * group.calls
                    count.refused += units * group.refused.get(touch.name, 0)
                    at = id(count), group.state
                    peaks[at] = peaks.get(at, 0.0) + units * group.peak
                    count.peak = max(count.peak, peaks[at])

    def _total(
        self, counts: dict[_CountKey, _Count], name: str, kind: UnitKind, label: str
    ) -> _Count:
        found = counts.get((name, kind, label))
        if found is None:
            found = counts[name, kind, label] = _Count()
        return found

    def _counts_of(self, call: int, place: int) -> tuple[_Count, ...]:
        """Return the counts of the keys that a request uses."""
        found = self._key_counts.get((call, place))
        if found is None:
            request = self._load.calls[call].requests[place]
            counts: list[_Count] = []
            for use, role, for_others in request.uses:
                if for_others:
                    counts.append(_Count())
                    continue
                label = _label(use, self._plan.layouts[use.name])
                count = self._total(self._keys, use.name, request.kind, label)
                count.role = role
                counts.append(count)
            found = self._key_counts[call, place] = tuple(counts)
        return found

    def _note(self, refusal: Refusal, arrival: Arrival, count: int) -> None:
        found = self._throttled.setdefault(refusal, _Throttled(arrival.at))
        found.calls += count
        pattern = self._load.calls[arrival.call].pattern
        found.patterns[pattern] = found.patterns.get(pattern, 0) + count

    def _list_throttling(self) -> Iterator[ThrottlingStart]:
        for refusal, found in sorted(self._throttled.items(), key=lambda each: each[1].at):
            patterns = sorted(found.patterns, key=lambda each: -found.patterns[each])
            yield ThrottlingStart(
                refusal.reason, refusal.name, found.at, found.calls, tuple(patterns)
            )

    def _place(self, call: int) -> tuple[_PlacedRequest, ...]:
        """Return the requests of a call, with the places of their keys."""
        found = self._placed.get(call)
        if found is None:
            layouts = self._plan.layouts
            found = self._placed[call] = tuple(
                _PlacedRequest(
                    each.kind, tuple(layouts[use.name].touch(use) for use, *_ in each.uses)
                )
                for each in self._load.calls[call].requests
            )
        return found


def _label(use: KeyUse, layout: KeyLayout) -> str:
    if use.key is None:
        return "(scans)"
    return ", ".join(str(next(iter(use.key[name].values()))) for name in layout.partition)


def _rank(counts: Mapping[_CountKey, _Count]) -> tuple[HotSpot, ...]:
    spots = [
        HotSpot(name, kind, label, count.role, count.peak, count.units, count.refused)
        for (name, kind, label), count in counts.items()
    ]
    return tuple(sorted(spots, key=lambda each: -each.peak))
