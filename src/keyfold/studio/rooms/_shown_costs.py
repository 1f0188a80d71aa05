"""The cost of a table as the browser shows it: by pattern, by part, by billing mode."""

from __future__ import annotations

from typing import Any

from keyfold.analysis import TableProfile
from keyfold.analysis.cost import CostReport, PatternCost
from keyfold.model._expected_use import CallRate, Volume

_SHOWN_MONTHS = (12, 36)


def show_cost(report: CostReport, declared: TableProfile) -> dict[str, Any]:
    """Return a report for the browser; `declared` has the use that the sliders begin with."""
    forecast = report.forecast
    workload, sizes = report.profile.workload, report.profile.sizes
    return {
        "prices": {"region": forecast.prices.region, "date": forecast.prices.date},
        "month": forecast.month_usd,
        "requests": forecast.requests_usd,
        "storage": forecast.storage_usd,
        "patterns": [_show_pattern(report, declared, each) for each in forecast.patterns],
        "parts": [each.to_json() for each in forecast.parts],
        "extras": [{"name": name, "usd": usd} for name, usd in forecast.extras.items()],
        "modes": [each.to_json() for each in report.modes],
        "break_even": [{"kind": each.kind, **each.to_json()} for each in report.break_even],
        "growth": [each.to_json() for each in report.growth if each.month in _SHOWN_MONTHS],
        "gigabytes": sum(each.gigabytes for each in forecast.parts),
        "entities": [
            _show_entity(
                name,
                declared.workload.volumes[name],
                volume,
                sizes.expected[None].get(name, None),
            )
            for name, volume in workload.volumes.items()
        ],
        "settings": {
            name: getattr(workload.settings, name)
            for name in workload.settings.__dataclass_fields__
        },
        "assumptions": list(forecast.assumptions),
        "source": report.profile.sample.source,
        "workload": _name_source(declared.workload.source),
    }


def _show_pattern(report: CostReport, declared: TableProfile, cost: PatternCost) -> dict[str, Any]:
    use = report.profile.workload.patterns[cost.name]
    return {
        "name": report.profile.table.patterns[cost.name].__name__,
        "title": cost.name,
        "read_units": cost.read_units,
        "write_units": cost.write_units,
        "calls": cost.calls,
        "usd": cost.month_usd,
        "share": cost.share,
        "problem": cost.problem,
        "scans": report.profile.patterns[cost.name].scans,
        "rate": _show_rate(use.rate),
        "peak": _show_rate(use.peak),
        "declared": _show_rate(declared.workload.patterns[cost.name].rate),
    }


def _show_rate(rate: CallRate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    return {"text": rate.text, "second": rate.per_second, "month": rate.per_month}


def _show_entity(name: str, declared: Volume, volume: Volume, size: Any) -> dict[str, Any]:
    return {
        "name": name,
        "items": 0 if size is None else size.items,
        "bytes": 0 if size is None or not size.items else size.bytes / size.items,
        "given": volume.items,
        "declared": declared.items,
    }


def _name_source(source: str | None) -> str | None:
    """Return the name of a workload file, without its folders."""
    return None if source is None else source.replace("\\", "/").rsplit("/", 1)[-1]
