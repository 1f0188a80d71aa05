"""The forecast of a month: each pattern, table and indexes, and what the table has besides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from keyfold.analysis.cost._assumptions import list_assumptions
from keyfold.analysis.cost._prices import ClassPrices, Prices, TableClass
from keyfold.analysis.profiles import PatternProfile, TableProfile
from keyfold.analysis.sizes import StoredSize
from keyfold.capacity import count_partitions, write_units
from keyfold.model._expected_use import MONTH_SECONDS
from keyfold.values import item_size_bytes

GIB = 2**30
# DynamoDB adds this to the size of each item, and of each entry of an index.
OVERHEAD_BYTES = 100
REPLICA_WRITES = "writes to replicas"
_MILLION = 1_000_000
# Each program that follows a stream asks a shard for records about once a second.
_STREAM_READS = MONTH_SECONDS


@dataclass(frozen=True, slots=True)
class PatternCost:
    """What one pattern costs: the units of a call, and the dollars of a month, on demand.

    `share` is its part of the month. A pattern that could not be measured has no units, and
    `problem` says why.
    """

    name: str
    read_units: float
    write_units: float
    calls: float
    month_usd: float
    share: float = 0.0
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the cost as a JSON object."""
        problem = {} if self.problem is None else {"problem": self.problem}
        return {
            "name": self.name,
            "read_units": self.read_units,
            "write_units": self.write_units,
            "calls_month": self.calls,
            "month_usd": round(self.month_usd, 6),
            "share": round(self.share, 6),
            **problem,
        }


@dataclass(frozen=True, slots=True)
class PartCost:
    """What the table itself (index None) or an index costs in a month, on demand.

    Its reads and writes are those of the patterns' units that it consumes.
    """

    index: str | None
    items: float
    gigabytes: float
    storage_usd: float
    read_usd: float
    write_usd: float

    @property
    def month_usd(self) -> float:
        """The dollars of the month."""
        return self.storage_usd + self.read_usd + self.write_usd

    def to_json(self) -> dict[str, Any]:
        """Return the cost as a JSON object."""
        return {
            "index": self.index,
            "items": self.items,
            "gigabytes": round(self.gigabytes, 6),
            "storage_usd": round(self.storage_usd, 6),
            "read_usd": round(self.read_usd, 6),
            "write_usd": round(self.write_usd, 6),
            "month_usd": round(self.month_usd, 6),
        }


@dataclass(frozen=True, slots=True)
class CostForecast:
    """The cost of a table in a month of 730 hours, on demand.

    `parts` has the table and each index: their storage, and the same requests as `patterns`.
    `extras` are dollars for what the table has besides: backups, replicas, streams, vectors.
    """

    table: str
    prices: Prices
    table_class: TableClass
    patterns: tuple[PatternCost, ...]
    parts: tuple[PartCost, ...]
    extras: Mapping[str, float]
    assumptions: tuple[str, ...]

    @property
    def requests_usd(self) -> float:
        """The dollars of all patterns."""
        return sum(each.month_usd for each in self.patterns)

    @property
    def storage_usd(self) -> float:
        """The dollars of the table's storage and that of its indexes."""
        return sum(each.storage_usd for each in self.parts)

    @property
    def fixed_usd(self) -> float:
        """The dollars that are the same in every billing mode: without requests, everywhere."""
        extras = sum(usd for name, usd in self.extras.items() if name != REPLICA_WRITES)
        return self.storage_usd + extras

    @property
    def month_usd(self) -> float:
        """The dollars of the month."""
        return self.requests_usd + self.storage_usd + sum(self.extras.values())

    def to_json(self) -> dict[str, Any]:
        """Return the forecast as a JSON object."""
        return {
            "table": self.table,
            "assumptions": list(self.assumptions),
            "patterns": [each.to_json() for each in self.patterns],
            "parts": [each.to_json() for each in self.parts],
            "extras": {name: round(usd, 6) for name, usd in self.extras.items()},
            "month_usd": round(self.month_usd, 6),
            "prices": {"region": self.prices.region, "date": self.prices.date},
        }


def forecast_cost(
    profile: TableProfile, prices: Prices, *, table_class: TableClass = "standard"
) -> CostForecast:
    """Return what a table costs in a month, on demand."""
    rates = prices.of(table_class)
    patterns = tuple(_price_patterns(profile, rates))
    parts = tuple(_price_parts(profile, rates))
    extras = _price_extras(profile, prices, parts)
    whole = sum(each.month_usd for each in patterns)
    whole += sum(each.storage_usd for each in parts) + sum(extras.values())
    shared = tuple(_share(each, whole) for each in patterns)
    notes = (*list_assumptions(profile), *profile.assumptions)
    return CostForecast(profile.table.name, prices, table_class, shared, parts, extras, notes)


