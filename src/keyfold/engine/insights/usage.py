"""Usage monitoring of tables: throttling, and counting of hot keys.

On-demand maximums are always enforced; provisioned throughput, partitions and the account's quota
if the engine was opened with `throttling="partitions"`. `keyfold.capacity` has the model.

Few tables need it. One that does has a `UsageMonitor`, to which the ordinary paths of reads and
writes report; the fast paths leave such tables to them, so that all other tables pay nothing.
Counts are per process, and start from zero with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from keyfold.capacity import KeyLayout, KeyUse, ResourceLimits, ThroughputModel, Touch, UnitKind
from keyfold.clocks import Clock
from keyfold.engine.insights.hot_keys import HotKey, KeyCounter
from keyfold.engine.insights.throttling_errors import throttling_error
from keyfold.values import Item, restore_binaries

View = Literal["partition", "item"]
# Called with the table's name, and what a request read or wrote of it.
OnUse = Callable[[str, UnitKind, Sequence[KeyUse]], None]

ACCESSED_AND_THROTTLED = "ACCESSED_AND_THROTTLED_KEYS"


class CountedKeyNames(NamedTuple):
    """The attribute names of a key: the partition key's, and all of them."""

    partition: tuple[str, ...]
    whole: tuple[str, ...]


class UsagePlan(NamedTuple):
    """What to monitor, by the name of the index; "" is the table."""

    table: str
    has_partitions: bool
    # Those of the table and its global indexes; local ones share the table's.
    limits: Mapping[str, ResourceLimits]
    # The keys by which they are partitioned.
    layouts: Mapping[str, KeyLayout]
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

    def __init__(
        self, plan: UsagePlan, arn: str, clock: Clock, on_use: OnUse | None = None
    ) -> None:
        self._arn, self._clock, self._on_use = arn, clock, on_use
        self._lock = threading.Lock()
        self._key_counts: dict[str, _KeyCounts] = {}
        self.plan = plan
        # Whether it has to know which keys of indexes a write uses.
        self.needs_keys = plan.has_partitions or on_use is not None
        self._model = ThroughputModel(plan.limits, clock(), has_partitions=plan.has_partitions)
        self.update_plan(plan)

    def update_plan(self, plan: UsagePlan) -> None:
        """Switch to another plan; limits and counts that it has too keep their state."""
        with self._lock:
            self.plan = plan
            self._model.update(plan.limits, self._clock())
            self._key_counts = {
                name: self._key_counts.get(name, _KeyCounts()) for name in plan.insights
            }

    def admit(self, kind: UnitKind, index: str, key: Item | None) -> None:
        """Raise a throttling error if a limit is exceeded, and count `key` as throttled.

        A write uses the table, and may use every index. A read uses one of them. Without a key, it
        is a scan.
        """
        if self._model.is_limited:
            self._check(kind, self._find_use(index, key, 0.0), key)

    def admit_uses(self, uses: Sequence[KeyUse]) -> None:
        """Raise a throttling error if an index cannot take a write; count its key as throttled."""
        if self.plan.has_partitions:
            for use in uses:
                self._check("Write", use, use.key)

    def _check(self, kind: UnitKind, use: KeyUse, key: Item | None) -> None:
        name, place, _ = self._place(use)
        with self._lock:
            refusal = self._model.check(kind, name, place, self._clock())
            if refusal is None:
                return
            self._count(refusal.name, key, throttled=True)
            is_on_demand = self.plan.limits[refusal.name].units is None
        raise throttling_error(refusal, self._arn, is_on_demand=is_on_demand)

    def _find_use(self, index: str, key: Item | None, units: float) -> KeyUse:
        """Return the use of an index; local ones belong to the table."""
        name = index if index in self.plan.limits else ""
        # A statement may name only some attributes of a partition key.
        found = None if key is None else self.plan.layouts[name].key_in(key)
        return KeyUse(name, found, units)

    def _place(self, use: KeyUse) -> Touch:
        if not self.plan.has_partitions:
            return Touch(use.name, None, use.units)
        return self.plan.layouts[use.name].touch(use)

    def table_use(self, key: Item | None, units: Mapping[str, float]) -> KeyUse:
        """Return the use of the table by a write, of whose units local indexes are a part."""
        own = sum(each for name, each in units.items() if name not in self.plan.limits or not name)
        return self._find_use("", key, own)

    def index_uses(self, units: Mapping[str, float]) -> list[KeyUse]:
        """Return the uses of global indexes by a write, without their keys."""
        return [
            KeyUse(name, None, each)
            for name, each in units.items()
            if name and name in self.plan.limits
        ]

    def use_read(self, index: str, key: Item | None, units: float) -> None:
        """Subtract the units that a read of the table (""), or of an index, consumed."""
        self._use("Read", [self._find_use(index, key, units)])

    def use_write(self, uses: Sequence[KeyUse]) -> None:
        """Subtract the units that a write consumed."""
        self._use("Write", uses)

    def _use(self, kind: UnitKind, uses: Sequence[KeyUse]) -> None:
        if self._model.is_limited:
            touches = [self._place(use) for use in uses]
            with self._lock:
                self._model.take(kind, touches, self._clock())
        if self._on_use is not None:
            self._on_use(self.plan.table, kind, uses)

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

    def __init__(
        self,
        clock: Clock,
        table_arn: Callable[[str], str],
        *,
        has_partitions: bool = False,
        on_use: OnUse | None = None,
    ) -> None:
        self._clock, self._table_arn, self._on_use = clock, table_arn, on_use
        self._has_partitions = has_partitions
        self._by_id: dict[str, UsageMonitor] = {}
        self._lock = threading.Lock()

    def monitor_for(self, body: Mapping[str, Any]) -> UsageMonitor | None:
        """Return the monitor that a table's body requires, or None.

        It is created, updated or dropped as the body says.
        """
        plan = plan_usage(
            body, has_partitions=self._has_partitions, is_recorded=self._on_use is not None
        )
        with self._lock:
            if plan is None:
                self._by_id.pop(body["id"], None)
                return None
            monitor = self._by_id.get(body["id"])
            if monitor is None:
                arn = self._table_arn(body["name"])
                monitor = self._by_id[body["id"]] = UsageMonitor(
                    plan, arn, self._clock, self._on_use
                )
            elif monitor.plan != plan:
                monitor.update_plan(plan)
            return monitor

    def forget(self, table_id: str) -> None:
        """Drop the monitor of a deleted table."""
        with self._lock:
            self._by_id.pop(table_id, None)


