"""Items as canonical text, by which they are compared."""

from __future__ import annotations

import orjson

from keyfold.values import AttributeValue, Item

_SETS = frozenset({"SS", "NS", "BS"})


def to_canonical(item: Item) -> bytes:
    """Return a normalised item as canonical JSON, with names and set members sorted.

    Equal items give equal bytes.

    >>> to_canonical({"b": {"SS": ["y", "x"]}, "a": {"N": "1"}})
    b'{"a":{"N":"1"},"b":{"SS":["x","y"]}}'
    """
    sorted_sets = {name: _sort_sets(value) for name, value in item.items()}
    return orjson.dumps(sorted_sets, option=orjson.OPT_SORT_KEYS)


def _sort_sets(value: AttributeValue) -> AttributeValue:
    for kind, data in value.items():
        if kind in _SETS:
            return {kind: sorted(data)}
        if kind == "L":
            return {"L": [_sort_sets(each) for each in data]}
        if kind == "M":
            return {"M": {name: _sort_sets(each) for name, each in data.items()}}
    return value
