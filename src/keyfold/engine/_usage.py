"""Tables whose use is watched: held to a maximum, or counted key by key.

Few tables are. One that is has a `Watch`, which the ordinary ways of reading and writing
tell what they do; the quick roads do not know such tables, so that all the others pay
nothing. What is counted stays in this process, and starts anew with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import orjson

from keyfold.engine._hot_keys import HotKey, KeyCounter
from keyfold.errors import ThrottlingException
from keyfold.values import Item, restore_binaries

Kind = Literal["Read", "Write"]
View = Literal["partition", "item"]

ACCESSED_AND_THROTTLED = "ACCESSED_AND_THROTTLED_KEYS"

_EXCEEDED = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"


class CountedKeyNames(NamedTuple):
    """The attributes that a key consists of: the partition's, and all of them."""

    partition: tuple[str, ...]
    whole: tuple[str, ...]


class UsagePlan(NamedTuple):
    """What is to be watched, by the name of the index; the table's own name is empty."""

    maximums: Mapping[tuple[str, Kind], int]
    insights: Mapping[str, str]
    keys: Mapping[str, CountedKeyNames]


class TokenBucket:
    """Units that may be used: so many a second, and as many at once.

    What a request will use is known when it is done: it is let in while anything is left, and
    what it used too much is owed by those that follow.
    """

    def __init__(self, units_per_second: int, now: float) -> None:
        self.rate = units_per_second
        self._left = float(units_per_second)
        self._at = now

    def has_any(self, now: float) -> bool:
        """Tell whether anything is left at this time."""
        passed = max(now - self._at, 0.0)
        self._left = min(float(self.rate), self._left + passed * self.rate)
        self._at = now
        return self._left > 0

    def take(self, units: float) -> None:
        """Use so many units."""
        self._left -= units


class _Insight:
    """The counts of one table, or of one index."""

    def __init__(self) -> None:
        self.counters: dict[tuple[bool, View], KeyCounter] = {
            (throttled, view): KeyCounter()
            for throttled in (False, True)
            for view in ("partition", "item")
        }


class UsageMonitor:
    """What one table's use is held against, and what is counted of it."""

    def __init__(self, plan: UsagePlan, arn: str, clock: Callable[[], float]) -> None:
        self._arn, self._clock = arn, clock
        self._lock = threading.Lock()
        self._buckets: dict[tuple[str, Kind], TokenBucket] = {}
        self._insights: dict[str, _Insight] = {}
        self.plan = plan
        self.follow(plan)

    def follow(self, plan: UsagePlan) -> None:
        """Watch by another plan; what stays the same goes on from where it is."""
        with self._lock:
            self.plan = plan
            now, before = self._clock(), self._buckets
            self._buckets = {
                place: before[place]
                if place in before and before[place].rate == most
                else TokenBucket(most, now)
                for place, most in plan.maximums.items()
            }
            self._insights = {name: self._insights.get(name, _Insight()) for name in plan.insights}

    def admit(self, kind: Kind, index: str, key: Item | None) -> None:
        """Raise ThrottlingException while a maximum is used up; `key` is what it was about.

        A write uses the table and every index, a read one of them.
        """
        if not self._buckets:
            return
        with self._lock:
            now = self._clock()
            for (name, limited), bucket in self._buckets.items():
                concerned = limited == kind and (kind == "Write" or name == index)
                if concerned and not bucket.has_any(now):
                    self._count(name, key, throttled=True)
                    raise self._exceeded(kind, name)

    def _exceeded(self, kind: Kind, name: str) -> ThrottlingException:
        reason = f"{'Index' if name else 'Table'}{kind}MaxOnDemandThroughputExceeded"
        resource = f"{self._arn}/index/{name}" if name else self._arn
        reasons = [{"reason": reason, "resource": resource}]
        return ThrottlingException(_EXCEEDED, {"throttlingReasons": reasons})

    def use(self, kind: Kind, units: Mapping[str, float]) -> None:
        """Take what a request consumed of the table and of each index, by name."""
        if not self._buckets:
            return
        with self._lock:
            for name, consumed in units.items():
                bucket = self._buckets.get((name, kind))
                if bucket is not None:
                    bucket.take(consumed)

    def count(self, index: str, items: Iterable[Item]) -> None:
        """Count the use of items, or of keys, through an index or the table itself."""
        if self.plan.insights.get(index) != ACCESSED_AND_THROTTLED:
            return
        with self._lock:
            for item in items:
                self._count(index, item, throttled=False)

    def _count(self, index: str, item: Item | None, *, throttled: bool) -> None:
        insight = self._insights.get(index)
        if insight is None or item is None:
            return
        names = self.plan.keys[index]
        views: tuple[tuple[View, tuple[str, ...]], ...] = (
            ("partition", names.partition),
            ("item", names.whole),
        )
        for view, attributes in views:
            # A query that is refused names a partition, and no item of it.
            if all(name in item for name in attributes):
                key = orjson.dumps({name: item[name] for name in attributes})
                insight.counters[throttled, view].add(key)

    def counts_keys(self, index: str) -> bool:
        """Tell whether the keys of an index, or of the table itself, are counted."""
        return index in self.plan.insights

    def hottest(self, index: str, view: View, *, throttled: bool, limit: int) -> list[HotKey]:
        """Return the keys that were used, or refused, the most."""
        with self._lock:
            top = self._insights[index].counters[throttled, view].top(limit)
        return [
            HotKey(restore_binaries(orjson.loads(key)), count, at_least)
            for key, count, at_least in top
        ]


