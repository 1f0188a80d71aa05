"""How many items the first call of a page reads, by what earlier pages took."""

from __future__ import annotations

import pytest

from keyfold.model import Entity, Key, Table, part
from keyfold.policy import READ, Role
from keyfold.store._read_ratios import MAX_LIMIT, ReadRatios
from tests.unit.store.store_kinds import AnyStore, DatabasesByUrl, OpenStore

table = Table("Journeys", key=Key("pk", "sk"))
shard = table.shard("T#{traveller}")
table.add_role(Role("traveller", tenant="traveller", can={shard: READ}))


class Journey(Entity, table=table, key=(shard, "J#{journey:03}")):
    traveller: str = part()
    journey: int = part()
    kind: str = "rail"


class Leg(Entity, table=table, key=(shard, "J#{journey:03}#{leg:02}")):
    traveller: str = part()
    journey: int = part()
    leg: int = part()


LAST = Journey.query(traveller="ida").descending().limit(4)


@pytest.fixture
def travels(open_store: OpenStore) -> AnyStore:
    store = open_store(table)
    travel(store, "ida", journeys=20, legs=4)
    return store


def travel(store: AnyStore, name: str, *, journeys: int, legs: int) -> None:
    for number in range(journeys):
        store.run(Journey(traveller=name, journey=number).put())
        for leg in range(legs):
            store.run(Leg(traveller=name, journey=number, leg=leg).put())
    store.calls.clear()


def test_a_page_like_an_earlier_one_takes_one_call(travels: AnyStore) -> None:
    first, second = travels.run(LAST), travels.run(LAST)
    assert [each.journey for each in second] == [19, 18, 17, 16]
    assert list(second) == list(first)
    assert (first.reads, second.reads) == (3, 1)
    # Exactly as many items as hold the four: fewer than the calls before have read.
    assert second.scanned == 20 < first.scanned
    assert second.consumed < first.consumed


def test_it_continues_where_it_ended(travels: AnyStore) -> None:
    found, cursor = list[int](), None
    while True:
        page = travels.run(LAST.after(cursor))
        found += [each.journey for each in page]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page) == 4
    assert found == [*range(19, -1, -1)]
    assert [each.journey for each in travels.iterate(LAST)] == found


def test_an_item_of_no_entity_is_reported_as_before(
    open_store: OpenStore, databases: DatabasesByUrl, tmp_path: object
) -> None:
    path = f"{tmp_path}/journeys.db"
    store = open_store(table, path)
    travel(store, "ida", journeys=20, legs=4)
    strays = [{"pk": {"S": "T#ida"}, "sk": {"S": f"J#{each}#X"}} for each in ("018", "010")]
    databases.put(path, table.name, *strays)
    for _ in range(3):
        page = store.run(LAST)
        assert [each.journey for each in page] == [19, 18, 17, 16]
        assert [each.key["sk"] for each in page.invalid] == [{"S": "J#018#X"}]


def test_other_kinds_of_pages_do_not_read_more(travels: AnyStore) -> None:
    for query in (
        Journey.query(traveller="ida").limit(4),
        LAST.limit(3),
        LAST.where(Journey.f.kind.eq("rail")),
        LAST.matching(lambda each, _: each.kind == "rail"),
        Journey.query(traveller="ida").descending(),
        Leg.query(traveller="ida").descending().limit(4),
        Leg.query(traveller="ida", journey=3).descending().limit(4),
        table.query(pk="T#ida").descending().limit(4),
    ):
        # The stores of principals remember nothing yet.
        expected = travels.as_principal("traveller", traveller="ida").run(query)
        store = travels.as_principal("traveller", traveller="ida")
        store.run(LAST)
        page = store.run(query)
        assert (page.reads, page.scanned) == (expected.reads, expected.scanned)


def test_filters_and_scans_read_the_same_each_time(travels: AnyStore) -> None:
    for query in (LAST.where(Journey.f.kind.eq("rail")), Journey.scan().limit(4)):
        pages = [travels.run(query) for _ in range(3)]
        assert len({(page.reads, page.scanned) for page in pages}) == 1


def test_where_nothing_lies_between_a_page_reads_what_it_returns(open_store: OpenStore) -> None:
    store = open_store(table)
    travel(store, "bo", journeys=20, legs=0)
    query = Journey.query(traveller="bo").limit(4)
    assert [store.run(query).scanned for _ in range(3)] == [4, 4, 4]


def test_a_partition_with_less_between_is_read_too_far_once(travels: AnyStore) -> None:
    travel(travels, "bo", journeys=40, legs=0)
    other = Journey.query(traveller="bo").descending().limit(4)
    travels.run(LAST)
    assert travels.run(other).scanned == 20
    for _ in range(5):
        assert travels.run(other).scanned <= 6
        assert len(travels.run(LAST)) == 4


def test_a_principal_learns_nothing_from_the_pages_of_others(travels: AnyStore) -> None:
    fresh = travels.as_principal("traveller", traveller="ida").run(LAST)
    for _ in range(3):
        travels.run(LAST)
    mine = travels.as_principal("traveller", traveller="ida")
    first, second = mine.run(LAST), mine.run(LAST)
    assert (first.reads, first.consumed) == (fresh.reads, fresh.consumed)
    assert second.reads == 1


def test_a_page_with_a_limit_of_calls_is_filled_better_too(travels: AnyStore) -> None:
    one = LAST.max_reads(1)
    pages = [travels.run(one) for _ in range(3)]
    assert [page.reads for page in pages] == [1, 1, 1]
    assert len(pages[0]) == 0
    travels.run(LAST)
    assert len(travels.run(one)) == 4


def test_the_least_ratio_of_late_bounds_what_is_read() -> None:
    ratios = ReadRatios()
    ratios.note("kind", read=50, returned=10)
    assert ratios.suggest_limit("kind", 10) == 50
    ratios.note("kind", read=55, returned=10)
    assert ratios.suggest_limit("kind", 10) == 55
    ratios.note("kind", read=10, returned=10)
    # A quarter more than the ten that were enough.
    assert ratios.suggest_limit("kind", 10) == 13
    for _ in range(30):
        ratios.note("kind", read=50, returned=10)
    assert ratios.suggest_limit("kind", 10) == 50


def test_what_was_needed_once_is_forgotten() -> None:
    ratios = ReadRatios()
    ratios.note("kind", read=12, returned=10)
    ratios.note("kind", read=15, returned=10)
    assert ratios.suggest_limit("kind", 10) == 15
    for _ in range(10):
        ratios.note("kind", read=12, returned=10)
    assert ratios.suggest_limit("kind", 10) == 12


def test_a_call_reads_a_bounded_number_of_items() -> None:
    ratios = ReadRatios()
    ratios.note("sparse", read=5_000, returned=1)
    assert ratios.suggest_limit("sparse", 7) == 70
    assert ratios.suggest_limit("sparse", 700) == MAX_LIMIT
    assert ratios.suggest_limit("sparse", 4_000) == 4_000


def test_a_bounded_number_of_kinds_is_remembered() -> None:
    ratios = ReadRatios()
    for number in range(1_000):
        ratios.note(number, read=30, returned=10)
    remembered = [each for each in range(1_000) if ratios.suggest_limit(each, 10) == 30]
    assert 1 <= len(remembered) <= 256
    assert remembered[-1] == 999
