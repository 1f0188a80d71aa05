"""How the costs of two tables differ, pattern by pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from keyfold.analysis.cost._forecast import CostForecast, PatternCost
from keyfold.analysis.cost._reports import CostReport


@dataclass(frozen=True, slots=True)
class ComparedCost:
    """Dollars a month of the same thing in two tables; None where a table does not have it.

    Patterns have the units of one call as well, as `(read units, write units)`. If `is_measured` is
    false, one of the tables has the pattern, or a pattern of the month, but it could not be run.
    """

    name: str
    one: float | None
    other: float | None
    units: tuple[float, float] | None = None
    other_units: tuple[float, float] | None = None
    is_measured: bool = True

    @property
    def difference(self) -> float:
        """How many dollars more the other table costs."""
        return (self.other or 0.0) - (self.one or 0.0)

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        found: dict[str, Any] = {
            "name": self.name,
            "month_usd": _round(self.one),
            "other_month_usd": _round(self.other),
            "difference_usd": _round(self.difference),
        }
        if self.units is not None or self.other_units is not None:
            found |= {
                "units": _name_units(self.units),
                "other_units": _name_units(self.other_units),
            }
        return found


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
        one, other = self.one.forecast, self.other.forecast
        patterns, others = (
            {each.name: each for each in forecast.patterns if each.calls}
            for forecast in (one, other)
        )
        compared = [
            _compare_pattern(name, patterns.get(name), others.get(name))
            for name in dict.fromkeys((*patterns, *others))
        ]
        yield from compared
        rest, other_rest = _list_fixed(one), _list_fixed(other)
        for name in dict.fromkeys((*rest, *other_rest)):
            yield ComparedCost(name, rest.get(name), other_rest.get(name))
        is_whole = all(row.is_measured for row in compared)
        yield ComparedCost("month", one.month_usd, other.month_usd, is_measured=is_whole)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What keeps the tables from being alike, what both forecasts assume, and one alone."""
        both = [report.forecast.assumptions for report in (self.one, self.other)]
        shared = [each for each in both[0] if each in both[1]]
        own = [
            f"{name}: {each}"
            for name, assumptions in zip(self.names, both, strict=True)
            for each in assumptions
            if each not in shared
        ]
        return (*self._list_differences(), *shared, *own)

    def _list_differences(self) -> Iterator[str]:
        reports = (self.one, self.other)
        sources = [report.profile.sample.source for report in reports]
        if "database" in sources and sources[0] != sources[1]:
            first, second = self.names
            yield f"The items of {first} are those of a database, those of {second} its examples."
        called = [
            {each.name for each in report.forecast.patterns if each.calls} for report in reports
        ]
        for report, name, mine, theirs in zip(
            reports, self.names, called, reversed(called), strict=True
        ):
            alone = [each.name for each in report.forecast.patterns if each.name in mine - theirs]
            if alone:
                yield f"Called in {name} alone, so the months differ by them: {', '.join(alone)}."

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object."""
        return {
            "tables": list(self.names),
            "assumptions": list(self.assumptions),
            "rows": [row.to_json() for row in self.rows],
            "month_usd": _round(self.other.forecast.month_usd),
        }


def compare_costs(one: CostReport, other: CostReport) -> CostComparison:
    """Return how the costs of two tables differ."""
    return CostComparison(one, other)


def _compare_pattern(name: str, one: PatternCost | None, other: PatternCost | None) -> ComparedCost:
    known = [None if each is None or each.problem else each for each in (one, other)]
    mine, theirs = known
    return ComparedCost(
        name,
        None if mine is None else mine.month_usd,
        None if theirs is None else theirs.month_usd,
        None if mine is None else (mine.read_units, mine.write_units),
        None if theirs is None else (theirs.read_units, theirs.write_units),
        is_measured=known == [one, other],
    )


def _list_fixed(forecast: CostForecast) -> dict[str, float]:
    costs: dict[str, float] = {}
    for part in forecast.parts:
        where = "table" if part.index is None else f"index {part.index}"
        costs[f"storage of the {where}"] = part.storage_usd
    return {**costs, **forecast.extras}


def _name_units(units: tuple[float, float] | None) -> dict[str, float] | None:
    return None if units is None else {"read": units[0], "write": units[1]}


def _round(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 6)
