"""Reading page by page finds exactly what reading everything does, whatever is left out between."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.model import Entity, Expiry, Index, Key, Page, Query, Scan, Table, batch, part
from keyfold.testing import Clock
from tests.examples import examples
from tests.unit.store.store_kinds import AnyStore, Kind, open_any_store

EXAMPLES = examples(15)
START = datetime(2024, 1, 1, tzinfo=UTC)

by_name = Index("ByName", key=Key("name", "rank"))
local = Index("Local", key=Key("pk", "rank"), local=True)
table = Table("Rows", key=Key("pk", "sk"), indexes=[by_name, local], ttl="ttl")


class Row(Entity, table=table, key=("SET#{set}", "ROW#{place:04}")):
    set: str = part()
    place: int = part()
    name: str
    rank: int
    keep: bool
    ttl: Expiry | None = None


class Foreign(Entity, table=table, key=("SET#{set}", "ROW#{place:04}#FOREIGN")):
    set: str = part()
    place: int = part()
    name: str
    rank: int
    ttl: Expiry | None = None


# The item at each place: a wanted row, or an item to be left out.
kinds = st.lists(
    st.sampled_from(["row", "row", "row", "expired", "filtered", "foreign", "expired foreign"]),
    max_size=40,
)


def _make(set_name: str, place: int, kind: str, rank: int) -> Row | Foreign:
    ttl = START - timedelta(seconds=place + 1) if "expired" in kind else START + timedelta(1)
    fields: dict[str, Any] = {
        "set": set_name,
        "place": place,
        "name": "n",
        "rank": rank,
        "ttl": ttl,
    }
    return Foreign(**fields) if "foreign" in kind else Row(keep=kind != "filtered", **fields)


def _walk(store: AnyStore, query: Query[Any] | Scan[Any], size: int) -> list[Any]:
    """Read page by page with cursors, and check that every page but the last is full."""
    found: list[Any] = []
    limited = query.limit(size)
    while True:
        page: Page[Any] = store.run(limited)
        assert len(page) == size or page.cursor is None
        assert page.reads <= 2 + page.scanned // 8
        found += page
        if page.cursor is None:
            return found
        limited = query.limit(size).after(page.cursor)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_reading_page_by_page_finds_what_a_full_read_does(kind: Kind) -> None:
    store = open_any_store(kind, table, clock=Clock(START))
    sets = iter(range(10_000))

    @EXAMPLES
    @given(kinds, st.integers(1, 12), st.randoms(use_true_random=False))
    def check(drawn: list[str], size: int, random: Any) -> None:
        set_name = str(next(sets))
        ranks = [random.randrange(5) for _ in drawn]
        made = [
            _make(set_name, place, each, rank)
            for place, (each, rank) in enumerate(zip(drawn, ranks, strict=True))
        ]
        store.run(batch([each.put() for each in made]))
        live = [each for each, what in zip(made, drawn, strict=True) if "expired" not in what]
        rows = [each for each in live if isinstance(each, Row)]
        kept = [each for each in rows if each.keep]
        query = Row.query(set=set_name)
        keeps = query.where(Row.f.keep.eq(True))
        both = table.query(pk=f"SET#{set_name}")
        for asked, wanted in ((query, rows), (keeps, kept), (both, live)):
            for each, order in ((asked, wanted), (asked.descending(), wanted[::-1])):
                assert list(store.run(each)) == order
                assert _walk(store, each, size) == order
                assert store.iterate(each.limit(size)) == order
                assert store.iterate(each.limit(size).max_reads(1)) == order
            assert store.run(asked.count()) == len(wanted)
            assert store.run(asked.first()) == (wanted[0] if wanted else None)
        by_rank = Row.query(local, set=set_name)
        # Rows of equal rank have some order, the same whatever the pages are.
        ranked = list(store.iterate(by_rank))
        assert [row.rank for row in ranked] == sorted(row.rank for row in rows)
        assert sorted(ranked, key=lambda row: row.place) == rows
        assert _walk(store, by_rank, size) == ranked
        assert _walk(store, by_rank.descending(), size) == ranked[::-1]
        assert _walk(store, by_rank.between(1, 3), size) == [
            row for row in ranked if 1 <= row.rank <= 3
        ]
        expired = [each for each in made if isinstance(each, Row)]
        assert _walk(store, query.include_expired(), size) == expired

    try:
        check()
        # The sets of all examples together, through their shared index and by a scan.
        everything = list(store.iterate(Row.query(by_name, name="n")))
        assert everything == _walk(store, Row.query(by_name, name="n"), 7)
        scanned = list(store.iterate(Row.scan()))
        for size in (1, 3, 50):
            assert _walk(store, Row.scan(), size) == scanned
        assert len(scanned) == len(everything) == store.run(Row.scan().count())
    finally:
        store.close()
