"""Pages, cursors and iteration, on both stores."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.errors import CursorInvalid, OptionInvalid, QueryInvalid
from keyfold.model import Entity, Index, Key, Page, Query, Ref, Table, now
from keyfold.store import Store, StoreSettings
from keyfold.testing import Clock
from tests.transports import Database
from tests.unit.model.shop import (
    Order,
    OrderId,
    OrderLine,
    Rate,
    RateSummary,
    Ticket,
    by_base,
    by_key,
    by_owner,
    market,
    rates,
)
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

ORDER = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")
LINES = OrderLine.query(user="ada", order=ORDER)
WITH_LINES = market.query(pk="U#ada#O")


def line(number: int, sku: str = "s", hours: int | None = None) -> OrderLine:
    ttl = None if hours is None else START + timedelta(hours=hours)
    return OrderLine(user="ada", order=ORDER, line=number, sku=sku, ttl=ttl)


def fill(store: AnyStore, count: int, **fields: Any) -> list[OrderLine]:
    made = [line(number, **fields) for number in range(count)]
    for each in made:
        store.run(each.put())
    store.calls.clear()
    return made


def numbers(page: Page[OrderLine] | list[OrderLine]) -> list[int]:
    return [each.line for each in page]


def test_a_page_is_a_sequence_with_a_cursor_and_what_it_cost(store: AnyStore) -> None:
    made = fill(store, 5)
    page = store.run(LINES.limit(2))
    assert (len(page), page[0], page[-1], list(page[:1])) == (2, made[0], made[1], [made[0]])
    assert page == made[:2]
    assert made[1] in page
    assert page.cursor is not None
    assert (page.consumed, page.scanned, page.reads) == (0.5, 2, 1)
    assert repr(page) == "<Page of 2, more follow>"
    assert store.run(LINES).cursor is None
    assert repr(store.run(LINES)) == "<Page of 5>"


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7])
def test_a_cursor_continues_where_its_page_ended(store: AnyStore, limit: int) -> None:
    fill(store, 5)
    for query, wanted in ((LINES, [0, 1, 2, 3, 4]), (LINES.descending(), [4, 3, 2, 1, 0])):
        found: list[int] = []
        page = store.run(query.limit(limit))
        while True:
            assert len(page) <= limit
            found += numbers(page)
            if page.cursor is None:
                break
            page = store.run(query.limit(limit).after(page.cursor))
        assert found == wanted
        assert numbers(store.iterate(query.limit(limit))) == wanted


def test_ranges_orders_and_firsts(store: AnyStore) -> None:
    fill(store, 9)
    assert numbers(store.run(LINES.since(7))) == [7, 8]
    assert numbers(store.run(LINES.until(1))) == [0, 1]
    assert numbers(store.run(LINES.between(3, 4).descending())) == [4, 3]
    assert numbers(store.run(LINES.starting_with("00").limit(3))) == [0, 1, 2]
    assert store.run(LINES.first()) == line(0)
    assert store.run(LINES.descending().first()) == line(8)
    assert store.run(LINES.since(9).first()) is None
    assert store.run(LINES.count()) == 9
    assert store.run(LINES.limit(2).count()) == 9
    assert numbers(store.run(LINES.consistent())) == list(range(9))


def test_a_page_is_filled_past_items_left_out_with_few_calls(store: AnyStore, clock: Clock) -> None:
    for number in range(300):
        keep = number % 10 == 0
        expires = 1 if number % 3 else None
        store.run(line(number, sku="keep" if keep else "drop", hours=expires).put())
    store.run(Order(user="ada", order=ORDER, total=Decimal(1)).put())
    clock.advance(timedelta(hours=2))
    store.calls.clear()
    wanted = [number for number in range(300) if number % 10 == 0 and number % 3 == 0]
    page = store.run(LINES.where(OrderLine.f.sku.eq("keep")).limit(8))
    assert numbers(page) == wanted[:8]
    assert page.reads == len(store.calls) <= 4
    assert page.scanned < 300
    assert page.consumed > 0
    assert numbers(store.iterate(LINES.where(OrderLine.f.sku.eq("keep")).limit(3))) == wanted
    store.calls.clear()
    assert store.run(LINES.where(OrderLine.f.sku.eq("keep")).since(1).first()) == line(30, "keep")
    assert len(store.calls) <= 4


def test_a_page_does_not_read_a_megabyte_for_one_item(store: AnyStore) -> None:
    fill(store, 200, sku="x" * 4000)
    page = store.run(LINES.limit(1))
    assert page.scanned == 1
    page = store.run(LINES.where(OrderLine.f.sku.ne("none")).limit(1))
    assert page.scanned == 1


def test_a_page_is_short_only_with_max_reads(store: AnyStore) -> None:
    fill(store, 40, sku="drop")
    store.run(line(41, "keep").put())
    query = LINES.where(OrderLine.f.sku.eq("keep")).limit(2)
    assert numbers(store.run(query)) == [41]
    short = store.run(query.max_reads(1))
    assert list(short) == []
    assert short.reads == 1
    assert short.cursor is not None
    found = store.iterate(query.max_reads(1))
    assert numbers(found) == [41]


def test_without_a_limit_a_page_is_the_first_call_that_finds_something(
    store: AnyStore,
) -> None:
    fill(store, 600, sku="x" * 4000)
    page = store.run(LINES)
    assert 200 < len(page) < 300
    assert page.cursor is not None
    assert numbers(store.iterate(LINES)) == list(range(600))
    late = store.run(LINES.where(OrderLine.f.sku.eq("y")))
    assert (list(late), late.cursor) == ([], None)
    assert late.reads > 1
    assert store.run(LINES.count()) == 600


@pytest.mark.indexes
def test_a_query_of_a_shared_index_returns_each_entity_as_its_type(store: AnyStore) -> None:
    fill(store, 2)
    order = Order(user="ada", order=ORDER, total=Decimal(1))
    store.run(order.put())
    assert list(store.run(WITH_LINES)) == [order, line(0), line(1)]
    assert store.iterate(WITH_LINES.limit(1)) == [order, line(0), line(1)]
    (ref,) = store.run_until(market.query(by_key, sk=ORDER).refs(), len)
    assert (ref.entity, ref.user, ref.order) == (Order, "ada", ORDER)
    assert store.run(ref.get()) == order


@pytest.mark.indexes
def test_scans_read_everything_and_can_be_iterated(store: AnyStore) -> None:
    made = fill(store, 5)
    order = Order(user="bob", order=ORDER, total=Decimal(1))
    store.run(order.put())
    assert sorted(numbers(store.run(OrderLine.scan()))) == [0, 1, 2, 3, 4]
    everything = store.iterate(market.scan().limit(2))
    assert len(everything) == 6
    assert all(each in everything for each in [*made, order])
    assert store.run(market.scan().count()) == 6
    assert store.run(market.scan().where(OrderLine.f.sku.eq("s")).count()) == 5
    store.run_until(OrderLine.scan(by_key).refs(), lambda refs: len(refs) == 5)
    assert store.run(Order.scan().first()) == order
    assert store.run(OrderLine.scan().consistent().count()) == 5


# Partial reads.


class Sku(BaseModel):
    line: int
    sku: str


class Title(BaseModel):
    title: str
    owner: str


def test_only_returns_some_fields_with_their_types(store: AnyStore) -> None:
    fill(store, 2)
    assert list(store.run(LINES.only(Sku))) == [Sku(line=0, sku="s"), Sku(line=1, sku="s")]
    assert store.run(LINES.only(Sku).first()) == Sku(line=0, sku="s")
    assert store.iterate(LINES.limit(1).only(Sku)) == [Sku(line=0, sku="s"), Sku(line=1, sku="s")]
    got = store.run(OrderLine.get(user="ada", order=ORDER, line=1).only(Sku))
    assert got == Sku(line=1, sku="s")
    assert len(store.run(OrderLine.scan().only(Sku))) == 2
    store.run(Rate(base="USD", target="EUR", rate=Decimal(2), at=START).put())
    summary = store.run(Rate.get(base="USD", target="EUR").only(RateSummary))
    assert summary == RateSummary(base="USD", rate=Decimal(2))


@pytest.mark.indexes
def test_an_index_of_some_attributes_returns_those_or_refs(store: AnyStore) -> None:
    ticket = Ticket(team="a", number=1, title="x", opened=START, owner="ada", priority=1)
    store.run(ticket.create())
    query = Ticket.query(by_owner, owner="ada")
    with pytest.raises(QueryInvalid, match="ByOwner holds only some attributes of its items"):
        store.run(query)
    with pytest.raises(QueryInvalid, match=r"Use refs\(\)"):
        store.run(query.first())
    with pytest.raises(QueryInvalid, match="ByOwner does not hold status"):
        store.run(query.only(StatusOnly))
    with pytest.raises(QueryInvalid, match=r"does not hold watchers, which where\(\) uses"):
        store.run(query.where(Ticket.f.watchers > 1).only(Title))
    assert list(store.run_until(query.only(Title), len)) == [Title(title="x", owner="ada")]
    assert list(store.run(query.where(Ticket.f.title.eq("y")).only(Title))) == []
    (ref,) = store.run(query.refs())
    assert isinstance(ref, Ref)
    assert (ref.team, ref.number, ref.parts) == ("a", 1, {"team": "a", "number": 1})
    with pytest.raises(AttributeError, match=r"Ref\[Ticket\] has team, number; fetch the entity"):
        _ = ref.title
    with pytest.raises(KeyError, match="has team, number; fetch the entity for 'title'"):
        _ = ref["title"]
    assert ref["team"] == "a"
    found = store.run(ref.get())
    assert found == ticket.model_copy(update={"version": 1})
    assert store.run(query.count()) == 1


by_kind = Index("ByKind", key=Key("kind"), project="keys")
things = Table("Things", key=Key("pk", "sk"), indexes=[by_kind])


class Thing(Entity, table=things, key=("{entity}", "{key}#{parts}")):
    entity: str
    key: str
    parts: str
    kind: str


@pytest.mark.indexes
def test_a_field_named_like_an_attribute_of_a_ref_is_read_by_subscript(
    open_store: OpenStore,
) -> None:
    store = open_store(things)
    thing = store.run(Thing(entity="a", key="b", parts="c", kind="k").put())
    (ref,) = store.run_until(Thing.query(by_kind, kind="k").refs(), len)
    assert (ref["entity"], ref["key"], ref["parts"]) == ("a", "b", "c")
    assert (ref.entity, ref.parts["key"]) == (Thing, "b")
    assert store.run(ref.get()) == thing


class StatusOnly(BaseModel):
    status: str | None


def test_a_filter_cannot_use_key_attributes() -> None:
    with pytest.raises(QueryInvalid, match="cannot filter by 'Base', which is part of the key"):
        Rate.query(by_base, base="USD").where(Rate.f.base.eq("USD"))


# Cursors.


def cursor_of(store: AnyStore, query: Query[Any]) -> str:
    cursor = store.run(query.limit(1)).cursor
    assert cursor is not None
    return cursor


def test_a_cursor_is_url_safe_and_reveals_nothing(store: AnyStore) -> None:
    fill(store, 3)
    cursors = {cursor_of(store, LINES) for _ in range(20)}
    assert len(cursors) == 20
    for cursor in cursors:
        assert re.fullmatch(r"[A-Za-z0-9_-]+", cursor)
        assert b"U#ada#O" not in urlsafe_b64decode(cursor + "==")


def test_a_cursor_that_was_changed_anywhere_is_refused(store: AnyStore) -> None:
    fill(store, 3)
    cursor = cursor_of(store, LINES)
    for place in range(len(cursor)):
        other = "A" if cursor[place] != "A" else "B"
        with pytest.raises(CursorInvalid):
            store.run(LINES.after(cursor[:place] + other + cursor[place + 1 :]))
    for cut in (cursor[:-1], cursor[:-4], cursor[1:], cursor[:20], cursor + "A", cursor + "=", ""):
        with pytest.raises(CursorInvalid) as caught:
            store.run(LINES.after(cut))
        assert str(caught.value).endswith("Start again without a cursor. [cursor-invalid]")
    for odd in ("ä", "no cursor!", 5, b"x", "\x00", "A" * 5000):
        with pytest.raises(CursorInvalid):
            store.run(LINES.after(odd))  # type: ignore[arg-type]
    assert numbers(store.run(LINES.after(cursor))) == [1, 2]


def test_a_cursor_is_valid_only_for_the_query_that_made_it(store: AnyStore) -> None:
    fill(store, 3)
    cursor = cursor_of(store, LINES)
    for other in (
        LINES.descending(),
        LINES.since(0),
        LINES.where(OrderLine.f.sku.eq("s")),
        LINES.where(OrderLine.f.sku.eq("s" * 200)),
        OrderLine.query(user="ada"),
        OrderLine.query(user="bob", order=ORDER),
        Order.query(user="ada"),
        WITH_LINES,
        OrderLine.query(by_key, order=ORDER, line=1).refs(),
        OrderLine.scan(),
    ):
        with pytest.raises(CursorInvalid, match="made by another query"):
            store.run(other.after(cursor))
    long = [LINES.where(OrderLine.f.sku.ne("x" * 200 + each)) for each in "ab"]
    with pytest.raises(CursorInvalid):
        store.run(long[1].after(cursor_of(store, long[0])))
    for same in (LINES.limit(2), LINES.consistent(), LINES.only(Sku), LINES.max_reads(1)):
        assert [each.line for each in store.run(same.after(cursor))][:1] == [1]
    assert store.run(LINES.after(cursor).first()) == line(1)
    assert store.run(LINES.after(cursor).count()) == 2
    assert numbers(store.run(LINES.after(None))) == [0, 1, 2]


def test_a_cursor_of_a_range_up_to_now_stays_valid_as_time_passes(
    store: AnyStore, clock: Clock
) -> None:
    ids = [OrderId.at(START - timedelta(hours=hour)) for hour in range(4)]
    for each in ids:
        store.run(Order(user="ada", order=each, total=Decimal(1)).put())
    query = Order.query(user="ada").until(now).limit(2)
    page = store.run(query)
    clock.advance(timedelta(seconds=5))
    rest = store.run(query.after(page.cursor))
    assert [each.order for each in [*page, *rest]] == sorted(ids)


def test_cursors_outlive_the_store_if_the_file_does(open_store: OpenStore, tmp_path: Any) -> None:
    path = tmp_path / "market.db"
    first = open_store(market, path)
    fill(first, 3)
    cursor = cursor_of(first, LINES)
    again = open_store(market, path)
    assert numbers(again.run(LINES.after(cursor))) == [1, 2]
    elsewhere = open_store(market, tmp_path / "other.db")
    fill(elsewhere, 3)
    with pytest.raises(CursorInvalid, match="another query, principal or key"):
        elsewhere.run(LINES.after(cursor))
    keyed = open_store(market, path, cursor_key=b"0123456789abcdef")
    with pytest.raises(CursorInvalid):
        keyed.run(LINES.after(cursor))
    theirs = cursor_of(keyed, LINES)
    same_key = open_store(market, tmp_path / "other.db", cursor_key=b"0123456789abcdef")
    assert numbers(same_key.run(LINES.after(theirs))) == [1, 2]


@pytest.mark.parametrize("key", [b"", b"short", "a text of more than 16", None.__class__])
def test_a_cursor_key_needs_enough_bytes_and_is_never_shown(
    open_store: OpenStore, key: Any
) -> None:
    with pytest.raises(OptionInvalid, match="Give at least 16 random bytes") as caught:
        open_store(market, cursor_key=key)
    assert "short" not in str(caught.value)
    assert "a text" not in str(caught.value)


@pytest.mark.indexes
def test_without_a_cursor_key_cursors_end_with_the_store_after_a_warning(
    engine: Database,
) -> None:
    store = Store(engine, StoreSettings([rates], jitter=lambda: 0.0))
    store.create_table(rates)
    for target in ("EUR", "GBP"):
        store.run(Rate(base="USD", target=target, rate=Decimal(1), at=START).put())
    query = Rate.query(by_base, base="USD").limit(1)
    store.run_until(query.limit(3), lambda page: len(page) == 2)
    with pytest.warns(UserWarning, match="cursors will be invalid after this process ends"):
        page = store.run(query)
    assert len(store.run(query.after(page.cursor))) == 1
    with pytest.raises(CursorInvalid), pytest.warns(UserWarning, match="no cursor_key"):
        Store(engine, StoreSettings([rates])).run(query.after(page.cursor))
