"""How the cost of a month changes as the table grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyfold.analysis.cost._forecast import (
    GIB,
    CostForecast,
    count_calls,
    price_call,
    stored_bytes,
)
from keyfold.analysis.profiles import TableProfile
from keyfold.analysis.sizes import owner_of

# Extras that are priced by the gigabytes of the table.
_BY_SIZE = frozenset(
    {"point-in-time recovery", "backups", "exports", "restores", "storage of replicas"}
)


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
    """Return the cost of the coming months: storage and scans grow, other requests stay."""
    added = {part.index: _grow(profile, part.index) for part in forecast.parts}
    storage_price = forecast.prices.of(forecast.table_class).storage_gb_month
    scans = _price_scans(profile, forecast)
    points: list[GrowthPoint] = []
    for month in range(months + 1):
        gigabytes, dollars = 0.0, forecast.requests_usd
        for part in forecast.parts:
            grown = month * added[part.index]
            gigabytes += part.gigabytes + grown
            dollars += part.storage_usd + grown * storage_price
            if part.gigabytes:
                dollars += scans[part.index] * grown / part.gigabytes
        table = forecast.parts[0].gigabytes
        factor = 1 + month * added[None] / table if table else 1.0
        for name, usd in forecast.extras.items():
            dollars += usd * factor if name in _BY_SIZE else usd
        points.append(GrowthPoint(month, gigabytes, dollars))
    return tuple(points)


def _grow(profile: TableProfile, index: str | None) -> float:
    """Return how many gigabytes the table or an index gets in a month."""
    grown = 0.0
    for name, size in profile.sizes.sampled[index].items():
        entity = owner_of(name)
        volume = profile.workload.volumes.get(entity)
        if volume is not None and volume.growth:
            # An index has entries for some of the items only, and some of them have guards.
            items = profile.sizes.sampled[None][entity].items
            grown += stored_bytes(size) / items * volume.growth
    return grown / GIB


def _price_scans(profile: TableProfile, forecast: CostForecast) -> dict[str | None, float]:
    """Return what scans of the table and of each index cost in a month."""
    rates = forecast.prices.of(forecast.table_class)
    found: dict[str | None, float] = dict.fromkeys((part.index for part in forecast.parts), 0.0)
    for name, each in profile.patterns.items():
        if each.scans:
            index = next(call.index for call in each.calls if call.operation == "Scan")
            found[index] += count_calls(profile, name) * price_call(each, rates)
    return found
