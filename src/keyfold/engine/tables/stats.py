"""Item counts and sizes of tables and their indexes."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from keyfold.clocks import Clock
from keyfold.engine.items.keys import END
from keyfold.engine.storage import Span, Storage, StorageReader
from keyfold.engine.tables.table import EngineTable, TableBody, build_table
from keyfold.values import item_size_bytes

# Counting reads every row. The service counts every six hours; we count a small table each
# time, and a large one as often as the service does.
SMALL_TABLE_ITEMS = 20_000
RECOUNT_SECONDS = 6 * 3_600
_SAMPLE_ITEMS = 200
_SAMPLE_BYTES = 1 << 18


class ItemCounts(NamedTuple):
    """The number and size of a table's items, and both for each index by name."""

    items: int
    size_bytes: int
    by_index: dict[str, tuple[int, int]]


NOTHING = ItemCounts(0, 0, {})


class TableStats:
    """Counts the items of tables, and caches the counts of large tables."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage, self._clock = storage, clock
        self._known: dict[tuple[int, int], tuple[float, ItemCounts]] = {}

    def count(self, body: TableBody) -> ItemCounts:
        """Return the counts of a table; those of a large one may be up to six hours old."""
        key, now = (body["number"], body["version"]), self._clock()
        counted_at, counts = self._known.get(key, (now, NOTHING))
        if counts.items <= SMALL_TABLE_ITEMS or now - counted_at >= RECOUNT_SECONDS:
            table = build_table(body)
            counts = self._storage.read(lambda reader: _count(reader, table), is_long=True)
            self._known[key] = (now, counts)
        return counts


def _count(reader: StorageReader, table: EngineTable) -> ItemCounts:
    items, size, by_column = reader.count_rows(table.rows)
    columns = dict(zip(table.rows.columns, by_column, strict=True))
    by_index: dict[str, tuple[int, int]] = {}
    for index in (*table.indexes.values(), *table.vectors.values()):
        held, size_bytes = columns[index.column]
        if index.projected is not None and held:
            span = Span(b"", END, column=index.column)
            sample, _ = reader.read_span(
                table.rows, span, limit=_SAMPLE_ITEMS, max_bytes=_SAMPLE_BYTES
            )
            sizes = [item_size_bytes(index.project(orjson.loads(value))) for value in sample]
            size_bytes = sum(sizes) * held // len(sizes)
        by_index[index.name] = (held, size_bytes)
    return ItemCounts(items, size, by_index)
