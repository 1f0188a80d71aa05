"""What a store does besides: its tables, its hooks, what it refuses."""

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
from tests.unit.store.store_kinds import START, OpenSide, Side

RATE = Rate(base="USD", target="EUR", rate=Decimal(1), at=START)


def test_a_request_for_another_table_is_refused_by_name(open_store: OpenSide) -> None:
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


def test_a_table_of_the_same_name_is_another_table(open_store: OpenSide) -> None:
    other = Table("ExchangeRates", key=Key("PK"))

    class Other(Entity, table=other, key="{id}"):
        id: str

    with pytest.raises(WrongTable):
        open_store(rates).run(Other.get(id="1"))
    with pytest.raises(DeclarationInvalid, match="a store takes tables of different names"):
        open_store([rates, other])


@pytest.mark.parametrize("thing", [None, "Rate", RATE, Rate, Rate.f.rate.exists()])
def test_what_is_no_request_is_refused(store: Side, thing: Any) -> None:
    with pytest.raises(QueryInvalid, match="is no request"):
        store.run(thing)


def test_hooks_see_what_was_sent(store: Side) -> None:
    store.calls.clear()
    store.run(Rate.get(base="USD", target="EUR").consistent())
    [call] = store.calls
    assert call.request == {
        "TableName": "ExchangeRates",
        "Key": {"PK": {"S": "RATE#USD#EUR"}},
        "ConsistentRead": True,
        "ReturnConsumedCapacity": "TOTAL",
    }


def test_a_get_of_a_table_gives_the_entity_that_is_there(open_store: OpenSide) -> None:
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


def test_hooks_see_every_call(store: Side) -> None:
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
        # However often it takes until the table is made.
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


def test_hooks_see_calls_that_fail(store: Side) -> None:
    store.run(RATE.put())
    store.calls.clear()
    with pytest.raises(Exception, match="it exists already"):
        store.run(RATE.create())
    (call,) = store.calls
    assert isinstance(call.error, ConditionalCheckFailedException)
    assert call.consumed == 0.0


def test_what_has_no_pages_is_not_walked(store: Side) -> None:
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


def test_a_hook_is_not_asked_for_where_there_is_none(engine: Database) -> None:
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
