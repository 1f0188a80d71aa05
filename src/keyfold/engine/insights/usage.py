"""Usage monitoring of tables: throttling to on-demand maximums, and counting of hot keys.

Few tables need it. One that does has a `UsageMonitor`, to which the ordinary paths of reads and
writes report; the fast paths leave such tables to them, so that all other tables pay nothing.
Counts are per process, and start from zero with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import orjson

from keyfold.capacity import TokenBucket, UnitKind, new_bucket, refill, take, throttling_reason
from keyfold.clocks import Clock
from keyfold.engine.insights.hot_keys import HotKey, KeyCounter
from keyfold.errors import ThrottlingException
from keyfold.values import Item, restore_binaries

View = Literal["partition", "item"]

ACCESSED_AND_THROTTLED = "ACCESSED_AND_THROTTLED_KEYS"

_EXCEEDED = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"


class CountedKeyNames(NamedTuple):
    """The attribute names of a key: the partition key's, and all of them."""

    partition: tuple[str, ...]
    whole: tuple[str, ...]


class UsagePlan(NamedTuple):
    """What to monitor, by the name of the index; "" is the table."""

    maximums: Mapping[tuple[str, UnitKind], int]
    insights: Mapping[str, str]
    keys: Mapping[str, CountedKeyNames]


class _KeyCounts:
    """The counts of the accessed and throttled keys of one table, or of one index."""

    def __init__(self) -> None:
        self.counters: dict[tuple[bool, View], KeyCounter] = {
            (throttled, view): KeyCounter()
            for throttled in (False, True)
            for view in ("partition", "item")
        }


class UsageMonitor:
    """Throttles the use of one table, and counts the keys that are used."""

    def __init__(self, plan: UsagePlan, arn: str, clock: Clock) -> None:
        self._arn, self._clock = arn, clock
        self._lock = threading.Lock()
        self._buckets: dict[tuple[str, UnitKind], TokenBucket] = {}
        self._key_counts: dict[str, _KeyCounts] = {}
        self.plan = plan
        self.update_plan(plan)

    def update_plan(self, plan: UsagePlan) -> None:
        """Switch to another plan; maximums and counts that it has too keep their state."""
        with self._lock:
            self.plan = plan
            now, before = self._clock(), self._buckets
            self._buckets = {
                resource: before[resource]
                if resource in before and before[resource].units_per_second == maximum
                else new_bucket(maximum, now)
                for resource, maximum in plan.maximums.items()
            }
            self._key_counts = {
                name: self._key_counts.get(name, _KeyCounts()) for name in plan.insights
            }

    def admit(self, kind: UnitKind, index: str, key: Item | None) -> None:
        """Raise ThrottlingException if a maximum is exhausted, and count `key` as throttled.

        A write uses the table and every index, a read one of them.
        """
        if not self._buckets:
            return
        with self._lock:
            now = self._clock()
            for (name, limited), bucket in self._buckets.items():
                if limited == kind and (kind == "Write" or name == index):
                    refilled = self._buckets[name, kind] = refill(bucket, now)
                    if refilled.is_empty:
                        self._count(name, key, throttled=True)
                        raise self._exceeded(kind, name)

    def _exceeded(self, kind: UnitKind, name: str) -> ThrottlingException:
        limit = "MaxOnDemandThroughputExceeded"
        reason = throttling_reason("Index" if name else "Table", kind, limit)
        resource = f"{self._arn}/index/{name}" if name else self._arn
        reasons = [{"reason": reason, "resource": resource}]
        return ThrottlingException(_EXCEEDED, {"throttlingReasons": reasons})

    def use(self, kind: UnitKind, units: Mapping[str, float]) -> None:
        """Subtract the units that a request consumed of the table ("") and of each index."""
        if not self._buckets:
            return
        with self._lock:
            for name, consumed in units.items():
                bucket = self._buckets.get((name, kind))
                if bucket is not None:
                    self._buckets[name, kind] = take(bucket, consumed)

    def count(self, index: str, items: Iterable[Item]) -> None:
        """Count the access to items, or keys, through an index or the table ("")."""
        if self.plan.insights.get(index) != ACCESSED_AND_THROTTLED:
            return
        with self._lock:
            for item in items:
                self._count(index, item, throttled=False)

    def _count(self, index: str, item: Item | None, *, throttled: bool) -> None:
        counts = self._key_counts.get(index)
        if counts is None or item is None:
            return
        names = self.plan.keys[index]
        views: tuple[tuple[View, tuple[str, ...]], ...] = (
            ("partition", names.partition),
            ("item", names.whole),
        )
        for view, attributes in views:
            # A throttled query names a partition, but no item.
            if all(name in item for name in attributes):
                key = orjson.dumps({name: item[name] for name in attributes})
                counts.counters[throttled, view].add(key)

    def counts_keys(self, index: str) -> bool:
        """Return whether the keys of an index, or of the table (""), are counted."""
        return index in self.plan.insights

    def hottest(self, index: str, view: View, *, throttled: bool, limit: int) -> list[HotKey]:
        """Return the keys that were accessed, or throttled, most often."""
        with self._lock:
            top = self._key_counts[index].counters[throttled, view].top(limit)
        return [
            HotKey(restore_binaries(orjson.loads(key)), count, at_least)
            for key, count, at_least in top
        ]


