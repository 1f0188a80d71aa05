"""Where items come from: batch by batch, each with the position to go on from after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from keyfold.transfer._calls import Caller, describe_table
from keyfold.transfer._entities import Reject
from keyfold.values import Item, item_size_bytes, normalise_item, restore_binaries


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Some items of a segment, in the engine's form, and where the next ones begin.

    `position` is what JSON can hold. `is_last` says that the segment ends here.
    """

    items: Sequence[Item]
    position: Any
    size_bytes: int
    is_last: bool = False
    rejects: Sequence[Reject] = field(default=())


class ItemSource(Protocol):
    """Something that items can be read from, in segments side by side."""

    @property
    def segments(self) -> tuple[str, ...]:
        """The names of the segments."""
        ...

    @property
    def expected_items(self) -> int | None:
        """About how many items there are, where that is known."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what tells this source from another, as JSON has it."""
        ...

    def read(self, segment: str, position: Any) -> Iterator[SourceBatch]:
        """Read a segment from a position, None for its beginning, to its end."""
        ...


class Estimate:
    """About how many items files hold, by how many there were in what was read of them."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._items = self._read_bytes = 0

    def note(self, items: int, read_bytes: int) -> None:
        """Note that so many bytes held so many items."""
        self._items += items
        self._read_bytes += read_bytes

    @property
    def items(self) -> int | None:
        """About how many items there are; None before any were read."""
        if not self._read_bytes:
            return None
        return round(self._items * self._size_bytes / self._read_bytes)


class TableSource:
    """A table, read by a parallel scan."""

    def __init__(
        self,
        caller: Caller,
        url: str,
        name: str,
        *,
        segments: int,
        page_items: int | None = None,
    ) -> None:
        described = describe_table(caller, url, name)
        self._caller, self._url, self._name = caller, url, name
        self.segments = tuple(str(number) for number in range(segments))
        self.expected_items: int | None = described.get("ItemCount") or None
        self._page_items = page_items
        # What one item has taken so far, by which a page is kept within the rate.
        self._units_per_item = 1.0

    def describe(self) -> dict[str, Any]:
        """Return what tells this source from another."""
        return {"source": self._url, "from_table": self._name, "segments": len(self.segments)}

    def read(self, segment: str, position: Any) -> Iterator[SourceBatch]:
        """Read one segment of the scan, page by page."""
        request: dict[str, Any] = {
            "TableName": self._name,
            "ConsistentRead": True,
            "Segment": int(segment),
            "TotalSegments": len(self.segments),
            "ReturnConsumedCapacity": "TOTAL",
        }
        while True:
            if position is not None:
                request["ExclusiveStartKey"] = restore_binaries(position)
            limit = self._find_limit()
            if limit is not None:
                request["Limit"] = limit
            page = self._caller.call("Scan", request)
            items = [normalise_item(item)[0] for item in page["Items"]]
            consumed = page.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)
            if items and consumed:
                self._units_per_item = consumed / len(items)
            last = page.get("LastEvaluatedKey")
            position = None if last is None else normalise_item(last)[0]
            size_bytes = sum(map(item_size_bytes, items))
            yield SourceBatch(items, position, size_bytes, is_last=last is None)
            if last is None:
                return

    def _find_limit(self) -> int | None:
        """Return how many items a page may have: what a second of the rate can pay for."""
        limits = [] if self._page_items is None else [self._page_items]
        if self._caller.rate is not None:
            share = self._caller.rate / len(self.segments)
            limits.append(max(1, int(share / self._units_per_item)))
        return min(limits, default=None)
