"""Cost: what a table costs in a month, by pattern, from its declaration and workload."""

from __future__ import annotations

from keyfold.analysis.cost._chart import draw_chart
from keyfold.analysis.cost._forecast import CostForecast, PatternCost, StorageCost, forecast_cost
from keyfold.analysis.cost._modes import GrowthPoint, ModeCost, compare_modes
from keyfold.analysis.cost._prices import ClassPrices, ExtraPrices, Prices, read_prices
from keyfold.analysis.cost._reports import (
    ComparedCost,
    CostComparison,
    CostReport,
    compare_costs,
    report_cost,
)

__all__ = [
    "ClassPrices",
    "ComparedCost",
    "CostComparison",
    "CostForecast",
    "CostReport",
    "ExtraPrices",
    "GrowthPoint",
    "ModeCost",
    "PatternCost",
    "Prices",
    "StorageCost",
    "compare_costs",
    "compare_modes",
    "draw_chart",
    "forecast_cost",
    "read_prices",
    "report_cost",
]
