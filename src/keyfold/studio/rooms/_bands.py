"""Partitions as bands: the first items of each as cards, and all that were read as ticks.

A band in JSON:

- `key`: its partition key, in DynamoDB's JSON; `keys`: the same, decoded; `sort`: the condition on sort
  keys, if the band is a part of a partition; `title`: its shard, or its entity.
- `cards`: items (see `_shown_items`; fields have a name and a value only), and `cursor`: the position after the last card, null at the end.
- `ticks`: one number for each bar of the barcode: the entity's number, counted from 1 and doubled, plus 1
  if the item has expired. A bar stands for `each` items; `starts` are positions before the bars if that is
  more than one.
- `count`: how many items were read that the filter accepts; `complete`: whether these are all.
- `bytes`, `expired`: sums over those items. `matching`: whether a filter left items out.
- `denied`: why the principal may not read it; null if it may.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from keyfold.model import Table
from keyfold.model._hidden_attributes import hide_secrets
from keyfold.model._schemas import EntitySchema
from keyfold.studio._shown_items import find_entity, find_expiry, show_item
from keyfold.studio._shown_keys import show_key
from keyfold.studio._shown_values import show_stored
from keyfold.studio.rooms._item_reading import BandRange, BandReader
from keyfold.values import Item, item_size_bytes

# How many cards a band has at first, and how many more come at a time.
CARDS = 30
# Cards show the beginning of a value.
_CARD_BYTES = 200
_MAX_FIELDS = 60
MAX_TICKS = 200


@dataclass(slots=True)
class Band:
    """A partition, or a part of it, as far as it was read."""

    wanted: BandRange
    items: list[Item] = field(default_factory=list[Item])
    # The position after the last item that was read; None if there are no more.
    last: Item | None = None
    is_partial: bool = False
    is_matching: bool = False
    denied: dict[str, Any] | None = None


def show_band(reader: BandReader, band: Band, *, is_raw: bool = False) -> dict[str, Any]:
    """Return a band for the browser."""
    table, items = reader.table, band.items
    now = reader.call.now
    shown = items[:CARDS]
    cursor = reader.position_of(shown[-1]) if len(items) > len(shown) else band.last
    expired = sum(is_expired(table, item, now) for item in items)
    schema = _find_band_schema(reader, band)
    return {
        "key": show_position(band.wanted.partition),
        "keys": _show_partition(reader, schema, band),
        "sort": band.wanted.sort,
        "title": None if schema is None else schema.shard or schema.name,
        "cards": [
            make_card(reader, each, is_partial=band.is_partial, is_raw=is_raw) for each in shown
        ],
        "cursor": None if cursor is None else show_position(cursor),
        "count": len(items),
        "complete": band.last is None,
        "bytes": sum(map(item_size_bytes, items)),
        "expired": expired,
        "matching": band.is_matching,
        "denied": band.denied,
        **show_ticks(reader, items),
    }


def make_card(
    reader: BandReader, item: Item, *, is_partial: bool, is_raw: bool = False
) -> dict[str, Any]:
    """Return an item for a card; with all its attributes as `raw` if asked."""
    shown = show_item(reader.table, item, now=reader.call.now, most=_CARD_BYTES)
    # The table tells the browser types and attributes.
    for name in ("fields", "others"):
        shown[name] = [_shorten(each) for each in shown[name]][:_MAX_FIELDS]
    if is_partial:
        # What is missing is not projected, or hidden.
        shown["problem"] = None
        shown["partial"] = True
    if reader.index is not None:
        shown["place"] = {name: show_stored(item[name]) for name in reader.index.key.names}
    if is_raw:
        shown["raw"] = show_raw(reader.table, item)
    return shown


def _shorten(field: dict[str, Any]) -> dict[str, Any]:
    return {"name": field["name"], "value": field["value"]}


def show_raw(table: Table, item: Item, *, most: int = 2_000) -> dict[str, Any]:
    """Return all attributes of an item in DynamoDB's JSON, keys first; secrets are masked."""
    schema = find_entity(table, item)
    open_item = item if schema is None else hide_secrets([schema], item)
    names = [*table.key.names, *sorted(open_item.keys() - {*table.key.names})]
    return {name: show_stored(open_item[name], most=most) for name in names if name in open_item}


def show_position(position: Item) -> dict[str, Any]:
    """Return a key for the browser, in DynamoDB's JSON."""
    return {name: show_stored(value, most=10_000) for name, value in position.items()}


def show_ticks(reader: BandReader, items: Sequence[Item]) -> dict[str, Any]:
    """Return the bars of items: one each, or one for several if there are too many."""
    table, now = reader.table, reader.call.now
    numbers = {name: number for number, name in enumerate(table.entities, 1)}
    codes = [_make_code(table, numbers, item, now) for item in items]
    each = -(-len(items) // MAX_TICKS) or 1
    if each == 1:
        return {"ticks": codes, "each": 1, "starts": []}
    firsts = range(0, len(items), each)
    return {
        "ticks": [Counter(codes[first : first + each]).most_common(1)[0][0] for first in firsts],
        "each": each,
        "starts": [
            None if first == 0 else show_position(reader.position_of(items[first - 1]))
            for first in firsts
        ],
    }


def is_expired(table: Table, item: Item, now: float) -> bool:
    """Return whether an item has expired, and is not deleted yet."""
    expires = find_expiry(table, item)
    return expires is not None and expires <= now


def _make_code(table: Table, numbers: dict[str, int], item: Item, now: float) -> int:
    schema = find_entity(table, item)
    number = 0 if schema is None else numbers[schema.name]
    return number * 2 + is_expired(table, item, now)


def _find_band_schema(reader: BandReader, band: Band) -> EntitySchema | None:
    """Return the first entity that the partition can have items of; of the shard, by its template."""
    if band.items:
        return find_entity(reader.table, band.items[0])
    if reader.index is not None:
        return None
    text = band.wanted.partition[reader.key.partition[0]].get("S", "")
    for schema in reader.table.entities.values():
        template = schema.partition.template
        if template is not None and template.matches(text):
            return schema
    return None


def _show_partition(
    reader: BandReader, schema: EntitySchema | None, band: Band
) -> list[dict[str, Any]]:
    parts = {}
    if schema is not None:
        keys = schema.keys if reader.index is None else schema.index_keys.get(reader.index.name, ())
        parts = {part.attribute: part for part in keys}
    shown = [
        show_key(parts.get(name), name, band.wanted.partition[name])
        for name in reader.key.partition
    ]
    for key in shown:
        key["value"] = show_stored(key["value"])
    return shown
