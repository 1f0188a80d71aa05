"""Pages of bands: by keys where a filter or a role says which, else by a scan in bounded steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from keyfold.errors import AccessDenied
from keyfold.store._own_items import is_own_item
from keyfold.studio._problems import describe_problem
from keyfold.studio.rooms._bands import CARDS, Band
from keyfold.studio.rooms._item_filters import ItemFilter
from keyfold.studio.rooms._item_lookups import find_by_fields, find_by_text, find_whole_key
from keyfold.studio.rooms._item_reading import BandRange, BandReader, find_guard
from keyfold.studio.rooms._item_rights import find_own_ranges
from keyfold.values import Item

# The bounds of one request.
MAX_BANDS = 40
MAX_UNITS = 10.0
MAX_ITEMS = 2_000
_MAX_CALLS = 12
_MAX_FOUND = 100
_FEWEST, _MOST = 20, 300
# About 4 units a call, so that a page of scans takes 10 units at most.
_BYTES_PER_CALL = 32_000
_SCAN_UNITS = 6.0


@dataclass(slots=True)
class BandPage:
    """Bands, and how they were found.

    `how` is "keys" or "scan". `start` is where the next page starts, `read` the number of items that
    were read for this one, and `own` how many of them are Keyfold's own. `missed` are entities that
    only a scan finds items of, and `empty` the partitions that have no items.
    """

    how: str
    bands: list[Band] = field(default_factory=list[Band])
    start: Item | None = None
    read: int = 0
    own: int = 0
    missed: tuple[str, ...] = ()
    empty: list[BandRange] = field(default_factory=list[BandRange])
    notes: tuple[str, ...] = ()


def read_by_keys(reader: BandReader, wanted: ItemFilter, average: float) -> BandPage | None:
    """Return the items that keys lead to; None if the filter names no key."""
    found = (
        find_by_fields(reader.table, reader.index, wanted) if wanted.tests or wanted.only else None
    )
    if found is not None:
        page = query_ranges(reader, found.ranges, wanted, average)
        page.missed = found.missed
        return page
    if wanted.texts:
        return _read_by_text(reader, wanted, average)
    if wanted.equalities and reader.index is None:
        return _read_by_index(reader, wanted)
    return None


def read_own(reader: BandReader, wanted: ItemFilter, average: float) -> BandPage | None:
    """Return a principal's own partitions; None if it has no role in the table, or no partition."""
    guard = find_guard(reader.call)
    if guard is None:
        return None
    own = find_own_ranges(reader, guard)
    if not own.ranges and not own.notes:
        return None
    page = query_ranges(reader, own.ranges, wanted, average)
    page.notes = own.notes
    return page


def query_ranges(
    reader: BandReader, ranges: Iterable[BandRange], wanted: ItemFilter, average: float
) -> BandPage:
    """Read partitions: the first cards of each, then as much more as the bounds allow."""
    page = BandPage("keys")
    for each in ranges:
        band = Band(each, is_matching=each.sort is not None)
        try:
            read = reader.query(each, limit=CARDS)
        except AccessDenied as error:
            band.denied = describe_problem(error).to_json()
            page.bands.append(band)
            continue
        _extend(reader, page, band, read.items, wanted)
        band.last, band.is_partial = read.last, read.is_partial
        page.bands.append(band)
    for band in page.bands:
        while band.last is not None and reader.units < MAX_UNITS and page.read < MAX_ITEMS:
            left = int((MAX_UNITS - reader.units) * 8_192 / average) + CARDS
            limit = min(left, MAX_ITEMS - page.read)
            read = reader.query(band.wanted, limit=limit, start=band.last)
            _extend(reader, page, band, read.items, wanted)
            band.last = read.last
    page.empty = [each.wanted for each in page.bands if _is_empty(each)]
    page.bands = [each for each in page.bands if not _is_empty(each)]
    return page


def scan_bands(
    reader: BandReader, wanted: ItemFilter, start: Item | None, average: float
) -> BandPage:
    """Read the next partitions of the table or index; raises AccessDenied."""
    page = BandPage("scan")
    limit = max(_FEWEST, min(_MOST, int(_BYTES_PER_CALL / average)))
    calls, units = 0, reader.units
    while True:
        read = reader.scan(limit=limit, start=start)
        calls += 1
        for item in read.items:
            _add(reader, page, item, wanted, is_partial=read.is_partial)
        start = read.last
        if start is None:
            return page
        is_done = (
            len(page.bands) >= MAX_BANDS
            or page.read >= MAX_ITEMS
            or calls >= _MAX_CALLS
            or reader.units - units >= _SCAN_UNITS
        )
        last = read.items[-1] if read.items else None
        if last is not None and (
            (wanted.is_empty and _is_full(page, last)) or _is_foreign(reader, wanted, last)
        ):
            start = _leave(reader, page, last) or start
        elif is_done and wanted.is_empty and len(page.bands) > 1:
            # The next page has the whole of the last partition.
            dropped = page.bands.pop()
            page.read -= len(dropped.items)
            start = reader.position_of(page.bands[-1].items[-1])
        if is_done:
            page.start = start
            return page


def _extend(
    reader: BandReader, page: BandPage, band: Band, items: Sequence[Item], wanted: ItemFilter
) -> None:
    page.read += len(items)
    kept = [each for each in items if wanted.is_empty or wanted.accepts(reader.table, each)]
    band.items += kept
    band.is_matching = band.is_matching or len(kept) < len(items)


def _is_empty(band: Band) -> bool:
    return not band.items and band.denied is None and band.last is None