def price_call(profile: PatternProfile, rates: ClassPrices) -> float:
    """Return what one call of a pattern costs on demand, in US dollars."""
    reads = profile.read_units * rates.million_read_requests
    return (reads + profile.write_units * rates.million_write_requests) / _MILLION


def stored_bytes(size: StoredSize) -> float:
    """Return the bytes that are billed as storage, DynamoDB's overhead included."""
    return size.bytes + size.items * OVERHEAD_BYTES


def count_calls(profile: TableProfile, pattern: str) -> float:
    """Return how often a pattern is called in a month; 0 if its rate is not known."""
    rate = profile.workload.patterns[pattern].rate
    return 0.0 if rate is None else rate.per_month


def _price_patterns(profile: TableProfile, rates: ClassPrices) -> Iterator[PatternCost]:
    for name, each in profile.patterns.items():
        calls = count_calls(profile, name)
        yield PatternCost(
            name,
            each.read_units,
            each.write_units,
            calls,
            calls * price_call(each, rates),
            problem=each.problem,
        )


def _share(cost: PatternCost, whole: float) -> PatternCost:
    share = cost.month_usd / whole if whole else 0.0
    return replace(cost, share=share)


def _price_parts(profile: TableProfile, rates: ClassPrices) -> Iterator[PartCost]:
    for index in (None, *(each.name for each in profile.table.indexes)):
        size = profile.sizes.total(index)
        gigabytes = stored_bytes(size) / GIB
        reads, writes = _count_units(profile, index)
        yield PartCost(
            index,
            size.items,
            gigabytes,
            gigabytes * rates.storage_gb_month,
            reads * rates.million_read_requests / _MILLION,
            writes * rates.million_write_requests / _MILLION,
        )


def _count_units(profile: TableProfile, index: str | None) -> tuple[float, float]:
    """Return the read and write units of a month."""
    reads = writes = 0.0
    for name, each in profile.patterns.items():
        calls = count_calls(profile, name)
        reads += calls * each.units_of(index, is_read=True)
        writes += calls * each.units_of(index, is_read=False)
    return reads, writes


def _price_extras(
    profile: TableProfile, prices: Prices, parts: tuple[PartCost, ...]
) -> dict[str, float]:
    settings, extra = profile.workload.settings, prices.extras
    # Backups have the table and its local indexes; global ones are built again.
    local = {each.name for each in profile.table.indexes if each.local}
    kept = sum(each.gigabytes for each in parts if each.index is None or each.index in local)
    found: dict[str, float] = {}
    if settings.point_in_time_recovery:
        found["point-in-time recovery"] = kept * extra.pitr_gb_month
    if settings.backups:
        found["backups"] = kept * settings.backups * extra.backup_gb_month
    if settings.exports:
        found["exports"] = kept * settings.exports * extra.export_gb
    if settings.restores:
        found["restores"] = kept * settings.restores * extra.restore_gb
    if settings.kinesis:
        captured = _count_captured(profile)
        found["changes to Kinesis"] = captured * extra.million_kinesis_units / _MILLION
    if settings.replicas:
        found[REPLICA_WRITES] = settings.replicas * sum(each.write_usd for each in parts)
        found["storage of replicas"] = settings.replicas * sum(each.storage_usd for each in parts)
    if profile.table.stream is not None and settings.stream_consumers:
        reads = settings.stream_consumers * _count_shards(profile, parts[0]) * _STREAM_READS
        charged = max(0.0, reads - extra.free_stream_reads)
        found["stream reads"] = charged * extra.million_stream_reads / _MILLION
    if settings.vectors_written_gb:
        found["vectors written"] = settings.vectors_written_gb * extra.vector_write_gb
    if settings.vectors_searched_gb:
        found["vectors searched"] = settings.vectors_searched_gb * extra.vector_search_gb
    return found


def _count_captured(profile: TableProfile) -> float:
    """Return the units of a month that capture changes: one for each KB of a changed item."""
    total = 0.0
    for name, each in profile.patterns.items():
        units = sum(
            write_units(max(item_size_bytes(item) for item in change if item is not None))
            for run in each.runs
            for call in run.calls
            for change in call.changes
            if change[0] != change[1]
        )
        total += count_calls(profile, name) * units / max(1, len(each.runs))
    return total


def _count_shards(profile: TableProfile, table: PartCost) -> int:
    """Return how many shards the stream has at a time: one for each partition of the table."""
    reads, writes = (math.ceil(each / MONTH_SECONDS) for each in _count_units(profile, None))
    size_bytes = math.ceil(table.gigabytes * GIB)
    return count_partitions(size_bytes, read_units_per_second=reads, write_units_per_second=writes)
