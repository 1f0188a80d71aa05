"""The room of items: partitions as bands, single items, huge values, and counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.errors import AccessDenied
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio._shown_items import find_entity, name_item, show_item
from keyfold.studio._shown_values import LONG_BYTES, show_stored
from keyfold.studio.rooms._bands import (
    CARDS,
    make_card,
    show_band,
    show_position,
    show_raw,
    show_ticks,
)
from keyfold.studio.rooms._item_counts import count_items, measure_table
from keyfold.studio.rooms._item_filters import ItemFilter, parse_filter
from keyfold.studio.rooms._item_pages import (
    MAX_ITEMS,
    MAX_UNITS,
    BandPage,
    query_ranges,
    read_by_keys,
    read_own,
    scan_bands,
    show_empty,
)
from keyfold.studio.rooms._item_places import list_writers, show_places
from keyfold.studio.rooms._item_reading import (
    BandRange,
    BandReader,
    SortOperator,
    read_stored_key,
)
from keyfold.studio.rooms._item_references import list_references
from keyfold.values import Item, item_size_bytes

_MAX_FILTER = 2_000
# A piece of a huge value, in characters.
_PIECE = 64_000
# Values whose pieces are being read.
_MAX_KEPT_VALUES = 4
_MOST_CARDS = 100
_NEIGHBOURS = 6


def read_page(call: StudioCall) -> dict[str, Any]:
    """Return the next bands of the table or an index; see `_bands` for their form.

    `through` is an index, `where` a filter, `only` names of entities, `cursor` that of the page before,
    `everywhere` asks for a scan where keys would lead to items, and `near` is the key of an item whose
    partition comes first. The result has `bands`, `cursor`, and
    how they were found: `how`, `read`, `missed`, `empty`, `notes`; `size` is that of the table.
    """
    reader = BandReader(call, call.body.optional_text("through"))
    wanted = _read_filter(call)
    given = call.body.optional_mapping("cursor")
    start = None if given is None else read_stored_key(given, reader.position_names, "cursor")
    size = measure_table(call)
    page = _find_page(reader, wanted, start, size.average)
    if "near" in call.body and wanted.is_empty and start is None and reader.index is None:
        near = read_stored_key(call.body.mapping("near"), call.table.key.names, "near")
        _put_first(reader, page, near, size.average)
    is_raw = call.body.flag("raw")
    return {
        "bands": [show_band(reader, each, is_raw=is_raw) for each in page.bands],
        "cursor": None if page.start is None else show_position(page.start),
        "how": page.how,
        "read": page.read,
        "own": page.own,
        "missed": page.missed,
        "empty": show_empty(page.empty),
        "notes": page.notes,
        "size": {"items": size.items, "units": size.units} if call.principal is None else None,
    }


def _put_first(reader: BandReader, page: BandPage, key: Item, average: float) -> None:
    """Put the partition of an item before the others."""
    partition = {name: key[name] for name in reader.key.partition}
    near = query_ranges(reader, [BandRange(partition)], ItemFilter(), average)
    others = [each for each in page.bands if each.wanted.partition != partition]
    page.bands = [*near.bands, *others]


def _find_page(
    reader: BandReader, wanted: ItemFilter, start: Item | None, average: float
) -> BandPage:
    is_search = start is not None or reader.call.body.flag("everywhere")
    if not is_search and not wanted.is_empty:
        page = read_by_keys(reader, wanted, average)
        if page is not None:
            return page
    try:
        return scan_bands(reader, wanted, start, average)
    except AccessDenied:
        page = read_own(reader, wanted, average)
        if page is None or start is not None:
            raise
        return page


def read_partition(call: StudioCall) -> dict[str, Any]:
    """Return more cards of a partition, after `start`, or before it if `backwards`.

    With `bars`, return the ticks of the partition's beginning instead, as many as 10 units read. With
    `around`, return the item at `start` and its neighbours; then `before` is where earlier ones end.
    """
    reader = BandReader(call, call.body.optional_text("through"))
    names = reader.key.partition
    partition = read_stored_key(call.body.mapping("partition"), names, "partition")
    wanted = BandRange(partition, _read_sort(call))
    given = call.body.optional_mapping("start")
    start = None if given is None else read_stored_key(given, reader.position_names, "start")
    kept = _read_filter(call).without_texts()
    if call.body.flag("bars"):
        return _read_bars(reader, wanted, kept)
    if call.body.flag("around") and start is not None:
        return _read_around(reader, wanted, start)
    limit = call.body.integer("limit", least=1, most=_MOST_CARDS, default=2 * CARDS)
    is_backward = call.body.flag("backwards")
    items: list[Item] = []
    is_partial, read_count = False, 0
    while True:
        read = reader.query(wanted, limit=limit, start=start, is_backward=is_backward)
        read_count += len(read.items)
        items += [each for each in read.items if kept.is_empty or kept.accepts(call.table, each)]
        start, is_partial = read.last, read.is_partial
        if start is None or len(items) >= limit or reader.units >= MAX_UNITS:
            break
    is_raw = call.body.flag("raw")
    cards = [make_card(reader, each, is_partial=is_partial, is_raw=is_raw) for each in items]
    return {
        "cards": cards[::-1] if is_backward else cards,
        "cursor": None if start is None else show_position(start),
        "read": read_count,
    }


def _read_around(reader: BandReader, wanted: BandRange, start: Item) -> dict[str, Any]:
    before = reader.query(wanted, limit=_NEIGHBOURS, start=start, is_backward=True)
    first = before.items[-1] if before.items else None
    # From the first of them on: the item itself is among those that follow.
    after = reader.query(
        wanted, limit=2 * CARDS, start=None if first is None else reader.position_of(first)
    )
    items = [*([] if first is None else [first]), *after.items]
    is_raw = reader.call.body.flag("raw")
    return {
        "cards": [
            make_card(reader, each, is_partial=after.is_partial, is_raw=is_raw) for each in items
        ],
        "cursor": None if after.last is None else show_position(after.last),
        "before": None
        if before.last is None or first is None
        else show_position(reader.position_of(first)),
        "read": len(before.items) + len(after.items),
    }


def _read_bars(reader: BandReader, wanted: BandRange, kept: ItemFilter) -> dict[str, Any]:
    average = measure_table(reader.call).average
    items: list[Item] = []
    start: Item | None = None
    read_count = 0
    most = max(MAX_ITEMS, int(MAX_UNITS * 8_192 / average))
    while True:
        read = reader.query(wanted, limit=most - read_count, start=start)
        read_count += len(read.items)
        items += [each for each in read.items if kept.is_empty or kept.accepts(reader.table, each)]
        start = read.last
        if start is None or read_count >= most or reader.units >= MAX_UNITS:
            break
    return {
        **show_ticks(reader, items),
        "count": len(items),
        "complete": start is None,
        "bytes": sum(map(item_size_bytes, items)),
    }


def _read_sort(call: StudioCall) -> tuple[SortOperator, str] | None:
    given = call.body.sequence("sort")
    if not given:
        return None
    operator, *rest = given
    if operator not in ("=", "begins_with") or len(rest) != 1 or not isinstance(rest[0], str):
        message = f'sort has to be ["=", text] or ["begins_with", text]; got {given!r:.60}.'
        raise StudioProblem(400, "request-malformed", message)
    return operator, rest[0]


def _read_filter(call: StudioCall) -> ItemFilter:
    text = (call.body.optional_text("where") or "").strip()
    if len(text) > _MAX_FILTER:
        message = f"A filter has at most {_MAX_FILTER:,} characters; got {len(text):,}."
        raise StudioProblem(422, "filter-invalid", message)
    only = [each for each in call.body.texts("only") if each in call.table.entities]
    return parse_filter(call.table, text, only)


def read_one(call: StudioCall) -> dict[str, Any]:
    """Return one item whole, with `places`, `references`, `writers` and `raw` beside it.

    Values of more than 64 KB are cut; `items/value` has them. Fields that are hidden from the principal
    have `hidden`.
    """
    reader = BandReader(call, None)
    key = _read_key(call)
    item = _find_item(reader, key)
    table, schema = call.table, find_entity(call.table, item)
    names = [] if schema is None else sorted(schema.declared_names)
    hidden = reader.find_hidden(key, names)
    shown = show_item(table, item, now=call.now, most=LONG_BYTES)
    for field in shown["fields"]:
        if field["attribute"] in hidden:
            field["hidden"] = True
    if hidden:
        shown["problem"] = None
    return {
        "item": shown,
        "raw": show_raw(table, item, most=LONG_BYTES),
        "places": show_places(call, schema, item, hidden),
        "references": list_references(reader, schema, item),
        "writers": list_writers(call, schema),
        "title": name_item(table, item),
    }


@dataclass(frozen=True, slots=True)
class ValueText:
    """A huge value as text: itself, base 64, or JSON of the members of a list or map."""

    kind: str
    text: str


def read_value(call: StudioCall) -> dict[str, Any]:
    """Return a piece of one attribute of an item, as text, from the character `from` on."""
    key, attribute = _read_key(call), call.body.text("attribute")
    start = call.body.integer("from", least=0, most=1 << 30, default=0)
    identity = "" if call.principal is None else call.principal.identity
    name = repr((identity, key, attribute))
    kept: dict[str, ValueText] = call.workspace.remember(("items", "values", call.table.name), dict)
    found = kept.get(name)
    if found is None or start == 0:
        found = _read_whole(call, key, attribute)
        while len(kept) >= _MAX_KEPT_VALUES:
            kept.pop(next(iter(kept)), None)
        kept[name] = found
    end = min(len(found.text), start + _PIECE)
    return {
        "kind": found.kind,
        "text": found.text[start:end],
        "from": start,
        "next": end if end < len(found.text) else None,
        "characters": len(found.text),
    }


def _read_whole(call: StudioCall, key: Item, attribute: str) -> ValueText:
    reader = BandReader(call, None)
    item = _find_item(reader, key)
    if attribute not in item:
        message = f"The item has no attribute {attribute!r:.80}, or it is hidden from this role."
        raise StudioProblem(404, "attribute-unknown", message)
    shown: Mapping[str, Any] = show_raw(call.table, item, most=1 << 30)[attribute]
    ((kind, data),) = shown.items()
    text = data if isinstance(data, str) else json.dumps(data, indent=1, ensure_ascii=False)
    return ValueText(kind, text)


def _read_key(call: StudioCall) -> Item:
    return read_stored_key(call.body.mapping("key"), call.table.key.names, "key")


def _find_item(reader: BandReader, key: Item) -> Item:
    item = reader.get(key)
    if item is None:
        shown = ", ".join(f"{name} {_show(value)}" for name, value in key.items())
        message = f"{reader.table.name} has no item with {shown}."
        raise StudioProblem(404, "not-found", message)
    return item


def _show(value: Any) -> str:
    return str(next(iter(show_stored(value).values())))


ACTIONS: tuple[Action, ...] = (
    Action("items/page", read_page),
    Action("items/partition", read_partition),
    Action("items/one", read_one),
    Action("items/value", read_value),
    Action("items/counts", count_items),
)
