"""Counts items by entity and by index: of a small embedded table without asking, else in steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfold.errors import AccessDenied, ResourceNotFoundException
from keyfold.store._own_items import is_own_item
from keyfold.studio._actions import StudioCall
from keyfold.studio._bodies import StudioBody
from keyfold.studio._recording import CallRecorder
from keyfold.studio._shown_items import find_entity
from keyfold.studio.rooms._bands import is_expired, show_position
from keyfold.studio.rooms._item_reading import BandReader, find_guard, read_stored_key
from keyfold.studio.rooms._item_rights import OwnRanges, find_own_ranges
from keyfold.values import Item

# Embedded tables with more items are counted only if asked.
COUNTED_UNASKED = 50_000
# How many items one request counts, if asked, and how many of its own a principal is shown.
_STEP = 20_000
_OWN_ITEMS = 2_000
_KEPT_SECONDS = 5.0
_BYTES_PER_UNIT = 8_192


@dataclass(frozen=True, slots=True)
class TableSize:
    """How large a table is by its description, which may be hours old on DynamoDB."""

    items: int
    bytes: int

    @property
    def average(self) -> float:
        """The bytes of an item."""
        return max(1.0, self.bytes / self.items) if self.items else 100.0

    @property
    def units(self) -> float:
        """The read units of a scan."""
        return max(0.5, round(self.bytes / _BYTES_PER_UNIT, 1))


def measure_table(call: StudioCall) -> TableSize:
    """Return the size of a table; it costs no units."""
    try:
        request = {"TableName": call.table.name}
        described = call.workspace.executor.execute("DescribeTable", request)["Table"]
    except ResourceNotFoundException:
        return TableSize(0, 0)
    return TableSize(described.get("ItemCount", 0), described.get("TableSizeBytes", 0))


@dataclass(slots=True)
class ItemTally:
    """How many items each entity has, live ones only, and how many of them are in each index."""

    entities: Counter[str] = field(default_factory=Counter[str])
    # Live items of each entity that are in an index, and key attributes that the others lack.
    members: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    lacking: dict[tuple[str, str], Counter[str]] = field(
        default_factory=dict[tuple[str, str], Counter[str]]
    )
    expired: int = 0
    own: int = 0
    unknown: int = 0

    def add(self, call: StudioCall, items: Iterable[Item]) -> None:
        """Count items."""
        table, now = call.table, call.now
        for item in items:
            if is_own_item(table, item):
                self.own += 1
            elif is_expired(table, item, now):
                self.expired += 1
            else:
                schema = find_entity(table, item)
                name = "" if schema is None else schema.name
                self.unknown += schema is None
                self.entities[name] += 1
                self._add_to_indexes(call, name, item)

    def _add_to_indexes(self, call: StudioCall, name: str, item: Item) -> None:
        for index in call.table.indexes:
            missing = [each for each in index.key.names if each not in item]
            if missing:
                self.lacking.setdefault((index.name, name), Counter()).update(missing)
            else:
                self.members.setdefault(index.name, Counter())[name] += 1

    def show(self, call: StudioCall) -> dict[str, Any]:
        """Return the counts for the browser."""
        names = [*call.table.entities]
        return {
            "entities": {name: self.entities[name] for name in names},
            "unknown": self.unknown,
            "expired": self.expired,
            "own": self.own,
            "total": self.entities.total(),
            "indexes": {
                index.name: {
                    "total": self.members.get(index.name, Counter[str]()).total(),
                    "entities": {
                        name: self.members.get(index.name, Counter[str]())[name] for name in names
                    },
                    "lacking": {
                        name: dict(self.lacking.get((index.name, name), Counter[str]()))
                        for name in names
                    },
                }
                for index in call.table.indexes
            },
        }


def count_items(call: StudioCall) -> dict[str, Any]:
    """Return counts by entity; of a large table, about how many items it has and what counting costs.

    With `count`, 20,000 items are counted, from `cursor` on; the browser adds the steps up.
    """
    if call.principal is not None:
        return _keep(call, lambda: _count_own(call))
    if call.body.flag("count"):
        return _count_step(call)
    size = measure_table(call)
    if call.workspace.kind == "service" or size.items > COUNTED_UNASKED:
        return {"about": size.items, "units": size.units}
    return _keep(call, lambda: _count_all(call))


def _keep(call: StudioCall, make: Any) -> dict[str, Any]:
    """Return what was counted some seconds ago, or count now."""
    kept: dict[str, tuple[float, dict[str, Any]]] = call.workspace.remember(
        ("items", "counts", call.table.name), dict
    )
    identity = "" if call.principal is None else call.principal.identity
    at, found = kept.get(identity, (0.0, {}))
    if not 0 <= call.now - at < _KEPT_SECONDS:
        found = make()
        if len(kept) > _STEP:
            kept.clear()
        kept[identity] = (call.now, found)
    return found


def _be_quiet(call: StudioCall) -> BandReader:
    """Return a reader with the rights of the call, whose reads are not the user's."""
    recorder = CallRecorder(call.workspace.executor)
    store = call.workspace.open_store(call.subject, call.principal, recorder)
    quiet = StudioCall(
        call.workspace, call.subject, call.principal, store, recorder, StudioBody({})
    )
    return BandReader(quiet, None)


def _count_all(call: StudioCall) -> dict[str, Any]:
    tally = ItemTally()
    start = _scan_some(call, _be_quiet(call), tally)
    return {**tally.show(call), "complete": start is None}


def _scan_some(call: StudioCall, reader: BandReader, tally: ItemTally) -> Item | None:
    """Count the items that are counted unasked; return where others start, None if there are none."""
    start: Item | None = None
    counted = 0
    while True:
        read = reader.scan(limit=_STEP, start=start)
        tally.add(call, read.items)
        counted += len(read.items)
        start = read.last
        if start is None or counted > COUNTED_UNASKED:
            return start


def _count_step(call: StudioCall) -> dict[str, Any]:
    reader, tally = BandReader(call, None), ItemTally()
    cursor: Mapping[str, Any] | None = call.body.optional_mapping("cursor")
    names = call.table.key.names
    start = None if cursor is None else read_stored_key(cursor, names, "cursor")
    counted = 0
    while counted < _STEP:
        read = reader.scan(limit=_STEP - counted, start=start)
        tally.add(call, read.items)
        counted += len(read.items)
        start = read.last
        if start is None:
            break
    return {**tally.show(call), "cursor": None if start is None else show_position(start)}


def _count_own(call: StudioCall) -> dict[str, Any]:
    """Return counts of what a principal can read, all or its own partitions; none of a service."""
    reader, tally, guard = _be_quiet(call), ItemTally(), find_guard(call)
    if call.workspace.kind == "service":
        return {"entities": {}, "complete": False}
    is_complete = True
    unlisted = frozenset[str]()
    try:
        start = _scan_some(call, reader, tally)
        is_complete = start is None
    except AccessDenied:
        own = OwnRanges((), ()) if guard is None else find_own_ranges(reader, guard)
        unlisted = own.unlisted
        is_complete = not unlisted
        for each in own.ranges:
            try:
                read = reader.query(each, limit=_OWN_ITEMS)
            except AccessDenied:
                continue
            tally.add(call, read.items)
            is_complete = is_complete and read.last is None
    counted: dict[str, Any] = {**tally.show(call), "complete": is_complete}
    for name, schema in call.table.entities.items():
        if (schema.shard or name) in unlisted:
            del counted["entities"][name]
    return counted