def _add(
    reader: BandReader, page: BandPage, item: Item, wanted: ItemFilter, *, is_partial: bool
) -> None:
    """Add a scanned item to its band."""
    page.read += 1
    if is_own_item(reader.table, item):
        page.own += 1
        return
    if not wanted.is_empty and not wanted.accepts(reader.table, item):
        return
    partition = {name: item[name] for name in reader.key.partition}
    if not page.bands or page.bands[-1].wanted.partition != partition:
        is_matching = not wanted.is_empty
        page.bands.append(
            Band(BandRange(partition), is_partial=is_partial, is_matching=is_matching)
        )
    page.bands[-1].items.append(item)


def _is_full(page: BandPage, last: Item) -> bool:
    """Return whether the band of the last item has enough of its partition."""
    band = page.bands[-1] if page.bands else None
    return (
        band is not None
        and len(band.items) >= CARDS
        and all(last[name] == value for name, value in band.wanted.partition.items())
    )


def _is_foreign(reader: BandReader, wanted: ItemFilter, item: Item) -> bool:
    """Return whether the partition of an item can have no item of the entities that are wanted."""
    if not wanted.only or reader.index is not None:
        return False
    text = item[reader.key.partition[0]].get("S")
    schemas = [each for name, each in reader.table.entities.items() if name in wanted.only]
    templates = [each.partition.template for each in schemas]
    return text is not None and all(
        template is not None and not template.matches(text) for template in templates
    )


def _leave(reader: BandReader, page: BandPage, last: Item) -> Item | None:
    """Return where the scan goes on after the last item's partition; its band may have more."""
    end = reader.end_of(last)
    band = page.bands[-1] if page.bands else None
    partition = {name: last[name] for name in reader.key.partition}
    if end is not None and band is not None and band.wanted.partition == partition:
        band.last = reader.position_of(last)
    return end


def _read_by_text(reader: BandReader, wanted: ItemFilter, average: float) -> BandPage | None:
    """Return the items whose partition, index partition or whole key is the filter's text."""
    rest = wanted.without_texts()
    [text, *more] = wanted.texts
    ranges = [] if more else [*find_by_text(reader.table, reader.index, text)]
    page = query_ranges(reader, ranges, rest, average)
    page.bands = [each for each in page.bands if each.denied is None or _is_declared(reader, each)]
    page.empty = []
    if reader.index is None and not more:
        key = find_whole_key(reader.table, text)
        found = [] if key is None else [item for item in [_get(reader, key)] if item is not None]
        for index in reader.table.indexes:
            through = BandReader(reader.call, index.name)
            found += _look_up(through, [*find_by_text(reader.table, index, text)][:1])
        _add_found(reader, page, found, rest)
    return page if page.bands else None


def _read_by_index(reader: BandReader, wanted: ItemFilter) -> BandPage | None:
    """Return the items that an index leads to, in their partitions of the table."""
    found: list[Item] = []
    missed: set[str] = set()
    is_keyed = False
    for index in reader.table.indexes:
        ranges = find_by_fields(reader.table, index, wanted)
        if ranges is None:
            continue
        missed = missed & {*ranges.missed} if is_keyed else {*ranges.missed}
        is_keyed = True
        found += _look_up(BandReader(reader.call, index.name), ranges.ranges)
    if not is_keyed:
        return None
    page = BandPage("keys", missed=tuple(sorted(missed)))
    _add_found(reader, page, found, wanted)
    return page


def _look_up(through: BandReader, ranges: Sequence[BandRange]) -> list[Item]:
    """Return the whole items of partitions of an index; none of those that are denied."""
    found: list[Item] = []
    for each in ranges:
        try:
            read = through.query(each, limit=_MAX_FOUND)
        except AccessDenied:
            continue
        found += read.items
        if read.is_partial:
            names = through.table.key.names
            keys = [{name: item[name] for name in names} for item in found[:_MAX_FOUND]]
            found = _get_known(through, keys)
    return found


def _get_known(reader: BandReader, keys: Sequence[Item]) -> list[Item]:
    try:
        return reader.get_several(keys)
    except AccessDenied:
        return []


def _get(reader: BandReader, key: Item) -> Item | None:
    try:
        return reader.get(key)
    except AccessDenied:
        return None


def _add_found(
    reader: BandReader, page: BandPage, found: Sequence[Item], wanted: ItemFilter
) -> None:
    """Add single items to the bands of their partitions, unless these have them."""
    bands = {repr(each.wanted.partition): each for each in page.bands}
    names = reader.table.key.names
    seen: set[str] = set()
    for item in found:
        position = repr([item[name] for name in names])
        if position in seen or not wanted.accepts(reader.table, item):
            continue
        seen.add(position)
        if is_own_item(reader.table, item):
            continue
        partition = {name: item[name] for name in reader.key.partition}
        band = bands.get(repr(partition))
        if band is None:
            band = bands[repr(partition)] = Band(BandRange(partition), is_matching=True)
            page.bands.append(band)
        elif not band.is_matching:
            continue
        band.items.append(item)
    page.read += len(found)


def _is_declared(reader: BandReader, band: Band) -> bool:
    text = band.wanted.partition[reader.key.partition[0]].get("S", "")
    templates = [each.partition.template for each in reader.table.entities.values()]
    return any(each is not None and each.matches(text) for each in templates)


def show_empty(ranges: Sequence[BandRange]) -> list[dict[str, Any]]:
    """Return the keys of partitions without items, as texts."""
    return [
        {"texts": [str(next(iter(value.values()))) for value in each.partition.values()]}
        for each in ranges
    ]
