"""Recorded traffic as a map: what each key was asked for, by time."""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from keyfold.analysis.heat import plan_heat
from keyfold.analysis.heat._populations import find_role, partition_names
from keyfold.engine import TrafficRecord
from keyfold.model import Table
from keyfold.studio.rooms._shown_heat import show_label

_COLUMNS = 24
_MOST_KEYS = 24
# Traffic of a longer time is not replayed: its times are more likely wrong.
MOST_SECONDS = 7 * 86_400

_KeyName = tuple[str, str, str]


def map_traffic(table: Table, records: Sequence[TrafficRecord]) -> dict[str, Any]:
    """Return the hottest keys of traffic, with the highest units a second in each span of time."""
    layouts = plan_heat(table).layouts
    start, end = min(each.at for each in records), max(each.at for each in records)
    width = max(1, -(-(int(end - start) + 1) // _COLUMNS))
    columns = int(end - start) // width + 1
    seconds: dict[_KeyName, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    roles: dict[_KeyName, str | None] = {}
    for record in records:
        for use in record.uses:
            if use.key is None:
                label = "(scans)"
            else:
                names = layouts[use.name].partition
                label = ", ".join(str(next(iter(use.key[each].values()))) for each in names)
            name = use.name, record.kind.lower(), label
            if name not in roles:
                entity = find_role(table, use.name, use.key)[1]
                roles[name] = entity if entity in table.entities else None
            seconds[name][int(record.at - start)] += use.units
    hottest = sorted(seconds, key=lambda name: -max(seconds[name].values()))[:_MOST_KEYS]
    return {
        "start": start,
        "seconds": int(end - start) + 1,
        "width": width,
        "columns": columns,
        "keys": [
            {
                "index": index or None,
                "kind": kind,
                "label": label,
                "entity": entity,
                "key": show_label(table, index, entity, label),
                "units": sum(seconds[name].values()),
                "peaks": _find_peaks(seconds[name], width, columns),
            }
            for name in hottest
            for (index, kind, label), entity in ((name, roles[name]),)
        ],
    }


def has_keys_of(table: Table, record: TrafficRecord) -> bool:
    """Return whether all keys of a record could be keys of the table and its indexes."""
    names = partition_names(table)
    return all(use.key is None or _is_key(use.key, names.get(use.name, ())) for use in record.uses)


def _is_key(key: object, partition: Sequence[str]) -> bool:
    if not isinstance(key, dict):
        return False
    values = cast("dict[str, Any]", key)
    return values.keys() >= {*partition} and all(_is_scalar(each) for each in values.values())


def _is_scalar(value: object) -> bool:
    """Return whether a value is a text, a number or binary, in DynamoDB's JSON."""
    if not isinstance(value, dict):
        return False
    members = cast("dict[str, Any]", value)
    if len(members) != 1 or not all(isinstance(each, str) for each in members.values()):
        return False
    try:
        match members:
            case {"S": _}:
                return True
            case {"N": text}:
                return Decimal(text).is_finite()
            case {"B": text}:
                b64decode(text, validate=True)
                return True
            case _:
                return False
    except (InvalidOperation, ValueError):
        return False


def _find_peaks(seconds: dict[int, float], width: int, columns: int) -> list[float]:
    peaks = [0.0] * columns
    for second, units in seconds.items():
        place = second // width
        peaks[place] = max(peaks[place], units)
    return peaks
