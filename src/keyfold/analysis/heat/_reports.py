"""The report about the heat of a table: runs at several factors, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from keyfold.analysis.heat._loads import Load
from keyfold.analysis.heat._plans import HeatPlan
from keyfold.analysis.heat._populations import KeyRole
from keyfold.analysis.heat._simulation import HeatRun, HotSpot, ThrottlingStart, simulate
from keyfold.capacity import PARTITION_UNITS, UnitKind

KEY_RANGE = "KeyRangeThroughputExceeded"
# Shards are planned for this share of what a partition serves.
_PLANNED_SHARE = 0.7
_MOST_SHOWN = 10
# How many times the least number of shards is tried, and whether with more warm throughput: with few
# shards, several may lie in one partition. More than `_MANY_SHARDS` lie in all of them anyway.
_ATTEMPTS = ((1, False), (2, False), (4, False), (2, True), (4, True))
_MANY_SHARDS = 64
# Whether a change helps shows soon: a partition keeps its units for a second.
_REMEDY_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that was simulated at one factor: what it is, and whether it clears the throttling.

    `shards` are by table or index and entity, `warm` units by table or index.
    """

    factor: float
    shards: Mapping[KeyRole, int]
    warm: Mapping[str, Mapping[UnitKind, int]]
    refused_before: int
    refused_after: int

    @property
    def clears(self) -> bool:
        """Whether no partition refuses anything any more."""
        return self.refused_after == 0

    @property
    def text(self) -> str:
        """One sentence about it."""
        parts = [
            f"write sharding of {entity} in {_name(name)} by {count:,}"
            for (name, entity), count in self.shards.items()
        ]
        for name, units in self.warm.items():
            shown = " and ".join(f"{count:,} {kind.lower()}" for kind, count in units.items())
            parts.append(f"a warm throughput of {shown} units a second for {_name(name)}")
        change = _enumerate(parts)
        verb = "clears the throttling by partitions"
        if not self.clears:
            # Never "100 %", which would be all.
            share = min(0.99, 1 - self.refused_after / self.refused_before)
            verb = f"refuses {share:.0%} fewer calls" if share > 0 else "does not help"
        return f"At {self.factor:g}x, {change} {verb}."


@dataclass(frozen=True, slots=True)
class HeatReport:
    """The heat of a table at several factors, what would help, and what was assumed."""

    table: str
    runs: tuple[HeatRun, ...]
    remedies: tuple[Remedy, ...]
    advice: tuple[str, ...]
    assumptions: tuple[str, ...]
    # From when to when the load is at its peak, in seconds.
    peak: tuple[int, int] | None

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "table": self.table,
            "assumptions": list(self.assumptions),
            "peak": None if self.peak is None else list(self.peak),
            "runs": [_describe_run(each) for each in self.runs],
            "advice": [*(each.text for each in self.remedies), *self.advice],
        }


def report_heat(
    table: str,
    load: Load,
    plan: HeatPlan,
    factors: Sequence[float],
    assumptions: Sequence[str] = (),
) -> HeatReport:
    """Simulate a load at each factor, and what would clear the throttling of partitions."""
    runs = tuple(simulate(load, plan, factor) for factor in factors)
    remedies = [found for run in runs if (found := _find_remedy(load, plan, run)) is not None]
    advice = [each for run in runs for each in _advise(run)]
    peak = next(((each.start, each.end) for each in load.phases if each.is_peak), None)
    return HeatReport(
        table, runs, tuple(remedies), tuple(dict.fromkeys(advice)), tuple(assumptions), peak
    )


def _find_remedy(load: Load, plan: HeatPlan, run: HeatRun) -> Remedy | None:
    """Return the smallest change that clears the throttling of partitions, or the best one."""
    if not run.refusals_of(KEY_RANGE):
        return None
    short = load.shorten(_REMEDY_SECONDS)
    before = simulate(short, plan, run.factor).refusals_of(KEY_RANGE)
    best: Remedy | None = None
    for shards, warm in _list_changes(run):
        limits = {name: each._replace(warm=warm.get(name)) for name, each in plan.limits.items()}
        changed = replace(plan, limits=limits)
        after = simulate(short.shard(shards), changed, run.factor).refusals_of(KEY_RANGE)
        if best is None or after < best.refused_after:
            best = Remedy(run.factor, shards, warm, before, after)
        if best.clears:
            break
    return best


