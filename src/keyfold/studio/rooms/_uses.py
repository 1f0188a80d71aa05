"""The workload that the browser's sliders describe, in place of what the declaration says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from keyfold.analysis import CostSettings, PatternUse, Workload
from keyfold.model import Table
from keyfold.model._expected_use import CallRate, parse_count
from keyfold.studio._bodies import StudioBody
from keyfold.studio._problems import StudioProblem

SWITCHES = ("point_in_time_recovery", "kinesis")
_COUNTS = tuple(each.name for each in fields(CostSettings) if each.name not in SWITCHES)


def read_use(table: Table, workload: Workload, body: StudioBody) -> Workload:
    """Return a workload with the changes of a request; raises StudioProblem.

    `rates` has texts such as "40/s" by the name of a pattern's function, `items` texts such as "2M" by
    entity, and `settings` those of `CostSettings`.
    """
    patterns, volumes = dict(workload.patterns), dict(workload.volumes)
    names = {pattern.__name__: name for name, pattern in table.patterns.items()}
    for function, given in body.mapping("rates").items():
        name = names.get(function)
        if name is None:
            raise _refuse("rates", function, f"{table.name} has no such pattern")
        patterns[name] = _change_rate(patterns[name], _read(function, given, _read_rate))
    for entity, given in body.mapping("items").items():
        if entity not in volumes:
            raise _refuse("items", entity, f"{table.name} has no such entity")
        volumes[entity] = replace(volumes[entity], items=_read(entity, given, _read_count))
    settings = _read_settings(workload.settings, body.mapping("settings"))
    return Workload(patterns, volumes, settings, workload.source)


def _change_rate(use: PatternUse, rate: CallRate) -> PatternUse:
    """Return a use with another rate; its peak stays as many times the rate as it was."""
    if not rate.per_second:
        return replace(use, rate=None, peak=None)
    peak = None
    if use.peak is not None and use.rate is not None and use.rate.per_second:
        times = use.peak.per_second / use.rate.per_second
        peak = CallRate.parse(rate.per_second * times)
    elif use.peak is not None and use.peak.per_second > rate.per_second:
        peak = use.peak
    return replace(use, rate=rate, peak=peak)


def _read_settings(known: CostSettings, given: Mapping[str, Any]) -> CostSettings:
    changes: dict[str, Any] = {}
    for name, value in given.items():
        if name in SWITCHES:
            if not isinstance(value, bool):
                raise _refuse("settings", name, "it has to be true or false")
            changes[name] = value
        elif name in _COUNTS:
            changes[name] = _read(name, value, _read_count)
        else:
            raise _refuse("settings", name, f"there are {', '.join((*SWITCHES, *_COUNTS))}")
    return replace(known, **changes)


def _read_rate(given: str) -> CallRate:
    return CallRate.parse(given)


def _read_count(given: str) -> float:
    return parse_count(given)


def _read(name: str, given: object, parse: Any) -> Any:
    if not isinstance(given, str):
        raise _refuse("use", name, f"it has to be a text; got {given!r:.60}")
    try:
        return parse(given.strip())
    except ValueError as error:
        raise StudioProblem(422, "workload-invalid", f"{name}: {error}.", field=name) from None


def _refuse(member: str, name: str, fact: str) -> StudioProblem:
    return StudioProblem(422, "workload-invalid", f"{member}, {name!r:.60}: {fact}.", field=name)
