"""Reading pages of items, for Query, Scan and PartiQL's SELECT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from keyfold.capacity import read_units, scan_units
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.deadlines import SLICE_WORK, Deadline
from keyfold.engine.items.keys import END
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.work import (
    INLINE_BYTES,
    INLINE_ROWS,
    PAGE_ROWS,
    PAGE_WORK,
    check_inline,
)
from keyfold.engine.storage import Span, Storage
from keyfold.engine.tables.table import EngineIndex, EngineTable
from keyfold.engine.tables.throughput import count_initial_partitions
from keyfold.values import Item, item_size_bytes

PAGE_BYTES = 1 << 20
# A page with less work than this is filtered at once.
LITTLE_WORK = 4 * SLICE_WORK


class PageQuery(NamedTuple):
    """A request for one page of items. A tuple, for speed: every query creates one."""

    table: EngineTable
    # The index that is read; None for the table.
    through: EngineIndex | None
    span: Span
    limit: int | None
    is_consistent: bool
    wants_items: bool
    holds: Callable[[Item], bool] | None = None
    project: Callable[[Item], Item] | None = None
    # Whether attributes that a local index does not project are wanted; each item is then read
    # from the table as well.
    fetches: bool = False
    # Whether the key identifies one item, so that no page can follow.
    finds_one: bool = False
    max_bytes: int = PAGE_BYTES
    # The partition, or item, that is read; set only for monitored tables, and not for scans.
    partition: Item | None = None
    # The number of operands of the filter.
    weight: int = 0


@dataclass(slots=True)
class _Page:
    """What has been read of a page, and the bounds of the work for it."""

    # Whether an event loop reads it, which raises NeedsThread for a long page.
    is_inline: bool
    # When it ends early.
    deadline: Deadline
    work_left: int
    scanned: int = 0
    scanned_bytes: int = 0
    fetched_units: float = 0.0
    last: bytes | None = None
    count: int = 0


def read_page(
    storage: Storage, query: PageQuery, meter: CapacityMeter, rendering: Rendering
) -> dict[str, Any]:
    """Read one page and return the response to Query or Scan.

    Raises a throttling error if a monitored table has no read units left.
    """
    page = _Page(rendering.is_inline, rendering.deadline, PAGE_WORK)
    index, monitor = query.through, query.table.monitor
    if monitor is not None:
        monitor.admit("Read", "" if index is None else index.name, query.partition)
    whole = query.project is None and (index is None or index.projected is None)
    response: dict[str, Any] = {}
    if whole:
        # Stored items are copied into the response, whether a filter decodes them or not.
        values = _read_whole(storage, query, page)
        page.count = len(values)
        if query.wants_items:
            response["Items"] = rendering.stored_list(values)
    else:
        items = _read_decoded(storage, query, page)
        page.count = len(items)
        if query.wants_items:
            response["Items"] = rendering.items(items)
    response["Count"] = page.count
    response["ScannedCount"] = page.scanned
    if page.last is not None and not query.finds_one:
        response["LastEvaluatedKey"] = cursor_key(query.table, index, page.last, rendering)
    if meter.is_on:
        _count_units(query, page, meter)
        meter.report(response)
    if monitor is not None:
        measured = CapacityMeter("INDEXES")
        _count_units(query, page, measured)
        _use_units(query, measured)
    return response


class SpansPage(NamedTuple):
    """One page of several spans, read one after the other."""

    items: Any
    # The position of the span to continue with (None at the end), and the last item that was read
    # of that span, if any.
    place: int | None
    last: bytes | None


def read_spans(
    storage: Storage,
    query: PageQuery,
    spans: Sequence[Span],
    first: int,
    meter: CapacityMeter,
    rendering: Rendering,
) -> SpansPage:
    """Read one page of several spans, beginning with the one at position `first`."""
    index, monitor = query.through, query.table.monitor
    if monitor is not None:
        monitor.admit("Read", "" if index is None else index.name, query.partition)
    measured = CapacityMeter(None if monitor is None else "INDEXES")
    whole = query.project is None and (index is None or index.projected is None)
    values: list[bytes] = []
    items: list[Item] = []

    def finish(place: int | None, last: bytes | None) -> SpansPage:
        if monitor is not None:
            _use_units(query, measured)
        rendered = rendering.stored_list(values) if whole else rendering.items(items)
        return SpansPage(rendered, place, last)

    left, left_bytes, work_left = query.limit, query.max_bytes, PAGE_WORK
    for place in range(first, len(spans)):
        part = query._replace(span=spans[place], limit=left, max_bytes=left_bytes)
        page = _Page(rendering.is_inline, rendering.deadline, work_left)
        if whole:
            values.extend(_read_whole(storage, part, page))
        else:
            items.extend(_read_decoded(storage, part, page))
        for each in (meter, measured):
            if each.is_on:
                _count_units(part, page, each)
        if page.last is not None and not query.finds_one:
            return finish(place, page.last)
        left = None if left is None else left - page.scanned
        left_bytes -= page.scanned_bytes
        work_left = page.work_left
        if (left == 0 or left_bytes <= 0) and place + 1 < len(spans):
            return finish(place + 1, None)
    for each in (meter, measured):
        if each.is_on and first >= len(spans):
            # There is nothing to read, which costs the minimum.
            _count_units(query, _Page(rendering.is_inline, rendering.deadline, 0), each)
    return finish(None, None)


def cursor_key(
    table: EngineTable, index: EngineIndex | None, value: bytes, rendering: Rendering
) -> Any:
    """Return the LastEvaluatedKey of a page that ends with a stored item."""
    last: Item = orjson.loads(value)
    names = table.key.names if index is None else index.cursor_names
    return rendering.item({name: last[name] for name in names})


def _read_whole(storage: Storage, query: PageQuery, page: _Page) -> Sequence[bytes]:
    """Read rows, and return the stored items that pass the filter, if there is one."""
    limit, holds, weight = _row_limit(query, page), query.holds, query.weight
    values, sizes = storage.read_span(
        query.table.rows,
        query.span,
        limit=limit,
        max_bytes=INLINE_BYTES if page.is_inline else query.max_bytes,
    )
    if page.is_inline:
        check_inline(values, weight)
    page.scanned = len(sizes)
    page.scanned_bytes = sum(sizes)
    if values and (page.scanned == limit or page.scanned_bytes >= query.max_bytes):
        page.last = values[-1]
    found, loads = values, orjson.loads
    if holds is not None and page.scanned_bytes * weight > LITTLE_WORK:
        with page.deadline.computing():
            found = _filter_in_slices(query, holds, page, values, sizes)
    elif holds is not None:
        found = [value for value in values if holds(loads(value))]
    if query.table.monitor is not None:
        _count_keys(query, [loads(value) for value in values[: page.scanned]])
    return found


def _filter_in_slices(
    query: PageQuery,
    holds: Callable[[Item], bool],
    page: _Page,
    values: Sequence[bytes],
    sizes: Sequence[int],
) -> list[bytes]:
    """Return the items that pass the filter; end the page once that has taken long enough."""
    found: list[bytes] = []
    factor, work_left = 1 + query.weight, page.work_left
    looks_at = work_left - SLICE_WORK
    for place, value in enumerate(values, start=1):
        if holds(orjson.loads(value)):
            found.append(value)
        work_left -= len(value) * factor
        if work_left <= 0 or (work_left <= looks_at and page.deadline.is_over):
            if place < len(values):
                page.scanned, page.scanned_bytes = place, sum(sizes[:place])
                page.last = value
            break
        if work_left <= looks_at:
            looks_at = work_left - SLICE_WORK
            page.deadline.pass_turn()
    page.work_left = work_left
    return found


def _row_limit(query: PageQuery, page: _Page) -> int:
    """Return how many rows to read; one more than an event loop may process, if it reads them."""
    most = INLINE_ROWS + 1 if page.is_inline else PAGE_ROWS
    return most if query.limit is None or query.limit > most else query.limit


def _read_decoded(storage: Storage, query: PageQuery, page: _Page) -> list[Item]:
    """Read rows as decoded items, for projections and for indexes that project only a part."""
    index, holds, project = query.through, query.holds, query.project
    partial = index is not None and index.projected is not None
    items: list[Item] = []
    span, limit = query.span, _row_limit(query, page)
    looks_at = page.work_left - SLICE_WORK
    while True:
        values, sizes = storage.read_span(
            query.table.rows,
            span,
            limit=limit - page.scanned,
            max_bytes=INLINE_BYTES if page.is_inline else PAGE_BYTES,
        )
        if page.is_inline:
            check_inline(values, query.weight)
        read_bytes = 0
        item: Item = {}
        for value, row_bytes in zip(values, sizes, strict=True):
            item = orjson.loads(value)
            size = row_bytes
            read_bytes += size
            page.work_left -= len(value) * (1 + query.weight)
            found = held = item
            if partial and index is not None:
                held = index.project(item)
                size = item_size_bytes(held)
                if query.fetches:
                    page.fetched_units += read_units(row_bytes, is_consistent=query.is_consistent)
                else:
                    found = held
            page.scanned += 1
            page.scanned_bytes += size
            if query.table.monitor is not None:
                _count_keys(query, [item])
            # A filter sees what the index holds, even if the item is read from the table as well.
            if holds is None or holds(held):
                items.append(found if project is None else project(found))
            is_over = page.work_left <= 0
            if page.work_left <= looks_at:
                looks_at = page.work_left - SLICE_WORK
                is_over = is_over or page.deadline.is_over
            if is_over or page.scanned == limit or page.scanned_bytes >= query.max_bytes:
                page.last = value
                return items
        if read_bytes < PAGE_BYTES or index is None:
            return items
        # The rows were large, but the index projects little of them: the page is not full yet.
        entry = index.encode(item)
        assert entry is not None  # the row was found by its entry
        span = span._replace(after=(entry, query.table.encode_key(item)))


def _count_keys(query: PageQuery, items: list[Item]) -> None:
    monitor = query.table.monitor
    assert monitor is not None  # the caller has checked it
    monitor.count("" if query.through is None else query.through.name, items)


def _use_units(query: PageQuery, measured: CapacityMeter) -> None:
    monitor, index = query.table.monitor, query.through
    assert monitor is not None  # the caller has checked it
    units = sum(measured.use_of(query.table).by_name().values())
    monitor.use_read("" if index is None else index.name, query.partition, units)


def _count_units(query: PageQuery, page: _Page, meter: CapacityMeter) -> None:
    use = meter.use_of(query.table)
    if page.last is None and query.span == Span(b"", END, column=query.span.column):
        units = scan_units(
            page.scanned_bytes,
            is_consistent=query.is_consistent,
            partitions=_count_partitions(query.table, query.through),
        )
    else:
        units = read_units(page.scanned_bytes, is_consistent=query.is_consistent)
    if query.through is None:
        use.units += units
        return
    use.add_index(query.through.name, units)
    use.units += page.fetched_units


def _count_partitions(table: EngineTable, index: EngineIndex | None) -> int:
    """Return the number of partitions that a new table or global index has; see `scan_units`."""
    body = table.body
    mode = body["billing_mode"]
    if index is None or not index.is_global:
        return count_initial_partitions(
            body["settings"].get("WarmThroughput"), mode, body["throughput"]
        )
    (found,) = (each for each in body["indexes"] if each["name"] == index.name)
    return count_initial_partitions(found.get("warm"), mode, found.get("throughput"))
