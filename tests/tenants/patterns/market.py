"""Who may run the patterns of the market: ada's roles, on her items and on bob's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from keyfold import Request
from keyfold.designs import market
from keyfold.designs.market import (
    Bill,
    BillId,
    Cart,
    CartId,
    CartLine,
    OrderId,
    Payment,
    PaymentId,
    Product,
    ProductId,
    Reward,
    RewardId,
    User,
)
from tests.tenants.patterns.rows import Column, PatternTable, Row

ULID = "01JZ10H7X367VB2NF4YQ973DH"
APPLE = ProductId(f"I#{ULID}W")
LINE = CartLine(name="Apple", price=Decimal("0.30"), quantity=3)
CART = CartId(f"C#{ULID}W")
FULL = {user: Cart(user=user, cart=CART, lines={APPLE: LINE}) for user in ("ada", "bob")}
ORDERS = {"ada": OrderId(f"O#{ULID}A"), "bob": OrderId(f"O#{ULID}B")}
NUMBERS = {"ada": "2026-1", "bob": "2026-2"}
NEW = OrderId(f"O#{ULID}N")
GRANTED, WON = RewardId(f"R#{ULID}A"), RewardId(f"R#{ULID}B")
BILL = BillId(f"B#{ULID}A")
PAYMENT = Payment(
    user="ada", payment=PaymentId(f"P#{ULID}A"), bill=BILL, amount=Decimal(1), card="…4242"
)
SINCE, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)

ADA = {"user": "ada"}
COLUMNS = {
    "customer": Column(("customer",), ADA),
    "seller": Column(("seller",), ADA),
    "visitor": Column(("visitor",)),
    "fulfilment": Column(("fulfilment",)),
    "support": Column(("support",)),
    "customer.seller": Column(("customer", "seller"), ADA),
    "support.fulfilment": Column(("support", "fulfilment")),
}


def stored() -> Iterator[Request[Any]]:
    for user in ("ada", "bob"):
        yield User(user=user, id=f"{user}@example.com", name=user.title()).create()
        yield Product(
            user=user, product=APPLE, id=f"apple-{user}", name="Apple", price=Decimal("0.3")
        ).create()
        yield FULL[user].create()
        yield market.place_order(FULL[user], ORDERS[user], NUMBERS[user])
        yield FULL[user].put()
    yield Bill(user="ada", bill=BILL, id="B-1", order=ORDERS["ada"], amount=Decimal(1)).create()
    yield PAYMENT.create()
    yield Reward(user="ada", reward=GRANTED, id="R-1", amount=Decimal(1)).create()


STAFF = "fulfilment support"
READERS = f"customer {STAFF}"

ROWS = [
    Row("Get user profile", "own", lambda: market.user_profile("ada"), may=READERS),
    Row("Get user profile", "another's", lambda: market.user_profile("bob"), may=STAFF),
    Row(
        "Get the list of last N orders for user",
        "own",
        lambda: market.last_orders("ada", 5),
        may=READERS,
    ),
    Row(
        "Get the list of last N orders for user",
        "another's",
        lambda: market.last_orders("bob", 5),
        may=STAFF,
    ),
    Row("Display bonuses for user", "own", lambda: market.bonuses("ada"), may=READERS),
    Row("Display bonuses for user", "another's", lambda: market.bonuses("bob"), may=STAFF),
    Row(
        "Get a single order with all its items by id",
        "own",
        lambda: market.order_by_id(NUMBERS["ada"]),
        finds=READERS,
    ),
    Row(
        "Get a single order with all its items by id",
        "another's",
        lambda: market.order_by_id(NUMBERS["bob"]),
        finds=STAFF,
    ),
    Row(
        "Get a single order with all its items by id",
        "of none",
        lambda: market.order_by_id("2026-9"),
        finds="",
    ),
    Row(
        "Lookup by system key",
        "own order",
        lambda: market.find_by_key(str(ORDERS["ada"])),
        finds=READERS,
    ),
    Row(
        "Lookup by system key",
        "another's order",
        lambda: market.find_by_key(str(ORDERS["bob"])),
        finds=STAFF,
    ),
    Row(
        "Lookup by system key",
        "own bill",
        lambda: market.find_by_key(str(BILL)),
        finds="fulfilment",
    ),
    Row(
        "Lookup by system key",
        "own product",
        lambda: market.find_by_key(str(APPLE)),
        finds=f"seller visitor {STAFF}",
    ),
    Row(
        "Lookup by business id",
        "oneself",
        lambda: market.find_by_id("ada@example.com", "user"),
        finds=READERS,
    ),
    Row(
        "Lookup by business id",
        "another user",
        lambda: market.find_by_id("bob@example.com", "user"),
        finds=STAFF,
    ),
    Row(
        "Lookup by business id",
        "own product",
        lambda: market.find_by_id("apple-ada", "product"),
        finds=f"seller visitor {STAFF}",
    ),
    Row(
        "Lookup by business id",
        "another's product",
        lambda: market.find_by_id("apple-bob", "product"),
        finds=f"visitor {STAFF}",
    ),
    Row(
        "Lookup by business id",
        "own reward",
        lambda: market.find_by_id("R-1", "reward"),
        finds=READERS,
    ),
    Row(
        "Lookup by business id",
        "own bill",
        lambda: market.find_by_id("B-1", "bill"),
        finds="fulfilment",
    ),
    Row("List payments of user", "own", lambda: market.payments("ada"), may=STAFF),
    Row(
        "Orders between two dates",
        "own",
        lambda: market.orders_between("ada", SINCE, UNTIL),
        may=READERS,
    ),
    Row(
        "Orders between two dates",
        "another's",
        lambda: market.orders_between("bob", SINCE, UNTIL),
        may=STAFF,
    ),
    Row(
        "Put a product into a cart",
        "own cart",
        lambda: market.put_in_cart("ada", CART, APPLE, LINE),
        may="customer fulfilment",
    ),
    Row(
        "Put a product into a cart",
        "another's cart",
        lambda: market.put_in_cart("bob", CART, APPLE, LINE),
        may="fulfilment",
    ),
    Row(
        "Take a product out of a cart",
        "own cart",
        lambda: market.take_from_cart("ada", CART, APPLE),
        may="customer fulfilment",
    ),
    Row(
        "Take a product out of a cart",
        "another's cart",
        lambda: market.take_from_cart("bob", CART, APPLE),
        may="fulfilment",
    ),
    Row(
        "Place an order",
        "of one's own cart",
        lambda: market.place_order(FULL["ada"], NEW, "2026-3"),
        may="fulfilment",
    ),
    Row(
        "Release an order number",
        "own order",
        lambda: market.release_order_number("ada", ORDERS["ada"], NUMBERS["ada"]),
        may="fulfilment",
    ),
    Row(
        "Grant a reward",
        "to oneself",
        lambda: market.grant_reward(Reward(user="ada", reward=WON, amount=Decimal(1))),
        may="fulfilment",
    ),
]

PATTERNS = PatternTable(market.table, COLUMNS, stored, ROWS)
