"""The months of the designs by AWS's calculators beside our forecast, as a table for the documentation.

Both calculators are given what we know: the items that each pattern reads and writes, and how often it
is called. What differs is what they make of it:

- The cost calculator of the AWS MCP server for DynamoDB rounds each item up to whole units, doubles
  everything in a transaction, and adds one write of the item for each index that it is in.
- `calculate_costs.py` of the DynamoDB skill in AWS's agent toolkit prices the larger of the item before and
  after, doubles the table's part of a transaction only, and knows sparse indexes. It is compared for writes.

We wrote these formulas after their descriptions; no code of theirs is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from keyfold.analysis import (
    PatternProfile,
    RecordedCall,
    TableProfile,
    find_sample,
    profile_table,
    read_workload,
)
from keyfold.analysis.cost import read_prices
from keyfold.model import Table
from keyfold.values import Item, item_size_bytes

DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")
READ_BYTES, WRITE_BYTES = 4096, 1024


class Month(NamedTuple):
    """Dollars for the requests of a month, on demand."""

    reads: float
    our_reads: float
    server_writes: float
    skill_writes: float
    our_writes: float


def write_calculators() -> str:
    """Return the months of the designs as a table in Markdown."""
    lines = [
        "| design | reads: MCP server | reads: ours | writes: MCP server | writes: skill | writes: ours |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in DESIGNS:
        month = price_month(profile_design(name))
        lines.append(f"| `{name}` | {' | '.join(f'${usd:,.2f}' for usd in month)} |")
    return "\n".join(lines)


@cache
def profile_design(name: str) -> TableProfile:
    """Return the profile of a design under its workload."""
    table: Table = import_module(f"keyfold.designs.{name}").table
    return profile_table(table, find_sample(table), read_workload(table))


def price_month(profile: TableProfile) -> Month:
    """Return what the requests of a month cost, by each calculator and by us."""
    prices = read_prices().standard
    units = [0.0] * 5
    for name, pattern in profile.patterns.items():
        rate = profile.workload.patterns[name].rate
        calls = 0.0 if rate is None else rate.per_month
        for place, each in enumerate(count_units(profile.table, pattern)):
            units[place] += calls * each
    read, write = (
        each / 1_000_000 for each in (prices.million_read_requests, prices.million_write_requests)
    )
    return Month(
        *(each * price for each, price in zip(units, (read, read, *[write] * 3), strict=True))
    )


def count_units(table: Table, pattern: PatternProfile) -> Month:
    """Return the units of one call of a pattern, by each calculator and by us."""

    def mean(measure: Callable[[RecordedCall], float]) -> float:
        total = sum(measure(call) for run in pattern.runs for call in run.calls)
        return total / max(1, len(pattern.runs))

    return Month(
        mean(count_server_reads),
        pattern.read_units,
        mean(lambda call: count_server_writes(table, call)),
        mean(lambda call: count_skill_writes(table, call)),
        pattern.write_units,
    )


def count_server_reads(call: RecordedCall) -> float:
    """Return the units of a read by the MCP server: each item is rounded up by itself."""
    if not call.is_read:
        return 0.0
    sizes = [item_size_bytes(item) for item in call.items] or [1]
    size = sum(sizes) / len(sizes)
    count = max(1, call.scanned)
    is_transaction = call.operation.startswith("Transact")
    factor = 2 if is_transaction else 1 if _is_consistent(call) else 0.5
    return -(-size // READ_BYTES) * count * factor


def count_server_writes(table: Table, call: RecordedCall) -> float:
    """Return the units of a write by the MCP server: a transaction doubles indexes as well."""
    factor = 2 if call.operation.startswith("Transact") else 1
    units = count_checks(call)
    for before, after in call.changes:
        item: Item = after or before or {}
        written = _write_units(item)
        units += written * (1 + count_indexes(table, item))
    return units * factor


def count_skill_writes(table: Table, call: RecordedCall) -> float:
    """Return the units of a write by the skill: the larger item, and indexes once."""
    factor = 2 if call.operation.startswith("Transact") else 1
    units = count_checks(call) * factor
    for before, after in call.changes:
        larger = max(_write_units(before or {}), _write_units(after or {}))
        units += larger * (factor + count_indexes(table, after or before or {}))
    return units


def count_indexes(table: Table, item: Item) -> int:
    """Return how many indexes have an item."""
    return sum(all(name in item for name in index.key.names) for index in table.indexes)


def count_checks(call: RecordedCall) -> int:
    """Return how many condition checks a transaction has."""
    members: list[dict[str, Any]] = call.request.get("TransactItems", [])
    return sum("ConditionCheck" in each for each in members)


def _write_units(item: Item) -> int:
    return max(1, -(-item_size_bytes(item) // WRITE_BYTES))


def _is_consistent(call: RecordedCall) -> bool:
    requests: list[Any] = [call.request, *call.request.get("RequestItems", {}).values()]
    return any(each.get("ConsistentRead") for each in requests)
