"""Each access pattern of the document, lookups, and the table, with consistent and stale reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from keyfold import batch
from keyfold.designs import market
from keyfold.designs.market import (
    Account,
    AccountId,
    AccountMember,
    Address,
    Bill,
    BillId,
    Cart,
    CartId,
    Order,
    OrderId,
    OrderLine,
    OrderWithLines,
    Payment,
    PaymentId,
    Product,
    ProductId,
    Reward,
    RewardId,
    User,
    UserProfile,
)
from keyfold.errors import KeyfoldError
from tests.unit.designs.market_shop import (
    ANOTHER,
    APPLE,
    CART,
    DAY,
    FIRST,
    PEAR,
    PLUM,
    RABINOVICH,
    SECOND,
    USER,
    check,
    guards_of,
    keys_of,
    line_of,
    open_shop,
    order_of,
)
from tests.unit.designs.stale_databases import LATE_EXPIRY, STALE_READS, START, Database, database

pytestmark = pytest.mark.all_transports


@pytest.fixture(params=[LATE_EXPIRY, STALE_READS], ids=["consistent", "stale"])
def shop(request: pytest.FixtureRequest) -> Iterator[Database]:
    with open_shop(request.param) as shop:
        yield shop


# The document's access patterns.


def test_get_user_profile(shop: Database) -> None:
    homes = [
        Address(user=RABINOVICH, number=number, street="Deribasovskaya", city="Odesa", country="UA")
        for number in (1, 2)
    ]
    for home in homes:
        shop.run(home.create())
    expected = UserProfile(user=USER, addresses=homes, carts=[CART])
    check(shop, market.user_profile(RABINOVICH), expected)
    check(shop, market.user_profile(ANOTHER), None)
    before = len(shop.calls)
    shop.run(market.user_profile(RABINOVICH))
    assert [operation for operation, _ in shop.calls[before:]] == ["Query"]


def test_get_the_list_of_last_n_orders_for_user(shop: Database) -> None:
    newest = [order_of(SECOND, "2025-2", "0.5"), order_of(FIRST, "2025-1", "2.4")]
    check(shop, market.last_orders(RABINOVICH, 2), newest)
    check(shop, market.last_orders(RABINOVICH, 1), newest[:1])
    check(shop, market.last_orders(RABINOVICH, 9), newest)
    check(shop, market.last_orders(ANOTHER, 9), [])


def test_last_orders_are_as_many_as_are_wanted_however_many_lines_lie_between(
    shop: Database,
) -> None:
    orders = [OrderId.at(START + number * DAY) for number in range(6)]
    for order in orders:
        shop.run(Order(user=ANOTHER, order=order, total=Decimal(40)).create())
        lines = [OrderLine(user=ANOTHER, order=order, line=number) for number in range(1, 41)]
        shop.run(batch([line.put() for line in lines]))
    shop.clock.advance(0)
    page = shop.run(market.last_orders(ANOTHER, 5))
    assert [each.order for each in page] == orders[:0:-1]
    assert page.cursor is not None
    assert page.scanned >= 5 * 41, "the lines were read past"
    assert page.consumed >= 2.0, "which is paid for"
    rest = shop.run(market.last_orders(ANOTHER, 5).after(page.cursor))
    assert [each.order for each in rest] == orders[:1]


def test_display_bonuses_for_user(shop: Database) -> None:
    rewards = [
        Reward(user=RABINOVICH, reward=RewardId.at(START + day * DAY), amount=Decimal(day))
        for day in (1, 2, 3)
    ]
    for reward in rewards:
        shop.run(market.grant_reward(reward))
    check(shop, market.bonuses(RABINOVICH), rewards[::-1])
    check(shop, market.bonuses(ANOTHER), [])


def test_get_a_single_order_with_all_its_items_by_id(shop: Database) -> None:
    lines = [line_of(FIRST, 1, APPLE), line_of(FIRST, 2, PEAR), line_of(FIRST, 3, PLUM)]
    expected = OrderWithLines(order=order_of(FIRST, "2025-1", "2.4"), lines=lines)
    check(shop, market.order_by_id("2025-1"), expected)
    check(shop, market.order_by_id("2025-3"), None)


# What else the indexes and keys are for.


def test_lookup_by_system_key(shop: Database) -> None:
    check(shop, market.find_by_key(FIRST), order_of(FIRST, "2025-1", "2.4"))
    check(shop, market.find_by_key(f"{FIRST}#002"), line_of(FIRST, 2, PEAR))
    check(shop, market.find_by_key("U#rabinovich"), USER)
    check(shop, market.find_by_key(OrderId.at(START)), None)


def test_lookup_by_business_id(shop: Database) -> None:
    check(shop, market.find_by_id("rabinovich@example.com", "user"), USER)
    check(shop, market.find_by_id("2025-2", "order"), order_of(SECOND, "2025-2", "0.5"))
    check(shop, market.find_by_id("2025-2", "bill"), None)


def test_orders_between_two_dates(shop: Database) -> None:
    orders = [
        Order(user=ANOTHER, order=OrderId.at(START + day * DAY), total=Decimal(day))
        for day in range(1, 6)
    ]
    for order in orders:
        shop.run(order.create())
    request = market.orders_between(ANOTHER, START + 2 * DAY, START + 4 * DAY)
    check(shop, request, orders[1:4])
    assert shop.run(request).scanned == 3, "nothing outside is read"
    made_then = market.orders_between(RABINOVICH, FIRST.time, SECOND.time)
    check(shop, made_then, [order_of(FIRST, "2025-1", "2.4"), order_of(SECOND, "2025-2", "0.5")])


def test_an_item_that_gave_its_business_id_away_is_not_found_by_it(shop: Database) -> None:
    shop.run(market.release_order_number(RABINOVICH, FIRST, "2025-1"))
    shop.run(CART.put())
    third = OrderId.at(START)
    shop.run(market.place_order(CART, third, "2025-1"))
    for _ in range(5):
        # The index may still have the order that had the id before.
        found = shop.run(market.find_by_id("2025-1", "order"))
        whole = shop.run(market.order_by_id("2025-1"))
        assert found is None or found.order == third
        assert whole is None or whole.order.order == third


# The table.


def test_every_type_lies_in_its_shard() -> None:
    key = "01JZ10H7X367VB2NF4YQ973DHW"
    price, name = Decimal(1), "it"
    account, bill = AccountId(f"A#{key}"), BillId(f"B#{key}")
    payment, product = PaymentId(f"P#{key}"), ProductId(f"I#{key}")
    with database(market.table, LATE_EXPIRY) as shop:
        for item in (
            Account(account=account, name=name),
            Bill(user=ANOTHER, bill=bill, order=FIRST, amount=price),
            Payment(user=ANOTHER, payment=payment, bill=bill, amount=price),
            Product(user=ANOTHER, product=product, name=name, price=price),
            User(user=ANOTHER, name=name, account=account),
            AccountMember(account=account, user=ANOTHER),
            Reward(user=ANOTHER, reward=RewardId(f"R#{key}"), amount=price),
            Cart(user=ANOTHER, cart=CartId(f"C#{key}")),
        ):
            shop.run(item.create())
        assert keys_of(shop) == [
            (f"A#{key}", f"A#{key}"),
            (f"A#{key}", f"A#{key}#{ANOTHER}"),
            (f"U#{ANOTHER}", f"C#{key}"),
            (f"U#{ANOTHER}", f"U#{ANOTHER}"),
            (f"U#{ANOTHER}#B", f"B#{key}"),
            (f"U#{ANOTHER}#B", f"P#{key}"),
            (f"U#{ANOTHER}#P", f"I#{key}"),
            (f"U#{ANOTHER}#R", f"R#{key}"),
        ]


@pytest.mark.parametrize("user", ["rabinovich#O", ""])
def test_no_user_id_reaches_into_the_shard_of_another_user(user: str) -> None:
    with pytest.raises(KeyfoldError):
        market.user_profile(user)
    with pytest.raises(KeyfoldError):
        User(user=user, name="Mallory").create()


@pytest.mark.parametrize("field", ["id", "tp"])
def test_an_item_without_id_or_type_is_not_in_the_id_lookup_index(
    shop: Database, field: str
) -> None:
    check(shop, market.find_by_id("2025-2", "order"), order_of(SECOND, "2025-2", "0.5"))
    shop.run(Order.update(user=RABINOVICH, order=SECOND).remove(Order.f[field]))
    check(shop, market.order_by_id("2025-2"), None)
    shop.clock.advance(0)
    found = shop.run(market.table.scan(market.by_id))
    assert {each.id for each in found} == {USER.id, "2025-1"}, "a cart has no id"


def test_the_reverse_index_has_every_item_and_nothing_but_keys(shop: Database) -> None:
    shop.clock.advance(0)
    refs = shop.run(market.table.scan(market.by_key).refs())
    assert sorted((ref.key["pk"]["S"], ref.key["sk"]["S"]) for ref in refs) == keys_of(shop)
    listed = market.table.to_dynamodb()["GlobalSecondaryIndexes"]
    kinds = {each["IndexName"]: each["Projection"]["ProjectionType"] for each in listed}
    assert kinds == {"ReverseIndex": "KEYS_ONLY", "IdLookupIndex": "ALL"}


def expiring_items(at: datetime) -> list[Any]:
    key, price = "01JZ10H7X367VB2NF4YQ973DHW", Decimal(1)
    product, bill = ProductId(f"I#{key}"), BillId(f"B#{key}")
    return [
        Account(account=AccountId(f"A#{key}"), name="", ttl=at),
        AccountMember(account=AccountId(f"A#{key}"), user=ANOTHER, ttl=at),
        Address(user=ANOTHER, number=1, street="", city="", country="", ttl=at),
        Bill(user=ANOTHER, bill=bill, order=FIRST, amount=price, ttl=at),
        Cart(user=ANOTHER, cart=CART.cart, ttl=at),
        Order(user=ANOTHER, order=FIRST, id="2025-9", total=price, ttl=at),
        OrderLine(
            user=ANOTHER,
            order=FIRST,
            line=1,
            product=product,
            name="",
            price=price,
            quantity=1,
            ttl=at,
        ),
        Payment(user=ANOTHER, payment=PaymentId(f"P#{key}"), bill=bill, amount=price, ttl=at),
        Product(user=ANOTHER, product=product, name="", price=price, ttl=at),
        Reward(user=ANOTHER, reward=RewardId(f"R#{key}"), amount=price, ttl=at),
        User(user=ANOTHER, name="", ttl=at),
    ]


def test_any_item_may_expire() -> None:
    items = expiring_items(START + DAY)
    assert {type(item).__name__ for item in items} == market.table.entities.keys()
    with database(market.table, LATE_EXPIRY) as shop:
        for item in items:
            shop.run(item.create())
        assert len(shop.run(market.table.scan())) == len(items)
        assert guards_of(shop) == ["Order 2025-9"]
        shop.clock.advance(DAY)
        assert len(keys_of(shop)) == len(items), "they are still there"
        assert len(shop.run(market.table.scan())) == 0
        assert shop.run(market.find_by_key(FIRST)) is None
        for item in items:
            shop.run(item.create())


def test_an_order_expires_with_its_lines_and_its_number(shop: Database) -> None:
    shop.run(market.place_order(CART, OrderId.at(START), "2025-3", START + DAY))
    check(
        shop,
        market.find_by_id("2025-3", "order"),
        shop.run(Order.get(user=RABINOVICH, order=OrderId.at(START)).consistent()),
    )
    shop.clock.advance(DAY)
    assert shop.run(market.order_by_id("2025-3")) is None
    assert len(shop.run(market.last_orders(RABINOVICH, 9))) == 2
    shop.run(CART.put())
    shop.run(market.place_order(CART, OrderId.at(START + DAY), "2025-3"))


def test_the_document_s_patterns_have_its_names() -> None:
    assert list(market.table.patterns)[:4] == [
        "Get user profile",
        "Get the list of last N orders for user",
        "Display bonuses for user",
        "Get a single order with all its items by id",
    ]


# Patterns that are more than one call, where the first finds what the second needs.
ROUND_TRIPS = {
    "Get a single order with all its items by id": 2,
    "Lookup by system key": 2,
    "Lookup by business id": 2,
    "Place an order": 2,
    "Cancel an order": 2,
    # Those that release a business id, which is read first. An updated item is read again.
    "Delete an account": 2,
    "Delete a cart": 2,
    "Remove a product": 2,
    "Revoke a reward": 2,
    "Release an order number": 3,
    "Change the business id of a user": 3,
    "Remove a user from an account": 2,
    "Delete a user": 6,
}


@pytest.mark.parametrize("name", market.table.patterns)
def test_a_pattern_explains_itself(name: str) -> None:
    pattern = market.table.patterns[name]
    assert pattern.description
    explained = pattern.explain()
    assert not explained.scans
    assert explained.round_trips == ROUND_TRIPS.get(name, 1)
