"""Everything that is said about the cost of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyfold.analysis.cost._forecast import CostForecast, forecast_cost
from keyfold.analysis.cost._growth import GrowthPoint, forecast_growth
from keyfold.analysis.cost._modes import BreakEven, ModeCost, compare_modes, find_break_even
from keyfold.analysis.cost._prices import Prices
from keyfold.analysis.profiles import TableProfile


@dataclass(frozen=True, slots=True)
class CostReport:
    """The cost of a table: the month, the billing modes, and how it grows."""

    profile: TableProfile
    forecast: CostForecast
    modes: tuple[ModeCost, ...]
    # For reads and for writes.
    break_even: tuple[BreakEven, BreakEven]
    growth: tuple[GrowthPoint, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            **self.forecast.to_json(),
            "modes": [each.to_json() for each in self.modes],
            "break_even": {each.kind: each.to_json() for each in self.break_even},
            "growth": [each.to_json() for each in self.growth],
        }


def report_cost(profile: TableProfile, prices: Prices) -> CostReport:
    """Return all about the cost of a table."""
    forecast = forecast_cost(profile, prices)
    return CostReport(
        profile,
        forecast,
        compare_modes(profile, prices),
        find_break_even(profile, prices.standard),
        forecast_growth(profile, forecast),
    )
