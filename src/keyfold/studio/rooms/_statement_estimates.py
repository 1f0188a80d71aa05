"""About how many units a statement takes, before it runs: by the sizes that the table's description has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.capacity import read_units
from keyfold.studio._actions import StudioCall
from keyfold.studio.rooms._statement_plans import StatementPlan

# Reads that may take more than this ask first.
ASKS_ABOVE = 10
_PAGE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadEstimate:
    """The units of one page of a read, at least and at most, and of all pages."""

    least: float
    most: float
    # None if it is not known how much there is to read.
    whole: float | None

    @property
    def asks(self) -> bool:
        """Whether it has to be confirmed."""
        return self.most > ASKS_ABOVE

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as a JSON object."""
        return {"least": self.least, "most": self.most, "whole": self.whole, "asks": self.asks}


def estimate_read(call: StudioCall, plan: StatementPlan, limit: int) -> ReadEstimate | None:
    """Return about how many units a page of a SELECT takes; None for writes, and as a role.

    A role is not told how large the table is.
    """
    if plan.is_write or call.principal is not None:
        return None
    request = {"TableName": call.table.name}
    described = call.workspace.executor.execute("DescribeTable", request)["Table"]
    items, size = _find_size(described, plan.index)
    mean = size / items if items else 0.0
    one = read_units(round(mean), is_consistent=False)
    page = read_units(round(min(limit * mean, size, _PAGE_BYTES)), is_consistent=False)
    match plan.operation:
        case "GetItem":
            return ReadEstimate(one, one, one)
        case "Query":
            ranges = max(1, len(plan.branches or ()))
            least = read_units(0, is_consistent=False) * ranges
            return ReadEstimate(least, max(least, page), None)
        case _:
            return ReadEstimate(page, page, read_units(size, is_consistent=False))


def _find_size(described: Mapping[str, Any], index: str | None) -> tuple[int, int]:
    """Return the items and bytes of the table, or of an index."""
    if index is None:
        return described["ItemCount"], described["TableSizeBytes"]
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for each in described.get(kind) or ():
            if each["IndexName"] == index:
                return each.get("ItemCount", 0), each.get("IndexSizeBytes", 0)
    return 0, 0
