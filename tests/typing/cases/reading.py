"""Result types of reads: entities, pages, references, counts."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, assert_type

from keyfold import Get, Page, Query, RawItem, Ref, Scan, Store, now
from keyfold.requests import CollectionGet, Count, First
from tests.typing.cases.tables import (
    Order,
    OrderId,
    OrderLine,
    OrderWithLines,
    Rate,
    RateSummary,
    by_base,
    by_id,
    by_key,
    market,
)


def get(store: Store) -> None:
    assert_type(Rate.get(base="USD", target="EUR"), Get[Rate])
    assert_type(store.run(Rate.get(base="USD", target="EUR")), Rate | None)
    assert_type(store.run(Rate.get(base="USD", target="EUR").consistent()), Rate | None)
    assert_type(store.run(Rate.get(base="USD", target="EUR").include_expired()), Rate | None)
    assert_type(store.run(Rate.get(base="USD", target="EUR").only(RateSummary)), RateSummary | None)

    found = store.run(Rate.get(base="USD", target="EUR"))
    found.rate  # error: reportOptionalMemberAccess
    if found is not None:
        assert_type(found.rate, Decimal)
        found.ratio  # error: reportAttributeAccessIssue, reportUnknownMemberType
    wrong: Order | None = store.run(Rate.get(base="USD", target="EUR"))  # error: reportAssignmentType
    Rate.get("USD", "EUR")  # error: reportCallIssue


def query(store: Store) -> None:
    usd = Rate.query(by_base, base="USD")
    assert_type(usd, Query[Rate])
    assert_type(store.run(usd), Page[Rate])
    assert_type(store.run(usd)[0], Rate)
    assert_type(store.run(usd)[:2], Sequence[Rate])
    assert_type([each.rate for each in store.run(usd)], list[Decimal])
    assert_type(store.run(usd).cursor, str | None)
    assert_type(store.run(usd).consumed, float)
    assert_type(store.run(usd.after(store.run(usd).cursor)), Page[Rate])
    assert_type(
        store.run(usd.where(Rate.f.expires > now).descending().limit(10).max_reads(3)), Page[Rate]
    )
    assert_type(store.run(usd.include_expired().consistent()), Page[Rate])
    assert_type(usd.first(), First[Rate])
    assert_type(store.run(usd.first()), Rate | None)
    assert_type(usd.count(), Count)
    assert_type(store.run(usd.count()), int)
    assert_type(store.run(usd.only(RateSummary)), Page[RateSummary])
    assert_type(store.run(usd.only(RateSummary).first()), RateSummary | None)
    assert_type(store.run(usd.then(lambda page: usd.after(page.cursor))), Page[Rate])
    assert_type(store.run(usd.then(lambda page: page[0].put())), Rate)

    lines = OrderLine.query(user="ada", order=OrderId.new())
    assert_type(store.run(lines.between(1, 9)), Page[OrderLine])
    assert_type(store.run(lines.since(1)), Page[OrderLine])
    assert_type(store.run(lines.until(9)), Page[OrderLine])
    assert_type(store.run(lines.starting_with("00")), Page[OrderLine])

    Rate.query("BaseCurrencyIndex", base="USD")  # error: reportArgumentType
    usd.limit("10")  # error: reportArgumentType
    usd.where(True)  # error: reportArgumentType
    usd.after(b"cursor")  # error: reportArgumentType
    usd.only(dict)  # error: reportArgumentType
    usd.then(lambda page: page)  # error: reportArgumentType
    usd.lookup_then(lambda page: page[0].put())  # error: reportAttributeAccessIssue, reportUnknownLambdaType, reportUnknownMemberType
    usd.then(lambda page: page[0].put()).then(usd)  # error: reportAttributeAccessIssue, reportUnknownMemberType
    page: Page[Order] = store.run(usd)  # error: reportAssignmentType
    store.run(usd).cursor.upper()  # error: reportOptionalMemberAccess


def references(store: Store) -> None:
    refs = store.run(Order.query(by_key, order=OrderId.new()).refs())
    assert_type(refs, Page[Ref[Order]])
    assert_type(refs[0], Ref[Order])
    assert_type(refs[0].get(), Get[Order])
    assert_type(refs.invalid, tuple[RawItem, ...])
    assert_type(store.run(refs[0].get()), Order | None)


def several_types(store: Store) -> None:
    assert_type(store.run(market.query(by_key, sk="O#1")), Page[Any])


def scan(store: Store) -> None:
    everything = Rate.scan()
    assert_type(everything, Scan[Rate])
    assert_type(store.run(everything), Page[Rate])
    assert_type(store.run(everything.where(Rate.f.stale.eq(True)).limit(5)), Page[Rate])
    assert_type(store.run(everything.only(RateSummary)), Page[RateSummary])
    assert_type(store.run(everything.refs()), Page[Ref[Rate]])
    assert_type(store.run(everything.first()), Rate | None)
    assert_type(store.run(everything.count()), int)
    everything.descending()  # error: reportAttributeAccessIssue, reportUnknownMemberType


def iterate(store: Store) -> None:
    for rate in store.iterate(Rate.query(by_base, base="USD")):
        assert_type(rate, Rate)
    for summary in store.iterate(Rate.scan().only(RateSummary)):
        assert_type(summary, RateSummary)
    for ref in store.iterate(Order.query(by_key, order=OrderId.new()).refs()):
        assert_type(ref, Ref[Order])
    store.iterate(Rate.get(base="USD", target="EUR"))  # error: reportArgumentType
    store.run(Rate)  # error: reportArgumentType
    store.run("Rate")  # error: reportArgumentType


def collection(store: Store) -> None:
    found = store.run(OrderWithLines.get(user="ada", order=OrderId.new()))
    assert_type(found, OrderWithLines | None)
    whole_order = OrderWithLines.get(user="ada", order=OrderId.new())
    latest = whole_order.descending().since(1).limit(10).consistent()
    assert_type(latest, CollectionGet[OrderWithLines])
    newest = store.run(latest.after(None))
    assert_type(newest, OrderWithLines | None)
    if newest is not None:
        assert_type(newest.cursor, str | None)
        newest.cursor = None  # error: reportAttributeAccessIssue
    found.lines  # error: reportOptionalMemberAccess
    if found is not None:
        assert_type(found.order, Order)
        assert_type(found.lines, list[OrderLine])
        found.lines = []  # error: reportAttributeAccessIssue


def chain(store: Store) -> None:
    by_its_id = Order.query(by_id, id="A1", tp="order").first()
    whole = by_its_id.then(lambda order: OrderWithLines.get(user=order.user, order=order.order))
    assert_type(store.run(whole), OrderWithLines | None)
    lines = by_its_id.then(lambda order: OrderLine.query(user=order.user, order=order.order))
    assert_type(store.run(lines), Page[OrderLine] | None)
    direct = Order.get(user="ada", order=OrderId.new()).then(
        lambda order: Order.get(user="bob", order=order.order)
    )
    assert_type(store.run(direct), Order | None)
    hers = by_its_id.lookup_then(lambda order: Order.get(user="ada", order=order.order))
    assert_type(store.run(hers), Order | None)
    by_its_id.then(lambda order: order)  # error: reportArgumentType
    by_its_id.then(lambda order: Rate.get(base=order.basis))  # error: reportAttributeAccessIssue, reportUnknownMemberType
