"""The same workload in each billing mode and table class, and where the modes break even."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.analysis.cost._forecast import REPLICA_WRITES, forecast_cost
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
    """Return the units of the table (None) or of an index; a pattern without peak is called evenly."""
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
    other = forecast.fixed_usd
    requests = forecast.requests_usd + forecast.extras.get(REPLICA_WRITES, 0.0)
    yield ModeCost(f"on demand, {name}", requests, other)
    scaled = _price_capacity(provision(profile, at_peak=False), rates)
    yield ModeCost(f"provisioned with auto scaling, {name}", scaled, other)
    peak = provision(profile, at_peak=True)
    yield ModeCost(f"provisioned for the peak, {name}", _price_capacity(peak, rates), other)
    # Reserved capacity is for Standard alone.
    if table_class == "standard" and max(peak.read, peak.write) >= _RESERVED_BLOCK:
        for years, share in sorted(prices.reserved.items()):
            label = f"provisioned for the peak, reserved for {years} year{'s' if years > 1 else ''}"
            yield ModeCost(label, _price_capacity(peak, rates, share), other)


@dataclass(frozen=True, slots=True)
class ProvisionedUnits:
    """The capacity that is provisioned for the table, its global indexes and all replicas."""

    read: float
    write: float


def provision(profile: TableProfile, *, at_peak: bool) -> ProvisionedUnits:
    """Return the capacity for the peak, or on average if auto scaling follows the load."""
    local = [each.name for each in profile.table.indexes if each.local]
    read = write = 0.0
    for index in (None, *(each.name for each in profile.table.indexes if not each.local)):
        # Local indexes use the table's capacity.
        served = (index, *local) if index is None else (index,)
        units = [count_units(profile, each) for each in served]
        more = _whole(units, at_peak=at_peak)
        read, write = read + more.read, write + more.write
    # Each replica has the table's writes, and a unit to be read by at least.
    replicas = profile.workload.settings.replicas
    smallest = 1 + len(profile.table.indexes) - len(local)
    return ProvisionedUnits(read + replicas * smallest, write * (1 + replicas))


def _whole(units: Sequence[UnitsPerSecond], *, at_peak: bool) -> ProvisionedUnits:
    """Return the units that are provisioned for one table or index: whole ones, at least one."""
    if at_peak:
        wanted = (sum(each.peak_read for each in units), sum(each.peak_write for each in units))
    else:
        # It follows the load, so that on average the mean is the target share of it.
        mean = (sum(each.read for each in units), sum(each.write for each in units))
        wanted = (mean[0] / TARGET_UTILISATION, mean[1] / TARGET_UTILISATION)
    return ProvisionedUnits(*(max(1, math.ceil(each - 1e-9)) for each in wanted))


def _price_capacity(units: ProvisionedUnits, rates: ClassPrices, discount: float = 0.0) -> float:
    """Return the dollars of a month; the discount is for whole blocks of 100 units."""
    dollars = 0.0
    for count, price in ((units.read, rates.read_unit_hour), (units.write, rates.write_unit_hour)):
        reserved = count // _RESERVED_BLOCK * _RESERVED_BLOCK
        dollars += (count - reserved * discount) * price * HOURS
    return dollars


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Where provisioned capacity gets cheaper than on demand: shares of the capacity in use.

    `utilisation` is the share of capacity for the peak that this workload uses on average; None
    for a kind of units that it does not use.
    """

    kind: str
    share: float | None
    utilisation: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the break-even as a JSON object."""
        return {
            "share": None if self.share is None else round(self.share, 4),
            "utilisation": None if self.utilisation is None else round(self.utilisation, 4),
        }


def find_break_even(profile: TableProfile, rates: ClassPrices) -> tuple[BreakEven, BreakEven]:
    """Return where the modes break even, for reads and for writes."""
    indexes = (None, *(each.name for each in profile.table.indexes))
    units = [count_units(profile, index) for index in indexes]
    capacity = provision(profile, at_peak=True)
    replicas = profile.workload.settings.replicas
    read = sum(each.read for each in units)
    write = sum(each.write for each in units) * (1 + replicas)
    return (
        BreakEven(
            "read",
            _break_even(rates.read_unit_hour, rates.million_read_requests),
            read / capacity.read if read else None,
        ),
        BreakEven(
            "write",
            _break_even(rates.write_unit_hour, rates.million_write_requests),
            write / capacity.write if write else None,
        ),
    )


def _break_even(unit_hour: float, million_requests: float) -> float | None:
    """Return the share of an hour's units that cost on demand what the capacity costs."""
    return unit_hour / (3600 * million_requests / 1_000_000) if million_requests else None
