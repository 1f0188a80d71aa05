"""Cost: what a table costs in a month, by pattern, from its declaration and workload."""

from __future__ import annotations

from keyfold.analysis.cost._chart import draw_chart, draw_comparison
from keyfold.analysis.cost._comparison import ComparedCost, CostComparison, compare_costs
from keyfold.analysis.cost._forecast import CostForecast, PartCost, PatternCost, forecast_cost
from keyfold.analysis.cost._growth import GrowthPoint
from keyfold.analysis.cost._modes import BreakEven, ModeCost, compare_modes
from keyfold.analysis.cost._prices import (
    ClassPrices,
    ExtraPrices,
    Prices,
    parse_prices,
    read_prices,
)
from keyfold.analysis.cost._reports import CostReport, report_cost

__all__ = [
    "BreakEven",
    "ClassPrices",
    "ComparedCost",
    "CostComparison",
    "CostForecast",
    "CostReport",
    "ExtraPrices",
    "GrowthPoint",
    "ModeCost",
    "PartCost",
    "PatternCost",
    "Prices",
    "compare_costs",
    "compare_modes",
    "draw_chart",
    "draw_comparison",
    "forecast_cost",
    "parse_prices",
    "read_prices",
    "report_cost",
]