def _list_changes(
    run: HeatRun,
) -> Iterator[tuple[dict[KeyRole, int], dict[str, dict[UnitKind, int]]]]:
    """Yield shards and warm throughput to try, the smallest change first."""
    shards, warm = _plan_shards(run), _plan_warm(run)
    if not shards:
        yield {}, warm
        return
    # No sharding helps if the partitions together cannot serve what is asked for.
    needs_warm = any(
        peak > run.partition_counts[name][0] * PARTITION_UNITS[kind]
        for (name, kind), peak in run.peaks.items()
    )
    tried: set[tuple[bool, tuple[int, ...]]] = set()
    for times, warms in _ATTEMPTS:
        more = {
            role: max(count, min(count * times, _MANY_SHARDS)) for role, count in shards.items()
        }
        attempt = warms, tuple(more.values())
        if attempt not in tried and (warms or not needs_warm):
            tried.add(attempt)
            yield more, warm if warms else {}


def _plan_shards(run: HeatRun) -> dict[KeyRole, int]:
    """Return how many shards each role needs whose hottest key is written more than is served."""
    shards: dict[KeyRole, int] = {}
    for spot in run.keys:
        is_hot = spot.kind == "Write" and spot.peak > PARTITION_UNITS["Write"]
        if is_hot and spot.role is not None:
            count = ceil(spot.peak / (_PLANNED_SHARE * PARTITION_UNITS["Write"]))
            shards[spot.role] = max(count, shards.get(spot.role, 1))
    return shards


def _plan_warm(run: HeatRun) -> dict[str, dict[UnitKind, int]]:
    """Return a warm throughput for what was refused: the peak, and some room."""
    warm: dict[str, dict[UnitKind, int]] = {}
    for each in run.throttling:
        if each.reason.endswith(KEY_RANGE):
            kind = _kind_of(each)
            wanted = run.peaks[each.name, kind] / _PLANNED_SHARE
            warm.setdefault(each.name, {})[kind] = ceil(wanted / 1_000) * 1_000
    return warm


def _advise(run: HeatRun) -> list[str]:
    """Return sentences about what no sharding of writes helps against."""
    advice: list[str] = []
    for each in run.throttling:
        if each.reason.endswith("AccountLimitExceeded"):
            advice.append(
                f"At {run.factor:g}x, {_name(each.name)} needs a higher quota of the account."
            )
        kind = _kind_of(each)
        units = ceil(run.peaks[each.name, kind])
        if each.reason.endswith("MaxOnDemandThroughputExceeded"):
            advice.append(
                f"At {run.factor:g}x, {_name(each.name)} needs a maximum of {units:,} {kind.lower()} "
                "units on demand; it declares less."
            )
        if each.reason.endswith("ProvisionedThroughputExceeded"):
            advice.append(
                f"At {run.factor:g}x, {_name(each.name)} needs {units:,} provisioned "
                f"{kind.lower()} units, or on-demand."
            )
    read: dict[str, list[str]] = {}
    for spot in run.keys:
        if spot.kind == "Read" and spot.peak > PARTITION_UNITS["Read"] and spot.refused:
            read.setdefault(spot.name, []).append(spot.label)
    for name, labels in read.items():
        more = f" and {len(labels) - 1:,} more" if len(labels) > 1 else ""
        verb = "are" if more else "is"
        advice.append(
            f"At {run.factor:g}x, {labels[0]}{more} in {_name(name)} {verb} read more often than a "
            "partition can serve: cache what is read, or keep copies of it under several keys."
        )
    return advice


def _enumerate(parts: Sequence[str]) -> str:
    """Return parts as a list in a sentence.

    >>> _enumerate(["one", "two", "three"])
    'one, two and three'
    """
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _kind_of(start: ThrottlingStart) -> UnitKind:
    return "Read" if start.reason.startswith(("TableRead", "IndexRead")) else "Write"


def _name(name: str) -> str:
    return f"index {name}" if name else "the table"


def _describe_run(run: HeatRun) -> dict[str, Any]:
    return {
        "factor": run.factor,
        "seconds": run.seconds,
        "calls": run.calls,
        "refused": run.refused,
        "throttling": [
            {
                "reason": each.reason,
                "index": each.name or None,
                "begins": round(each.at, 3),
                "calls": each.calls,
                "patterns": list(each.patterns),
            }
            for each in run.throttling
        ],
        "keys": [_describe_spot(each) for each in run.keys[:_MOST_SHOWN]],
        "partitions": [_describe_spot(each) for each in run.partitions[:_MOST_SHOWN]],
        "partition_counts": {
            name: {"first": first, "last": last}
            for name, (first, last) in run.partition_counts.items()
        },
    }


def _describe_spot(spot: HotSpot) -> dict[str, Any]:
    return {
        "index": spot.name or None,
        "kind": spot.kind.lower(),
        "name": spot.label,
        "peak_units": round(spot.peak, 2),
        "units": round(spot.units, 2),
        "refused_units": round(spot.refused, 2),
    }
