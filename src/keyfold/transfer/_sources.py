"""Sources of items: batches, each with the position from which reading resumes after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from keyfold.transfer._calls import MeteredCaller, describe_table
from keyfold.transfer._entities import Reject
from keyfold.values import Item, item_size_bytes, normalise_item, restore_binaries


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Some items of a segment, in the engine's form, and the position of the next ones.

    `position` is a JSON value. `is_last` marks the last batch of the segment.
    """

    items: Sequence[Item]
    position: Any
    size_bytes: int
    is_last: bool = False
    rejects: Sequence[Reject] = field(default=())


class ItemSource(Protocol):
    """Something that items can be read from, in segments that can be read in parallel."""

    @property
    def segments(self) -> tuple[str, ...]:
        """The names of the segments."""
        ...

    @property
    def expected_items(self) -> int | None:
        """The approximate number of items; None if unknown."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what identifies this source, as a JSON object; checkpoints keep it."""
        ...

    def read(self, segment: str, position: Any) -> Iterator[SourceBatch]:
        """Yield the batches of a segment from a position on; None is its beginning."""
        ...


class Estimate:
    """An estimate of the number of items in files, from the share that was read."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._items = self._read_bytes = 0

    def add(self, items: int, read_bytes: int) -> None:
        """Record that `read_bytes` of the files held `items` items."""
        self._items += items
        self._read_bytes += read_bytes

    @property
    def items(self) -> int | None:
        """The estimated number of items; None before any were read."""
        if not self._read_bytes:
            return None
        return round(self._items * self._size_bytes / self._read_bytes)


class TableSource:
    """A table, read by a parallel scan."""

    def __init__(
        self,
        caller: MeteredCaller,
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
        # The capacity units of the last page per item: they size pages under a rate limit.
        self._units_per_item = 1.0

    def describe(self) -> dict[str, Any]:
        """Return the database, the table and the number of segments."""
        return {"source": self._url, "from_table": self._name, "segments": len(self.segments)}

    def read(self, segment: str, position: Any) -> Iterator[SourceBatch]:
        """Yield the pages of one segment of the scan."""
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
        """Return the largest page size: at most what one second of the rate limit allows."""
        limits = [] if self._page_items is None else [self._page_items]
        if self._caller.rate is not None:
            share = self._caller.rate / len(self.segments)
            limits.append(max(1, int(share / self._units_per_item)))
        return min(limits, default=None)
