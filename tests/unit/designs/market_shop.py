"""The shop of the document's user, on a database like AWS, for the tests of the market."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from keyfold import Request
from keyfold.designs import market
from keyfold.designs.market import (
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    OrderLine,
    Product,
    ProductId,
    User,
)
from keyfold.errors import TransactionFailed
from keyfold.store import Followed
from keyfold.testing import FaultProfile
from tests.unit.designs.stale_databases import START, Database, database

DAY = timedelta(days=1)

RABINOVICH = "rabinovich"
ANOTHER = "550e8400-e29b-41d4-a716-446655440000"
SELLER = "eve"

# The rows of the document's order shard.
FIRST = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")
SECOND = OrderId("O#01JZ10H7X367VB2NF4YQ973DXZ")
APPLE, PEAR, PLUM = (ProductId.at(START + number * DAY) for number in range(3))
PRODUCTS = {
    product: Product(user=SELLER, product=product, name=name, price=Decimal(price))
    for product, name, price in (
        (APPLE, "Apple", "0.3"),
        (PEAR, "Pear", "0.5"),
        (PLUM, "Plum", "0.1"),
    )
}
LINES = {
    APPLE: CartLine(seller=SELLER, quantity=3),
    PEAR: CartLine(seller=SELLER),
    PLUM: CartLine(seller=SELLER, quantity=10),
}
CART = Cart(user=RABINOVICH, cart=CartId("C#01JZ10H7X367VB2NF4YQ973DHV"), lines=LINES)
USER = User(user=RABINOVICH, id="rabinovich@example.com", name="Rabinovich", phones=["+1 555 0100"])


@contextmanager
def open_shop(faults: FaultProfile) -> Generator[Database]:
    """The document's user with the document's two orders, and a cart that was filled again."""
    with database(market.table, faults) as shop:
        for product in PRODUCTS.values():
            shop.run(product.create())
        shop.run(USER.create())
        shop.run(CART.create())
        shop.run(market.place_order(CART, FIRST, "2025-1"))
        pears = CART.model_copy(update={"lines": {PEAR: LINES[PEAR]}})
        shop.run(pears.put())
        shop.run(market.place_order(pears, SECOND, "2025-2"))
        shop.run(CART.put())
        yield shop


def order_of(order: OrderId, number: str, total: str) -> Order:
    return Order(user=RABINOVICH, order=order, id=number, total=Decimal(total))


def line_of(order: OrderId, line: int, product: ProductId) -> OrderLine:
    sold, wanted = PRODUCTS[product], LINES[product]
    return OrderLine(
        user=RABINOVICH,
        order=order,
        line=line,
        product=product,
        seller=SELLER,
        name=sold.name,
        price=sold.price,
        quantity=wanted.quantity,
    )


def check(shop: Database, request: Request[Any], expected: object) -> None:
    """Check that a request eventually returns what is expected."""
    assert shop.run_until(request, lambda answer: answer == expected) == expected


def keys_of(shop: Database) -> list[tuple[str, str]]:
    """Return the keys of all items but guards of business ids."""
    keys = [(each["pk"]["S"], each["sk"]["S"]) for each in shop.stored(market.table)]
    return sorted(key for key in keys if key[1] != "keyfold#unique")


def guards_of(shop: Database) -> list[str]:
    """Return the business ids that are taken, with their entities."""
    keys = [each["pk"]["S"] for each in shop.stored(market.table) if "keyfold_owner" in each]
    ids = [key.removeprefix("keyfold#unique#") for key in keys if ".id#S#" in key]
    return sorted(key.replace(".id#S#", " ") for key in ids)


def reasons_of(failure: pytest.ExceptionInfo[TransactionFailed]) -> list[type | None]:
    return [reason and type(reason) for reason in failure.value.reasons]


def follow(shop: Database, name: str = "default") -> Followed:
    return shop.store.follow(market.table, name=name, until_caught_up=True, setup=True)
