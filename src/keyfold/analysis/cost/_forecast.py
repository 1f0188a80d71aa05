"""The forecast of a month: each pattern, storage, and what the table has besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.analysis.cost._prices import ClassPrices, Prices, TableClass
from keyfold.analysis.profiles import PatternProfile, TableProfile
from keyfold.analysis.sizes import StoredSize
from keyfold.model._expected_use import MONTH_SECONDS

GIB = 2**30
# DynamoDB adds this to the size of each item, and of each entry of an index.
OVERHEAD_BYTES = 100
_MILLION = 1_000_000
# Each program that follows a stream asks a shard for records about once a second.
_STREAM_READS = MONTH_SECONDS


@dataclass(frozen=True, slots=True)
class PatternCost:
    """What one pattern costs: the units of a call, and the dollars of a month, on demand."""

    name: str
    read_units: float
    write_units: float
    calls: float
    month_usd: float

    def to_json(self) -> dict[str, Any]:
        """Return the cost as a JSON object."""
        return {
            "name": self.name,
            "read_units": self.read_units,
            "write_units": self.write_units,
            "calls_month": self.calls,
            "month_usd": round(self.month_usd, 6),
        }


@dataclass(frozen=True, slots=True)
class StorageCost:
    """What the table (None) or an index stores, and what that costs in a month."""

    index: str | None
    items: float
    gigabytes: float
    month_usd: float

    def to_json(self) -> dict[str, Any]:
        """Return the cost as a JSON object."""
        return {
            "index": self.index,
            "items": self.items,
            "gigabytes": round(self.gigabytes, 6),
            "month_usd": round(self.month_usd, 6),
        }


@dataclass(frozen=True, slots=True)
class CostForecast:
    """The cost of a table in a month of 730 hours, on demand.

    `extras` are dollars for what the table has besides: backups, replicas, streams.
    """

    table: str
    prices: Prices
    table_class: TableClass
    patterns: tuple[PatternCost, ...]
    storage: tuple[StorageCost, ...]
    extras: Mapping[str, float]
    assumptions: tuple[str, ...]

    @property
    def requests_usd(self) -> float:
        """The dollars of all patterns."""
        return sum(each.month_usd for each in self.patterns)

    @property
    def storage_usd(self) -> float:
        """The dollars of the table's storage and that of its indexes."""
        return sum(each.month_usd for each in self.storage)

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
            "storage": [each.to_json() for each in self.storage],
            "extras": {name: round(usd, 6) for name, usd in self.extras.items()},
            "month_usd": round(self.month_usd, 6),
            "prices": {"region": self.prices.region, "date": self.prices.date},
        }


def forecast_cost(
    profile: TableProfile, prices: Prices, *, table_class: TableClass = "standard"
) -> CostForecast:
    """Return what a table costs in a month, on demand."""
    rates = prices.of(table_class)
    settings = profile.workload.settings
    patterns = tuple(_price_patterns(profile, rates))
    storage = tuple(_price_storage(profile, rates))
    gigabytes = storage[0].gigabytes
    extras: dict[str, float] = {}
    if settings.point_in_time_recovery:
        extras["point-in-time recovery"] = gigabytes * prices.extras.pitr_gb_month
    if settings.backups:
        extras["backups"] = gigabytes * settings.backups * prices.extras.backup_gb_month
    if settings.replicas:
        writes = sum(each.calls * each.write_units for each in patterns)
        copied = writes * rates.million_write_requests / _MILLION
        stored = sum(each.month_usd for each in storage)
        extras["replicas"] = settings.replicas * (copied + stored)
    if profile.table.stream is not None and settings.stream_consumers:
        reads = max(
            0.0, settings.stream_consumers * _STREAM_READS - prices.extras.free_stream_reads
        )
        extras["stream reads"] = reads * prices.extras.million_stream_reads / _MILLION
    return CostForecast(
        profile.table.name,
        prices,
        table_class,
        patterns,
        storage,
        extras,
        (*_assume(profile), *profile.assumptions),
    )


def _price_patterns(profile: TableProfile, rates: ClassPrices) -> Iterator[PatternCost]:
    for name, each in profile.patterns.items():
        rate = profile.workload.patterns[name].rate
        calls = 0.0 if rate is None else rate.per_month
        yield PatternCost(
            name, each.read_units, each.write_units, calls, calls * price_call(each, rates)
        )


def price_call(profile: PatternProfile, rates: ClassPrices) -> float:
    """Return what one call of a pattern costs on demand, in US dollars."""
    reads = profile.read_units * rates.million_read_requests
    return (reads + profile.write_units * rates.million_write_requests) / _MILLION


def _price_storage(profile: TableProfile, rates: ClassPrices) -> Iterator[StorageCost]:
    for index in (None, *(each.name for each in profile.table.indexes)):
        size = profile.sizes.total(index)
        gigabytes = stored_bytes(size) / GIB
        yield StorageCost(index, size.items, gigabytes, gigabytes * rates.storage_gb_month)


def stored_bytes(size: StoredSize) -> float:
    """Return the bytes that are billed as storage, DynamoDB's overhead included."""
    return size.bytes + size.items * OVERHEAD_BYTES


def _assume(profile: TableProfile) -> Iterator[str]:
    workload = profile.workload
    yield "A month has 730 hours. Requests are on demand. Free tiers are not counted."
    unknown = [name for name, use in workload.patterns.items() if use.rate is None]
    if unknown and len(unknown) == len(workload.patterns):
        yield "No pattern has a rate, so only units and storage are known."
    elif unknown:
        yield f"Without a rate, and so without cost: {', '.join(unknown)}."
    if profile.table.ttl is not None:
        yield "Deletions by expiry are free, and expired items are taken to be gone."
    if profile.table.stream is not None and not workload.settings.stream_consumers:
        yield "Nobody reads the stream, or only Lambda does, which is free."
    yield "A put writes a new item, unless the pattern says otherwise."
