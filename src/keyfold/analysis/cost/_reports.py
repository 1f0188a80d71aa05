"""Everything that is said about the cost of a table, and how two tables compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.analysis.cost._forecast import CostForecast, forecast_cost
from keyfold.analysis.cost._modes import (
    GrowthPoint,
    ModeCost,
    break_even,
    compare_modes,
    forecast_growth,
)
from keyfold.analysis.cost._prices import Prices
from keyfold.analysis.profiles import TableProfile


@dataclass(frozen=True, slots=True)
class CostReport:
    """The cost of a table: the month, the billing modes, and how it grows."""

    profile: TableProfile
    forecast: CostForecast
    modes: tuple[ModeCost, ...]
    # The utilisation from which provisioned capacity is cheaper, for reads and writes.
    break_even: Mapping[str, float]
    growth: tuple[GrowthPoint, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            **self.forecast.to_json(),
            "modes": [each.to_json() for each in self.modes],
            "break_even": {kind: round(share, 4) for kind, share in self.break_even.items()},
            "growth": [each.to_json() for each in self.growth],
        }


def report_cost(profile: TableProfile, prices: Prices) -> CostReport:
    """Return all about the cost of a table."""
    forecast = forecast_cost(profile, prices)
    return CostReport(
        profile,
        forecast,
        compare_modes(profile, prices),
        break_even(prices.standard),
        forecast_growth(profile, forecast),
    )


@dataclass(frozen=True, slots=True)
class ComparedCost:
    """Dollars a month of the same thing in two tables; None where a table does not have it."""

    name: str
    one: float | None
    other: float | None

    @property
    def difference(self) -> float:
        """How many dollars more the other table costs."""
        return (self.other or 0.0) - (self.one or 0.0)


@dataclass(frozen=True, slots=True)
class CostComparison:
    """The costs of two tables, side by side: patterns by name, storage, and the whole."""

    one: CostReport
    other: CostReport

    @property
    def names(self) -> tuple[str, str]:
        """The names of the tables, told apart if they are the same."""
        one, other = self.one.forecast.table, self.other.forecast.table
        return (one, other) if one != other else (one, f"{other} (compared)")

    @property
    def rows(self) -> Iterator[ComparedCost]:
        """The costs of patterns, storage and extras, and their sum."""
        one, other = (_list_costs(each.forecast) for each in (self.one, self.other))
        for name in dict.fromkeys((*one, *other)):
            yield ComparedCost(name, one.get(name), other.get(name))
        yield ComparedCost("month", self.one.forecast.month_usd, self.other.forecast.month_usd)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object."""
        return {
            "tables": list(self.names),
            "rows": [
                {
                    "name": row.name,
                    "month_usd": row.one,
                    "other_month_usd": row.other,
                    "difference_usd": round(row.difference, 6),
                }
                for row in self.rows
            ],
            "month_usd": round(self.other.forecast.month_usd, 6),
        }


def compare_costs(one: CostReport, other: CostReport) -> CostComparison:
    """Return how the costs of two tables differ."""
    return CostComparison(one, other)


def _list_costs(forecast: CostForecast) -> dict[str, float]:
    costs = {each.name: each.month_usd for each in forecast.patterns if each.calls}
    for stored in forecast.storage:
        where = "table" if stored.index is None else f"index {stored.index}"
        costs[f"storage of the {where}"] = stored.month_usd
    return {**costs, **forecast.extras}