class Watches:
    """The watches of one engine, which outlive what is known of their tables."""

    def __init__(self, clock: Callable[[], float], table_arn: Callable[[str], str]) -> None:
        self._clock, self._table_arn = clock, table_arn
        self._by_id: dict[str, UsageMonitor] = {}
        self._lock = threading.Lock()

    def keep(self, body: Mapping[str, Any]) -> UsageMonitor | None:
        """Return the watch of a table that its body asks for; None, and no trace, for others."""
        plan = plan_watch(body)
        with self._lock:
            if plan is None:
                self._by_id.pop(body["id"], None)
                return None
            watch = self._by_id.get(body["id"])
            if watch is None:
                arn = self._table_arn(body["name"])
                watch = self._by_id[body["id"]] = UsageMonitor(plan, arn, self._clock)
            elif watch.plan != plan:
                watch.follow(plan)
            return watch

    def forget(self, table_id: str) -> None:
        """Drop the watch of a table that is gone."""
        with self._lock:
            self._by_id.pop(table_id, None)


def plan_watch(body: Mapping[str, Any]) -> UsagePlan | None:
    """Return what a table's body asks to be watched; None for most."""
    insights: dict[str, str] = {
        name: each["mode"] for name, each in body.get("insights", {}).items() if each["is_enabled"]
    }
    maximums: dict[tuple[str, Kind], int] = {}
    if body["billing_mode"] == "PAY_PER_REQUEST":
        given = [("", body["settings"].get("OnDemandThroughput"))]
        given += [(each["name"], each.get("on_demand")) for each in body["indexes"]]
        for name, throughput in given:
            units: dict[str, int] = throughput or {}
            for kind, member in _MEMBERS:
                most = units.get(member, -1)
                if most > 0:
                    maximums[name, kind] = most
    if not insights and not maximums:
        return None
    keys = {"": _read_names(body["key"])}
    keys |= {each["name"]: _read_names(each["key"]) for each in body["indexes"]}
    return UsagePlan(maximums, insights, keys)


_MEMBERS: tuple[tuple[Kind, str], ...] = (
    ("Read", "MaxReadRequestUnits"),
    ("Write", "MaxWriteRequestUnits"),
)


def _read_names(schema: list[dict[str, str]]) -> CountedKeyNames:
    partition = [each["AttributeName"] for each in schema if each["KeyType"] == "HASH"]
    return CountedKeyNames(tuple(partition), tuple(each["AttributeName"] for each in schema))
