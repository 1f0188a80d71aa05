"""The same workload in each billing mode and table class, and where the modes break even."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from keyfold.analysis.cost._forecast import CostForecast, forecast_cost
from keyfold.analysis.cost._prices import TABLE_CLASSES, ClassPrices, Prices, TableClass
from keyfold.analysis.profiles import TableProfile
from keyfold.model._expected_use import MONTH_SECONDS

HOURS = MONTH_SECONDS / 3600
# The share of the capacity that auto scaling keeps in use, as it is set by default.
TARGET_UTILISATION = 0.7
_RESERVED_BLOCK = 100
_CLASS_NAMES: dict[TableClass, str] = {
    "standard": "Standard",
    "infrequent_access": "Standard-IA",
}


@dataclass(frozen=True, slots=True)
class ModeCost:
    """What a month costs in a billing mode: requests or capacity, and storage with extras."""

    mode: str
    capacity_usd: float
    other_usd: float

    @property
    def month_usd(self) -> float:
        """The dollars of the month."""
        return self.capacity_usd + self.other_usd

    def to_json(self) -> dict[str, Any]:
        """Return the cost as a JSON object."""
        return {
            "mode": self.mode,
            "capacity_usd": round(self.capacity_usd, 6),
            "month_usd": round(self.month_usd, 6),
        }


@dataclass(frozen=True, slots=True)
class UnitsPerSecond:
    """How many units the workload takes in a second, on average and at its peak."""

    read: float
    write: float
    peak_read: float
    peak_write: float


def count_units(profile: TableProfile, index: str | None) -> UnitsPerSecond:
    """Return the units of the table (None) or of an index; a pattern without peak has none."""
    totals = [0.0, 0.0, 0.0, 0.0]
    for name, each in profile.patterns.items():
        use = profile.workload.patterns[name]
        if use.rate is None:
            continue
        mean, peak = use.rate.per_second, (use.peak or use.rate).per_second
        for place, is_read in enumerate((True, False)):
            units = each.units_of(index, is_read=is_read)
            totals[place] += mean * units
            totals[2 + place] += peak * units
    return UnitsPerSecond(*totals)


def compare_modes(profile: TableProfile, prices: Prices) -> tuple[ModeCost, ...]:
    """Return the cost of each billing mode and table class, cheapest first."""
    found = [
        mode for table_class in TABLE_CLASSES for mode in _modes_of(profile, prices, table_class)
    ]
    return tuple(sorted(found, key=lambda each: each.month_usd))


def _modes_of(profile: TableProfile, prices: Prices, table_class: TableClass) -> Iterator[ModeCost]:
    name, rates = _CLASS_NAMES[table_class], prices.of(table_class)
    forecast = forecast_cost(profile, prices, table_class=table_class)
    other = forecast.month_usd - forecast.requests_usd
    yield ModeCost(f"on demand, {name}", forecast.requests_usd, other)
    scaled = _provision(profile, rates, at_peak=False)
    yield ModeCost(f"provisioned with auto scaling, {name}", _sum(scaled), other)
    peak = _provision(profile, rates, at_peak=True)
    yield ModeCost(f"provisioned for the peak, {name}", _sum(peak), other)
    if table_class == "standard":
        for years, share in sorted(prices.reserved.items()):
            reserved = _reserve(profile, rates, share)
            label = f"provisioned for the peak, reserved for {years} year{'s' if years > 1 else ''}"
            yield ModeCost(label, reserved, other)


def _provision(
    profile: TableProfile, rates: ClassPrices, *, at_peak: bool
) -> Iterator[tuple[float, float]]:
    """Yield the dollars of the read and write capacity of the table and each index."""
    for index in (None, *(each.name for each in profile.table.indexes)):
        read, write = _capacity(count_units(profile, index), at_peak=at_peak)
        yield read * rates.read_unit_hour * HOURS, write * rates.write_unit_hour * HOURS


def _capacity(units: UnitsPerSecond, *, at_peak: bool) -> tuple[float, float]:
    """Return the capacity that is provisioned: whole units, at least one."""
    if at_peak:
        wanted = (units.peak_read, units.peak_write)
    else:
        # It follows the load, so that on average the mean is the target share of it.
        wanted = (units.read / TARGET_UTILISATION, units.write / TARGET_UTILISATION)
    read, write = (max(1, math.ceil(each - 1e-9)) for each in wanted)
    return read, write


def _reserve(profile: TableProfile, rates: ClassPrices, share: float) -> float:
    """Return the dollars of capacity for the peak, whole blocks of which are reserved."""
    totals = [0.0, 0.0]
    for index in (None, *(each.name for each in profile.table.indexes)):
        for place, units in enumerate(_capacity(count_units(profile, index), at_peak=True)):
            totals[place] += units
    hourly = (rates.read_unit_hour, rates.write_unit_hour)
    dollars = 0.0
    for units, price in zip(totals, hourly, strict=True):
        reserved = units // _RESERVED_BLOCK * _RESERVED_BLOCK
        dollars += (reserved * (1 - share) + units - reserved) * price * HOURS
    return dollars


def _sum(capacity: Iterator[tuple[float, float]]) -> float:
    return sum(read + write for read, write in capacity)


def break_even(rates: ClassPrices) -> dict[str, float]:
    """Return the utilisation from which provisioned capacity is cheaper than on demand."""
    return {
        "read": rates.read_unit_hour / (3600 * rates.million_read_requests / 1_000_000),
        "write": rates.write_unit_hour / (3600 * rates.million_write_requests / 1_000_000),
    }


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """The cost of a month, some months from now."""

    month: int
    gigabytes: float
    month_usd: float

    def to_json(self) -> dict[str, Any]:
        """Return the point as a JSON object."""
        return {
            "month": self.month,
            "gigabytes": round(self.gigabytes, 6),
            "month_usd": round(self.month_usd, 6),
        }


def forecast_growth(
    profile: TableProfile, forecast: CostForecast, months: int = 36
) -> tuple[GrowthPoint, ...]:
    """Return the cost of the coming months: storage grows by the workload, requests stay."""
    per_month = _grow_factors(profile)
    points: list[GrowthPoint] = []
    for month in range(months + 1):
        gigabytes, dollars = 0.0, forecast.requests_usd
        for stored in forecast.storage:
            factor = 1 + month * per_month[stored.index]
            gigabytes += stored.gigabytes * factor
            dollars += stored.month_usd * factor
        table = 1 + month * per_month[None]
        for name, usd in forecast.extras.items():
            dollars += usd if name == "stream reads" else usd * table
        points.append(GrowthPoint(month, gigabytes, dollars))
    return tuple(points)


def _grow_factors(profile: TableProfile) -> dict[str | None, float]:
    """Return the share by which the table and each index grow in a month."""
    factors: dict[str | None, float] = {}
    for index, sizes in profile.sizes.expected.items():
        total = sum(each.bytes for each in sizes.values())
        grown = 0.0
        for name, size in sizes.items():
            volume = profile.workload.volumes.get(name)
            whole = profile.sizes.expected[None][name].items
            if volume is not None and volume.growth and whole:
                grown += size.bytes * volume.growth / whole
        factors[index] = grown / total if total else 0.0
    return factors
