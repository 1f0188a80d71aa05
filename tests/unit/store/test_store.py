"""Other behaviour of a store: its tables, its hooks, its errors."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from keyfold.errors import (
    ConditionalCheckFailedException,
    DeclarationInvalid,
    QueryInvalid,
    ResourceNotFoundException,
    WrongTable,
)
from keyfold.model import Entity, Key, Table, batch, transaction
from keyfold.store import Store, StoreSettings
from tests.transports import Database
from tests.unit.model.shop import Order, OrderId, OrderLine, Rate, Ticket, by_base, market, rates
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

RATE = Rate(base="USD", target="EUR", rate=Decimal(1), at=START)


def test_a_request_for_another_table_is_refused_by_name(open_store: OpenStore) -> None:
    store = open_store([rates, market])
    ticket = Ticket(team="a", number=1, title="x", opened=START)
    for request in (
        Ticket.get(team="a", number=1),
        Ticket.query(team="a"),
        Ticket.query(team="a").first(),
        Ticket.query(team="a").count(),
        Ticket.scan(),
        ticket.put(),
        Ticket.update(team="a", number=1).set(Ticket.f.title, "y"),
        Ticket.delete(team="a", number=1),
        transaction(RATE.put(), ticket.put()),
        batch([Rate.get(base="a", target="b"), Ticket.get(team="a", number=1)]),
    ):
        with pytest.raises(WrongTable) as caught:
            store.run(request)
        assert str(caught.value) == (
            "store of ExchangeRates, Market: the request is for table 'Desk'. [wrong-table]"
        )
    assert store.run(Rate.scan().count()) == 0


def test_another_table_of_the_same_name_is_refused(open_store: OpenStore) -> None:
    other = Table("ExchangeRates", key=Key("PK"))

    class Other(Entity, table=other, key="{id}"):
        id: str

    with pytest.raises(WrongTable):
        open_store(rates).run(Other.get(id="1"))
    with pytest.raises(DeclarationInvalid, match="tables of a store must have different names"):
        open_store([rates, other])


@pytest.mark.parametrize("thing", [None, "Rate", RATE, Rate, Rate.f.rate.exists()])
def test_anything_but_a_request_is_refused(store: AnyStore, thing: Any) -> None:
    with pytest.raises(QueryInvalid, match="is not a request"):
        store.run(thing)


def test_hooks_see_what_was_sent(store: AnyStore) -> None:
    store.calls.clear()
    store.run(Rate.get(base="USD", target="EUR").consistent())
    [call] = store.calls
    assert call.request == {
        "TableName": "ExchangeRates",
        "Key": {"PK": {"S": "RATE#USD#EUR"}},
        "ConsistentRead": True,
        "ReturnConsumedCapacity": "TOTAL",
    }


def test_a_get_of_a_table_returns_the_stored_entity(open_store: OpenStore) -> None:
    store = open_store(market)
    order = Order(user="ada", order=OrderId.new(), total=Decimal(1))
    line = OrderLine(user="ada", order=order.order, line=1, sku="apple", ttl=START)
    store.run(batch([order.put(), line.put()]))
    get = market.get(pk="U#ada#O", sk=order.order)
    expired = market.get(pk="U#ada#O", sk=f"{order.order}#001")
    assert store.run(get) == order
    assert store.run(expired) is None
    assert store.run(expired.include_expired()) == line
    assert store.run(batch([get, expired])) == [order, None]
    assert store.run(transaction(get, expired)) == [order, None]


def test_hooks_see_every_call(store: AnyStore) -> None:
    store.calls.clear()
    store.run(RATE.put())
    store.run(Rate.get(base="USD", target="EUR"))
    store.run(Rate.query(by_base, base="USD").count())
    store.run(transaction(RATE.put(), Order(user="a", order=OrderId.new(), total=Decimal(1)).put()))
    store.run(batch([Rate.get(base="USD", target="EUR")]))
    store.run(batch([RATE.put()]))
    store.run(Rate.update(base="USD", target="EUR").set(Rate.f.stale, True))
    store.run(Rate.delete(base="USD", target="EUR"))
    store.drop_table(rates)
    store.create_table(rates)
    seen = [
        (call.operation, call.tables, call.error)
        for call in store.calls
        # The number of DescribeTable calls depends on how long the creation takes.
        if call.operation != "DescribeTable"
    ]
    own = ("ExchangeRates",)
    assert seen == [
        ("PutItem", own, None),
        ("GetItem", own, None),
        ("Query", own, None),
        ("TransactWriteItems", ("ExchangeRates", "Market"), None),
        ("BatchGetItem", own, None),
        ("BatchWriteItem", own, None),
        ("UpdateItem", own, None),
        ("DeleteItem", own, None),
        ("DeleteTable", own, None),
        ("CreateTable", own, None),
        ("UpdateTimeToLive", own, None),
    ]
    assert all(call.consumed > 0 for call in store.calls[:8])
    assert all(call.seconds >= 0 and call.attempt == 1 for call in store.calls)


def test_hooks_see_calls_that_fail(store: AnyStore) -> None:
    store.run(RATE.put())
    store.calls.clear()
    with pytest.raises(Exception, match="it already exists"):
        store.run(RATE.create())
    (call,) = store.calls
    assert isinstance(call.error, ConditionalCheckFailedException)
    assert call.consumed == 0.0


def test_requests_without_pages_cannot_be_iterated(store: AnyStore) -> None:
    requests: list[Any] = [
        RATE.put(),
        Rate.get(base="USD", target="EUR"),
        Rate.scan().count(),
    ]
    for request in requests:
        with pytest.raises(QueryInvalid, match=r"iterate\(\): <.* has no pages"):
            store.iterate(request)


def test_a_store_is_made_on_any_executor_and_creates_nothing_unasked(engine: Database) -> None:
    with Store(engine, StoreSettings([rates])) as store:
        with pytest.raises(ResourceNotFoundException):
            store.run(RATE.put())
        store.create_table(rates)
        assert store.run(RATE.put()) == RATE
    described = engine.execute("DescribeTimeToLive", {"TableName": "ExchangeRates"})
    assert described["TimeToLiveDescription"]["AttributeName"] == "ttl"


def test_without_hooks_requests_are_sent_unchanged(engine: Database) -> None:
    asked: list[dict[str, Any]] = []

    class Listening:
        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            asked.append(request)
            return engine.execute(operation, request)

    store = Store(Listening(), StoreSettings([rates]))
    store.create_table(rates)
    store.run(RATE.put())
    assert asked[-1] == RATE.put().to_dynamodb()
    store.run(Rate.get(base="USD", target="EUR"))
    assert asked[-1] == Rate.get(base="USD", target="EUR").to_dynamodb()
