"""A table for the shell tests, and a database with its items."""

from __future__ import annotations

from pathlib import Path

import keyfold
from keyfold import Entity, Index, Key, Put, Query, Table, part
from keyfold.engine import Engine

shop = Table("Shop", key=Key("pk", "sk"), indexes=[Index("by_city", key=Key("city", "sk"))])


class Order(Entity, table=shop, key=("USER#{user}", "ORDER#{number:04}")):
    user: str = part()
    number: int = part()
    city: str
    total: int


@shop.pattern("Orders of a user")
def orders_of(user: str) -> Query[Order]:
    return Order.query(user=user)


@shop.pattern("Delete nothing")
def failing(user: str, is_new: bool = False) -> Query[Order]:
    raise ValueError(f"{user} {is_new}")


@shop.pattern("Add an order")
def add_order(order: Order) -> Put[Order]:
    return order.create()


ORDERS = [
    Order(user=user, number=number, city="Graz", total=number * 10)
    for user in ("ada", "bob o'hara")
    for number in (1, 2, 3)
]


def write_shop(file: Path) -> None:
    """Create a database with the orders and with a table that is not declared."""
    with keyfold.open(shop, file) as store:
        for order in ORDERS:
            store.run(order.put())
    with Engine.open(file) as engine:
        engine.execute(
            "CreateTable",
            {
                "TableName": "day-log",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "day", "AttributeType": "N"}],
                "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}],
            },
        )
        for day in (7, 8, 70):
            engine.execute("PutItem", {"TableName": "day-log", "Item": {"day": {"N": str(day)}}})