def plan_usage(
    body: Mapping[str, Any], *, has_partitions: bool = False, is_recorded: bool = False
) -> UsagePlan | None:
    """Return what to monitor for a table, or None, as for most tables."""
    insights: dict[str, str] = {
        name: each["mode"] for name, each in body.get("insights", {}).items() if each["is_enabled"]
    }
    settings, mode = body["settings"], body["billing_mode"]
    limits = {
        "": _read_limits(
            mode, body["throughput"], settings.get("WarmThroughput"), settings.get(_ON_DEMAND)
        )
    }
    for each in body["indexes"]:
        if each["is_global"]:
            limits[each["name"]] = _read_limits(
                mode, each.get("throughput"), each.get("warm"), each.get("on_demand")
            )
    has_maximum = any(each.maximums for each in limits.values())
    if not (has_partitions or is_recorded or insights or has_maximum):
        return None
    keys = {"": _read_names(body["key"])}
    keys |= {each["name"]: _read_names(each["key"]) for each in body["indexes"]}
    layouts = {name: _read_layout(keys[name]) for name in limits}
    if any(not each["is_global"] for each in body["indexes"]):
        layouts[""] = layouts[""]._replace(keeps_together=True)
    return UsagePlan(body["name"], has_partitions, limits, layouts, insights, keys)


_ON_DEMAND = "OnDemandThroughput"


def _read_limits(
    mode: str,
    provisioned: Mapping[str, int] | None,
    warm: Mapping[str, int] | None,
    on_demand: Mapping[str, int] | None,
) -> ResourceLimits:
    def read(given: Mapping[str, int] | None, members: tuple[str, str]) -> dict[UnitKind, int]:
        found = given or {}
        reads, writes = members
        return {"Read": found.get(reads, 0), "Write": found.get(writes, 0)}

    warmed = read(warm, ("ReadUnitsPerSecond", "WriteUnitsPerSecond"))
    if mode != "PAY_PER_REQUEST":
        units = read(provisioned, ("ReadCapacityUnits", "WriteCapacityUnits"))
        return ResourceLimits(units, warmed)
    maximums = read(on_demand, ("MaxReadRequestUnits", "MaxWriteRequestUnits"))
    positive: dict[UnitKind, int] = {kind: most for kind, most in maximums.items() if most > 0}
    return ResourceLimits(None, warmed, positive)


def _read_names(schema: list[dict[str, str]]) -> CountedKeyNames:
    partition = [each["AttributeName"] for each in schema if each["KeyType"] == "HASH"]
    return CountedKeyNames(tuple(partition), tuple(each["AttributeName"] for each in schema))


def _read_layout(names: CountedKeyNames) -> KeyLayout:
    return KeyLayout(names.partition, names.whole[len(names.partition) :])
