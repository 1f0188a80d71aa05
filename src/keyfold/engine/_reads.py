"""Pages of items: what Query and Scan share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from keyfold.engine._capacity import CapacityMeter, read_units
from keyfold.engine._responses import Rendering
from keyfold.engine._tables import EngineIndex, EngineTable
from keyfold.engine.storage import Span, Storage
from keyfold.values import Item, item_size_bytes

PAGE_BYTES = 1 << 20


class PageQuery(NamedTuple):
    """What one page is to hold. A tuple, since every query makes one."""

    table: EngineTable
    # The index that is read; None for the table itself.
    through: EngineIndex | None
    span: Span
    limit: int | None
    is_consistent: bool
    wants_items: bool
    holds: Callable[[Item], bool] | None = None
    project: Callable[[Item], Item] | None = None
    # A local index may be asked for what it does not hold; each item is then read from the
    # table as well.
    fetches: bool = False
    # A key that names one item: there is nowhere to go on from.
    finds_one: bool = False
    max_bytes: int = PAGE_BYTES
    # Which partition, or item, is read; known for watched tables alone, and not of scans.
    partition: Item | None = None


@dataclass(slots=True)
class _Page:
    scanned: int = 0
    scanned_bytes: int = 0
    fetched_units: float = 0.0
    last: bytes | None = None
    count: int = 0


def read_page(
    storage: Storage, query: PageQuery, meter: CapacityMeter, rendering: Rendering
) -> dict[str, Any]:
    """Read one page and return the response to Query or Scan."""
    page = _Page()
    index, watch = query.through, query.table.watch
    if watch is not None:
        watch.admit("Read", "" if index is None else index.name, query.partition)
    whole = query.project is None and (index is None or index.projected is None)
    response: dict[str, Any] = {}
    if whole:
        # Items go into the answer as they are stored, whether a filter looks at them or not.
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
    if watch is not None:
        measured = CapacityMeter("INDEXES")
        _count_units(query, page, measured)
        watch.use("Read", measured.use_of(query.table).by_name())
    return response


class SpansPage(NamedTuple):
    """One page of several spans, read one after the other."""

    items: Any
    # The span to go on with, and the last item that was read of it; None for neither, at the end.
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
    """Read one page of several spans, from the one at `first` on."""
    index, watch = query.through, query.table.watch
    if watch is not None:
        watch.admit("Read", "" if index is None else index.name, query.partition)
    measured = CapacityMeter(None if watch is None else "INDEXES")
    whole = query.project is None and (index is None or index.projected is None)
    values: list[bytes] = []
    items: list[Item] = []

    def finish(place: int | None, last: bytes | None) -> SpansPage:
        if watch is not None:
            watch.use("Read", measured.use_of(query.table).by_name())
        rendered = rendering.stored_list(values) if whole else rendering.items(items)
        return SpansPage(rendered, place, last)

    left, room = query.limit, query.max_bytes
    for place in range(first, len(spans)):
        part = query._replace(span=spans[place], limit=left, max_bytes=room)
        page = _Page()
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
        room -= page.scanned_bytes
        if (left == 0 or room <= 0) and place + 1 < len(spans):
            return finish(place + 1, None)
    for each in (meter, measured):
        if each.is_on and first >= len(spans):
            # Nothing can be read, and asking costs the least there is.
            _count_units(query, _Page(), each)
    return finish(None, None)


def cursor_key(
    table: EngineTable, index: EngineIndex | None, value: bytes, rendering: Rendering
) -> Any:
    """Return the LastEvaluatedKey of a page that ends with a stored item."""
    last: Item = orjson.loads(value)
    names = table.key.names if index is None else index.cursor_names
    return rendering.item({name: last[name] for name in names})


def _read_whole(storage: Storage, query: PageQuery, page: _Page) -> Sequence[bytes]:
    """Read rows, and keep those that the filter, if there is one, lets pass."""
    limit, holds = query.limit, query.holds
    values, sizes = storage.read_span(
        query.table.rows,
        query.span,
        limit=-1 if limit is None else limit,
        max_bytes=query.max_bytes,
    )
    page.scanned = len(sizes)
    page.scanned_bytes = sum(sizes)
    if query.table.watch is not None:
        _count_keys(query, [orjson.loads(value) for value in values])
    if values and (page.scanned == limit or page.scanned_bytes >= query.max_bytes):
        page.last = values[-1]
    if holds is None:
        return values
    loads = orjson.loads
    return [value for value in values if holds(loads(value))]


def _read_decoded(storage: Storage, query: PageQuery, page: _Page) -> list[Item]:
    """Read rows that must be looked into: filtered, or of an index that holds only a part."""
    index, holds, project = query.through, query.holds, query.project
    partial = index is not None and index.projected is not None
    items: list[Item] = []
    span = query.span
    while True:
        left = -1 if query.limit is None else query.limit - page.scanned
        values, sizes = storage.read_span(query.table.rows, span, limit=left, max_bytes=PAGE_BYTES)
        read_bytes = 0
        item: Item = {}
        for value, row_bytes in zip(values, sizes, strict=True):
            item = orjson.loads(value)
            size = row_bytes
            read_bytes += size
            found = item
            if partial and index is not None:
                held = index.project(item)
                size = item_size_bytes(held)
                if query.fetches:
                    page.fetched_units += read_units(row_bytes, is_consistent=query.is_consistent)
                else:
                    found = held
            page.scanned += 1
            page.scanned_bytes += size
            if query.table.watch is not None:
                _count_keys(query, [item])
            if holds is None or holds(found):
                items.append(found if project is None else project(found))
            if page.scanned == query.limit or page.scanned_bytes >= query.max_bytes:
                page.last = value
                return items
        if read_bytes < PAGE_BYTES or index is None:
            return items
        # The rows were large but the index holds little of them: the page is not full yet.
        entry = index.encode(item)
        assert entry is not None  # the row was found by its entry
        span = span._replace(after=(entry, query.table.encode_key(item)))


def _count_keys(query: PageQuery, items: list[Item]) -> None:
    watch = query.table.watch
    assert watch is not None  # the caller has seen it
    watch.count("" if query.through is None else query.through.name, items)


def _count_units(query: PageQuery, page: _Page, meter: CapacityMeter) -> None:
    use = meter.use_of(query.table)
    units = read_units(page.scanned_bytes, is_consistent=query.is_consistent)
    if query.through is None:
        use.units += units
        return
    use.add_index(query.through.name, units)
    use.units += page.fetched_units
