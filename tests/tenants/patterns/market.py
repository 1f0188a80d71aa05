"""Who may run the patterns of the market: ada's roles, on her items and on bob's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from keyfold import Request
from keyfold.designs import market
from keyfold.designs.market import (
    Account,
    AccountId,
    Address,
    Bill,
    BillId,
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    Payment,
    PaymentId,
    Product,
    ProductChanges,
    ProductId,
    Reward,
    RewardChanges,
    RewardId,
    User,
    UserChanges,
)
from tests.tenants.patterns.rows import Column, PatternTable, Row

ULID = "01JZ10H7X367VB2NF4YQ973DH"
APPLE = ProductId(f"I#{ULID}W")
LINE = CartLine(seller="ada", quantity=3)
CART = CartId(f"C#{ULID}W")
FULL = {user: Cart(user=user, cart=CART, lines={APPLE: LINE}) for user in ("ada", "bob")}
ORDERS = {"ada": OrderId(f"O#{ULID}A"), "bob": OrderId(f"O#{ULID}B")}
NUMBERS = {"ada": "2026-1", "bob": "2026-2"}
NEW, BARE = OrderId(f"O#{ULID}N"), OrderId(f"O#{ULID}C")
GRANTED, WON = RewardId(f"R#{ULID}A"), RewardId(f"R#{ULID}B")
BILL = BillId(f"B#{ULID}A")
PAYMENT = Payment(
    user="ada", payment=PaymentId(f"P#{ULID}A"), bill=BILL, amount=Decimal(1), card="…4242"
)
PAID = PAYMENT.model_copy(
    update={"payment": PaymentId(f"P#{ULID}N"), "amount": Decimal("0.9"), "id": "P-1"}
)
HOME = Address(user="ada", number=1, street="1 Market Street", city="Graz", country="AT")
CORNER, EMPTY = AccountId(f"A#{ULID}A"), AccountId(f"A#{ULID}B")
SINCE, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)

ADA = {"user": "ada"}
COLUMNS = {
    "customer": Column(("customer",), ADA),
    "seller": Column(("seller",), ADA),
    "visitor": Column(("visitor",)),
    "registration": Column(("registration",)),
    "fulfilment": Column(("fulfilment",)),
    "support": Column(("support",)),
    "customer.seller": Column(("customer", "seller"), ADA),
    "support.fulfilment": Column(("support", "fulfilment")),
}


def product_of(user: str) -> Product:
    name = f"apple-{user}"
    return Product(user=user, product=APPLE, id=name, name="Apple", price=Decimal("0.3"))


def stored() -> Iterator[Request[Any]]:
    yield market.create_account(Account(account=CORNER, id="corner"))
    yield market.create_account(Account(account=EMPTY))
    for user in ("ada", "bob"):
        yield User(user=user, id=f"{user}@example.com", name=user.title()).create()
        yield product_of(user).create()
    yield market.join_account("bob", CORNER)
    for user in ("ada", "bob"):
        yield FULL[user].create()
        yield market.place_order(FULL[user], ORDERS[user], NUMBERS[user])
        yield FULL[user].put()
    yield Bill(user="ada", bill=BILL, id="B-1", order=ORDERS["ada"], amount=Decimal("0.9")).create()
    yield PAYMENT.create()
    yield Order(user="ada", order=BARE).create()
    yield Reward(user="ada", reward=GRANTED, id="R-1", amount=Decimal(1)).create()


STAFF = "fulfilment support"
READERS = f"customer {STAFF}"
PROFILED = f"registration {STAFF}"

TENANTS_SET_NO_IDS = "a server lets no tenant write guards of unique values"

ROWS = [
    Row("Get user profile", "own", lambda: market.user_profile("ada"), may=f"customer {PROFILED}"),
    Row("Get user profile", "another's", lambda: market.user_profile("bob"), may=PROFILED),
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
        finds=f"customer {PROFILED}",
    ),
    Row(
        "Lookup by business id",
        "another user",
        lambda: market.find_by_id("bob@example.com", "user"),
        finds=PROFILED,
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
        may="customer registration fulfilment",
    ),
    Row(
        "Put a product into a cart",
        "another's cart",
        lambda: market.put_in_cart("bob", CART, APPLE, LINE),
        may="registration fulfilment",
    ),
    Row(
        "Take a product out of a cart",
        "own cart",
        lambda: market.take_from_cart("ada", CART, APPLE),
        may="customer registration fulfilment",
    ),
    Row(
        "Take a product out of a cart",
        "another's cart",
        lambda: market.take_from_cart("bob", CART, APPLE),
        may="registration fulfilment",
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
        "Record the total of an order",
        "own order",
        lambda: market.record_total("ada", BARE, Decimal(1)),
        may="fulfilment",
    ),
    Row(
        "Create the bill of an order",
        "another's order",
        lambda: market.create_bill("bob", ORDERS["bob"], Decimal("0.9")),
        may="fulfilment",
    ),
    Row(
        "Change a reward",
        "own reward",
        lambda: market.change_reward("ada", GRANTED, RewardChanges(amount=Decimal(100))),
        may="fulfilment",
    ),
    Row(
        "Revoke a reward",
        "own reward",
        lambda: market.revoke_reward("ada", GRANTED),
        may="fulfilment",
    ),
    Row(
        "Grant a reward",
        "to oneself",
        lambda: market.grant_reward(Reward(user="ada", reward=WON, amount=Decimal(1))),
        may="fulfilment",
    ),
    Row(
        "Create a user",
        "with an id",
        lambda: market.create_user(User(user="eve", id="eve@example.com")),
        may="registration",
    ),
    Row(
        "Change a user",
        "oneself",
        lambda: market.change_user("ada", UserChanges(name="A")),
        may="customer registration fulfilment",
    ),
    Row(
        "Change a user",
        "another",
        lambda: market.change_user("bob", UserChanges(name="B")),
        may="registration fulfilment",
    ),
    Row(
        "Change the business id of a user",
        "own id",
        lambda: market.change_user_id("ada", "a@example.com"),
        may="registration",
    ),
    Row("Delete a user", "oneself", lambda: market.delete_user("ada"), may="registration"),
    Row(
        "Save an address",
        "own",
        lambda: market.save_address(HOME),
        may="customer registration",
    ),
    Row(
        "Delete an address",
        "own",
        lambda: market.delete_address("ada", 1),
        may="customer registration",
    ),
    Row(
        "Create a cart",
        "own",
        lambda: market.create_cart("ada", CartId(f"C#{ULID}N")),
        may="customer registration",
    ),
    Row(
        "Delete a cart",
        "own",
        lambda: market.delete_cart("ada", CART),
        may="customer registration",
    ),
    Row(
        "Add a product",
        "own without an id",
        lambda: market.add_product(Product(user="ada", product=ProductId(f"I#{ULID}N"))),
        may="seller",
    ),
    Row(
        "Add a product",
        "own with an id",
        lambda: market.add_product(Product(user="ada", product=ProductId(f"I#{ULID}N"), id="N")),
        may="seller",
        on_wire="",
        because=TENANTS_SET_NO_IDS,
    ),
    Row(
        "Change a product",
        "own",
        lambda: market.change_product("ada", APPLE, ProductChanges(price=Decimal(1))),
        may="seller",
    ),
    Row(
        "Change a product",
        "another's",
        lambda: market.change_product("bob", APPLE, ProductChanges(price=Decimal(0))),
        may="",
    ),
    Row(
        "Remove a product",
        "own with an id",
        lambda: market.remove_product("ada", APPLE),
        may="seller",
        on_wire="",
        because=TENANTS_SET_NO_IDS,
    ),
    Row(
        "List products of a seller",
        "own",
        lambda: market.products_of("ada"),
        may=f"seller visitor {STAFF}",
    ),
    Row(
        "List products of a seller",
        "another's",
        lambda: market.products_of("bob"),
        may=f"visitor {STAFF}",
    ),
    Row(
        "Cancel an order",
        "own",
        lambda: market.cancel_order("ada", ORDERS["ada"]),
        may="fulfilment",
    ),
    Row("List bills of user", "own", lambda: market.bills("ada"), may=STAFF),
    Row("Pay a bill", "own", lambda: market.pay_bill(PAID), may="fulfilment"),
    Row(
        "Create an account",
        "with an id",
        lambda: market.create_account(Account(account=AccountId(f"A#{ULID}N"), id="new")),
        may="registration",
    ),
    Row(
        "Rename an account",
        "of another",
        lambda: market.rename_account(CORNER, "Corner"),
        may="registration",
    ),
    Row(
        "Delete an account",
        "without users",
        lambda: market.delete_account(EMPTY),
        may="registration",
    ),
    Row(
        "Add a user to an account",
        "oneself",
        lambda: market.join_account("ada", CORNER),
        may="registration",
    ),
    Row(
        "Remove a user from an account",
        "another",
        lambda: market.leave_account("bob", CORNER),
        may="registration",
    ),
    Row(
        "List users of an account",
        "of another",
        lambda: market.users_of_account(CORNER),
        may="registration support",
    ),
]

FOREIGN = {
    "ada": "bob",
    str(ORDERS["ada"]): str(ORDERS["bob"]),
    NUMBERS["ada"]: NUMBERS["bob"],
    str(EMPTY): str(CORNER),
}

PATTERNS = PatternTable(market.table, COLUMNS, stored, ROWS, foreign=FOREIGN)
