"""Lookups: queries of an index that return only the items that their principal may read.

The response shows nothing of the other items: not their keys, their number, their size, or that
there are any. So the index partition is read to its end, unless a page is full of readable items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from keyfold.capacity import read_units
from keyfold.engine import NO_DEADLINE, Deadline
from keyfold.values import Item
from keyfold.values.sizes import item_size_bytes

_Body = dict[str, Any]
Execute = Callable[[str, _Body], _Body]

# As for any page of DynamoDB's.
_MAX_PAGE_BYTES = 1 << 20

# A query with only these parameters returns whole items, with the keys that decide on them.
PARAMETERS = frozenset(
    {
        "ConsistentRead",
        "ExclusiveStartKey",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "FilterExpression",
        "IndexName",
        "KeyConditionExpression",
        "Limit",
        "ReturnConsumedCapacity",
        "ScanIndexForward",
        "TableName",
    }
)


class Lookup(NamedTuple):
    """How to run a query as a lookup."""

    table: str
    index_name: str
    # Tests whether an item is shown.
    shows: Callable[[Item], bool]
    # The attributes of a position in the index.
    key: tuple[str, ...]


class LookupPage(NamedTuple):
    """The response of a lookup, and the units that it consumed in fact."""

    response: _Body
    units: float


def run_lookup(
    execute: Execute, request: _Body, lookup: Lookup, deadline: Deadline = NO_DEADLINE
) -> LookupPage:
    """Read the queried partition, and return a page of the items that the lookup shows.

    `execute` makes one call; raises what it raises. Raises InternalServerError at the `deadline`:
    a page that ended there would tell that there are other items.
    """
    asked = {**request, "ReturnConsumedCapacity": "TOTAL"}
    limit = request.get("Limit")
    if type(limit) is int and limit > 0:
        # Any other limit is left for the engine to refuse.
        del asked["Limit"]
    shown: list[Item] = []
    size, units = 0, 0.0
    while True:
        # Parsed, since the engine may return items as they are stored, in JSON.
        page: _Body = orjson.loads(orjson.dumps(execute("Query", asked)))
        units += page["ConsumedCapacity"]["CapacityUnits"]
        for item in page["Items"]:
            if not lookup.shows(item):
                continue
            size += item_size_bytes(item)
            if len(shown) == limit or (shown and size > _MAX_PAGE_BYTES):
                # There is more to show, so the page may say where it ended.
                position = {name: shown[-1][name] for name in lookup.key}
                return LookupPage(_make_page(request, lookup, shown, position), units)
            shown.append(item)
        if "LastEvaluatedKey" not in page:
            return LookupPage(_make_page(request, lookup, shown, None), units)
        deadline.check()
        asked["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _make_page(request: _Body, lookup: Lookup, shown: list[Item], position: Item | None) -> _Body:
    page: _Body = {"Items": shown, "Count": len(shown), "ScannedCount": len(shown)}
    if position is not None:
        page["LastEvaluatedKey"] = position
    level = request.get("ReturnConsumedCapacity")
    if level in ("TOTAL", "INDEXES"):
        units = read_units(sum(map(item_size_bytes, shown)), is_consistent=False)
        consumed: _Body = {"TableName": lookup.table, "CapacityUnits": units}
        if level == "INDEXES":
            consumed["Table"] = {"CapacityUnits": 0.0}
            consumed["GlobalSecondaryIndexes"] = {lookup.index_name: {"CapacityUnits": units}}
        page["ConsumedCapacity"] = consumed
    return page
