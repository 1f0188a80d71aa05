"""Heat as the browser shows it: hot keys, decoded by their templates, and partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from keyfold.analysis.heat import HeatReport, HeatRun, HotSpot
from keyfold.capacity import PARTITION_UNITS
from keyfold.model import Table
from keyfold.model._key_parts import KeyPart
from keyfold.studio._shown_keys import show_key

_MOST_KEYS = 24
_MOST_PARTITIONS = 24
# Keys that are asked for less than this share of the hottest are not shown.
_LEAST_SHARE = 0.005
_SCANS = "(scans)"


def show_heat(table: Table, report: HeatReport) -> dict[str, Any]:
    """Return a report for the browser."""
    functions = {name: pattern.__name__ for name, pattern in table.patterns.items()}
    return {
        "seconds": report.runs[0].seconds,
        "peak": report.peak,
        "runs": [_show_run(each, functions) for each in report.runs],
        "keys": _show_spots(table, [run.keys for run in report.runs], _MOST_KEYS),
        "partitions": _show_spots(table, [run.partitions for run in report.runs], _MOST_PARTITIONS),
        "limits": {"read": PARTITION_UNITS["Read"], "write": PARTITION_UNITS["Write"]},
        "remedies": [{"text": each.text, "clears": each.clears} for each in report.remedies],
        "advice": list(report.advice),
        "assumptions": list(report.assumptions),
    }


def _show_run(run: HeatRun, functions: dict[str, str]) -> dict[str, Any]:
    return {
        "factor": run.factor,
        "seconds": run.seconds,
        "calls": run.calls,
        "refused": run.refused,
        "throttling": [
            {
                "reason": each.reason,
                "index": each.name or None,
                "begins": each.at,
                "calls": each.calls,
                "patterns": [
                    {"title": name, "name": functions.get(name)} for name in each.patterns
                ],
            }
            for each in run.throttling
        ],
        "partitions": {
            name: {"first": first, "last": last}
            for name, (first, last) in run.partition_counts.items()
        },
    }


def _show_spots(
    table: Table, ranked: Sequence[Sequence[HotSpot]], most: int
) -> list[dict[str, Any]]:
    """Return the hottest keys or partitions, with what is asked of them at each factor."""
    by_name = [{(each.name, each.kind, each.label): each for each in spots} for spots in ranked]
    # Partitions that a split makes exist at high factors only.
    hottest = dict.fromkeys(_identity(each) for spots in reversed(ranked) for each in spots)
    loads = {name: [found.get(name) for found in by_name] for name in hottest}
    ordered = sorted(loads, key=lambda name: -max(_peaks(loads[name])))
    least = max(_peaks(loads[ordered[0]])) * _LEAST_SHARE if ordered else 0.0
    shown = [name for name in ordered if max(_peaks(loads[name])) >= least][:most]
    return [_show_spot(table, loads[name]) for name in shown]


def _identity(spot: HotSpot) -> tuple[str, str, str]:
    return spot.name, spot.kind, spot.label


def _peaks(spots: Iterable[HotSpot | None]) -> list[float]:
    return [0.0 if each is None else each.peak for each in spots]


def _show_spot(table: Table, spots: Sequence[HotSpot | None]) -> dict[str, Any]:
    first = next(each for each in spots if each is not None)
    entity = None if first.role is None or first.role[1] not in table.entities else first.role[1]
    return {
        "index": first.name or None,
        "kind": first.kind.lower(),
        "label": first.label,
        "entity": entity,
        "key": None if first.role is None else show_label(table, first.name, entity, first.label),
        "loads": [
            None
            if each is None
            else {"peak": each.peak, "units": each.units, "refused": each.refused}
            for each in spots
        ],
    }


def show_label(table: Table, index: str, entity: str | None, label: str) -> dict[str, Any] | None:
    """Return a partition key, decoded; None for scans and keys of several attributes.

    A key that was made up for more callers has `made_up`, and is decoded without its number.
    """
    names = _partition_names(table, index)
    if label == _SCANS or len(names) != 1:
        return None
    known, mark, number = label.rpartition("~")
    is_made_up = bool(mark) and number.isdecimal()
    text = known if is_made_up else label
    part = find_partition_part(table, index, entity)
    shown = show_key(part, names[0], {"S": text})
    if is_made_up:
        shown["pieces"].append({"text": f"{mark}{number}"})
    # Only the browser's key is wanted; keys of an index fit several templates.
    shown["matches"] = True
    shown["made_up"] = is_made_up
    return shown


def _partition_names(table: Table, index: str) -> tuple[str, ...]:
    if not index:
        return table.key.partition
    return next(each.key.partition for each in table.indexes if each.name == index)


def find_partition_part(table: Table, index: str, entity: str | None) -> KeyPart | None:
    """Return the template of an entity's partition key, in the table ("") or an index."""
    schema = None if entity is None else table.entities[entity]
    if schema is None:
        return None
    if not index:
        return schema.partition
    return next(iter(schema.index_keys.get(index, ())), None)