class UsageMonitors:
    """The monitors of one engine, kept while the catalog's cache of their tables is dropped."""

    def __init__(self, clock: Clock, table_arn: Callable[[str], str]) -> None:
        self._clock, self._table_arn = clock, table_arn
        self._by_id: dict[str, UsageMonitor] = {}
        self._lock = threading.Lock()

    def monitor_for(self, body: Mapping[str, Any]) -> UsageMonitor | None:
        """Return the monitor that a table's body requires, or None.

        It is created, updated or dropped as the body says.
        """
        plan = plan_usage(body)
        with self._lock:
            if plan is None:
                self._by_id.pop(body["id"], None)
                return None
            monitor = self._by_id.get(body["id"])
            if monitor is None:
                arn = self._table_arn(body["name"])
                monitor = self._by_id[body["id"]] = UsageMonitor(plan, arn, self._clock)
            elif monitor.plan != plan:
                monitor.update_plan(plan)
            return monitor

    def forget(self, table_id: str) -> None:
        """Drop the monitor of a deleted table."""
        with self._lock:
            self._by_id.pop(table_id, None)


def plan_usage(body: Mapping[str, Any]) -> UsagePlan | None:
    """Return what to monitor for a table, or None, as for most tables."""
    insights: dict[str, str] = {
        name: each["mode"] for name, each in body.get("insights", {}).items() if each["is_enabled"]
    }
    maximums: dict[tuple[str, UnitKind], int] = {}
    if body["billing_mode"] == "PAY_PER_REQUEST":
        given = [("", body["settings"].get("OnDemandThroughput"))]
        given += [(each["name"], each.get("on_demand")) for each in body["indexes"]]
        for name, throughput in given:
            units: dict[str, int] = throughput or {}
            for kind, member in _MEMBERS:
                maximum = units.get(member, -1)
                if maximum > 0:
                    maximums[name, kind] = maximum
    if not insights and not maximums:
        return None
    keys = {"": _read_names(body["key"])}
    keys |= {each["name"]: _read_names(each["key"]) for each in body["indexes"]}
    return UsagePlan(maximums, insights, keys)


_MEMBERS: tuple[tuple[UnitKind, str], ...] = (
    ("Read", "MaxReadRequestUnits"),
    ("Write", "MaxWriteRequestUnits"),
)


def _read_names(schema: list[dict[str, str]]) -> CountedKeyNames:
    partition = [each["AttributeName"] for each in schema if each["KeyType"] == "HASH"]
    return CountedKeyNames(tuple(partition), tuple(each["AttributeName"] for each in schema))
