"""Patterns keep their signatures and the result types of their requests."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

import keyfold
from keyfold import Page, Put, Query, Store, transaction
from keyfold.requests import Chain, Explanation
from tests.typing.cases.tables import (
    Order,
    OrderId,
    OrderWithLines,
    Rate,
    by_base,
    by_id,
    market,
    rates,
)


@rates.pattern("GetByBase")
def get_by_base(base: str, *, most: int = 10) -> Query[Rate]:
    """Every rate quoted against one base currency."""
    return Rate.query(by_base, base=base).limit(most)


@rates.pattern("Save", example={"ttl": timedelta(days=1)})
def save(rate: Rate, ttl: timedelta) -> Put[Rate]:
    """Store a rate that expires after `ttl`."""
    return rate.put().expiring_in(ttl)


@market.pattern("Get a single order with all its items by id")
def order_by_id(id: str) -> Chain[OrderWithLines | None]:
    """Look the order up, then read it whole."""
    return (
        Order.query(by_id, id=id, tp="order")
        .first()
        .then(lambda order: OrderWithLines.get(user=order.user, order=order.order))
    )


def call(store: Store, rate: Rate) -> None:
    assert_type(get_by_base("USD"), Query[Rate])
    assert_type(store.run(get_by_base("USD", most=5)), Page[Rate])
    assert_type(store.run(get_by_base(base="USD").first()), Rate | None)
    assert_type(store.run(save(rate, timedelta(days=1))), Rate)
    assert_type(store.run(order_by_id("A1")), OrderWithLines | None)
    assert_type(get_by_base.explain(), Explanation)
    for each in store.iterate(get_by_base("USD")):
        assert_type(each, Rate)


def call_wrongly(store: Store, rate: Rate, order: Order) -> None:
    get_by_base()  # error: reportCallIssue
    get_by_base(1)  # error: reportArgumentType
    get_by_base("USD", 5)  # error: reportCallIssue
    get_by_base("USD", limit=5)  # error: reportCallIssue
    get_by_base(base="USD", most="5")  # error: reportArgumentType
    save(order, timedelta(days=1))  # error: reportArgumentType
    save(rate, 60)  # error: reportArgumentType
    store.iterate(order_by_id("A1"))  # error: reportArgumentType
    transaction(get_by_base("USD"))  # error: reportArgumentType
    found: Page[Rate] = store.run(order_by_id("A1"))  # error: reportAssignmentType


def declare_wrongly() -> None:
    @rates.pattern("Not a request")  # error: reportArgumentType
    def rate_of(base: str) -> str:
        return base

    @rates.pattern("Another entity")
    def orders_of(user: str) -> Query[Rate]:
        return Order.query(user=user)  # error: reportReturnType

    @market.pattern("Never None")
    def whole_order(user: str, order: OrderId) -> keyfold.Request[OrderWithLines]:
        return OrderWithLines.get(user=user, order=order)  # error: reportReturnType
