"""Each access pattern of the market, with consistent and with stale reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

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
    OrderLine,
    OrderNumber,
    OrderWithLines,
    Payment,
    PaymentId,
    PaymentSummary,
    Product,
    ProductId,
    Reward,
    RewardId,
    User,
    UserProfile,
)
from keyfold.errors import (
    AlreadyExists,
    ConditionFailed,
    KeyfoldError,
    NotFound,
    TransactionFailed,
    TransactionInvalid,
    VersionConflict,
)
from keyfold.store import Followed
from tests.unit.designs.stale_databases import LATE_EXPIRY, STALE_READS, START, Database, database

pytestmark = pytest.mark.all_transports

DAY = timedelta(days=1)

RABINOVICH = "rabinovich"
ANOTHER = "550e8400-e29b-41d4-a716-446655440000"

# The rows of the document's order shard.
FIRST = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")
SECOND = OrderId("O#01JZ10H7X367VB2NF4YQ973DXZ")
APPLE, PEAR, PLUM = (ProductId.at(START + number * DAY) for number in range(3))
GOODS = {
    APPLE: CartLine(name="Apple", price=Decimal("0.3"), quantity=3),
    PEAR: CartLine(name="Pear", price=Decimal("0.5")),
    PLUM: CartLine(name="Plum", price=Decimal("0.1"), quantity=10),
}
CART = Cart(user=RABINOVICH, cart=CartId("C#01JZ10H7X367VB2NF4YQ973DHV"), lines=GOODS)
USER = User(user=RABINOVICH, id="rabinovich@example.com", name="Rabinovich", phones=["+1 555 0100"])


@pytest.fixture(params=[LATE_EXPIRY, STALE_READS], ids=["consistent", "stale"])
def shop(request: pytest.FixtureRequest) -> Iterator[Database]:
    """The document's user with the document's two orders, and a cart that was filled again."""
    with database(market.table, request.param) as shop:
        shop.run(USER.create())
        shop.run(CART.create())
        shop.run(market.place_order(CART, FIRST, "2025-1"))
        pears = CART.model_copy(update={"lines": {PEAR: GOODS[PEAR]}})
        shop.run(pears.put())
        shop.run(market.place_order(pears, SECOND, "2025-2"))
        shop.run(CART.put())
        yield shop


def order_of(order: OrderId, number: str, total: str) -> Order:
    return Order(user=RABINOVICH, order=order, id=number, total=Decimal(total))


def line_of(order: OrderId, line: int, product: ProductId) -> OrderLine:
    return OrderLine(
        user=RABINOVICH, order=order, line=line, product=product, **GOODS[product].model_dump()
    )


def check(shop: Database, request: Request[Any], expected: object) -> None:
    """Check that a request eventually returns what is expected."""
    assert shop.run_until(request, lambda answer: answer == expected) == expected


def keys_of(shop: Database) -> list[tuple[str, str]]:
    return sorted((each["pk"]["S"], each["sk"]["S"]) for each in shop.stored(market.table))


def reasons_of(failure: pytest.ExceptionInfo[TransactionFailed]) -> list[type | None]:
    return [reason and type(reason) for reason in failure.value.reasons]


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
        many = {
            ProductId.at(START + number * DAY): CartLine(name=f"{number}", price=Decimal(1))
            for number in range(40)
        }
        full = Cart(user=ANOTHER, cart=CartId.at(START), lines=many)
        shop.run(full.put())
        shop.run(market.place_order(full, order, None))
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


# Carts and orders.


def test_put_a_product_into_a_cart(shop: Database) -> None:
    one = CartLine(name="Apple", price=Decimal("0.3"))
    cart = shop.run(market.put_in_cart(RABINOVICH, CART.cart, APPLE, one))
    assert cart.lines == GOODS | {APPLE: one}
    with pytest.raises(NotFound):
        shop.run(market.put_in_cart(ANOTHER, CART.cart, APPLE, one))


def test_take_a_product_out_of_a_cart(shop: Database) -> None:
    for _ in range(2):
        cart = shop.run(market.take_from_cart(RABINOVICH, CART.cart, APPLE))
        assert cart.lines == {PEAR: GOODS[PEAR], PLUM: GOODS[PLUM]}


def test_place_an_order(shop: Database) -> None:
    assert [key for key in keys_of(shop) if key[0] == "U#rabinovich#O"] == [
        ("U#rabinovich#O", "O#01JZ10H7X367VB2NF4YQ973DHW"),
        ("U#rabinovich#O", "O#01JZ10H7X367VB2NF4YQ973DHW#001"),
        ("U#rabinovich#O", "O#01JZ10H7X367VB2NF4YQ973DHW#002"),
        ("U#rabinovich#O", "O#01JZ10H7X367VB2NF4YQ973DHW#003"),
        ("U#rabinovich#O", "O#01JZ10H7X367VB2NF4YQ973DXZ"),
        ("U#rabinovich#O", "O#01JZ10H7X367VB2NF4YQ973DXZ#001"),
    ]
    by_sk = {each["sk"]["S"]: each for each in shop.stored(market.table)}
    assert by_sk[FIRST] == {
        "pk": {"S": "U#rabinovich#O"},
        "sk": {"S": FIRST},
        "id": {"S": "2025-1"},
        "tp": {"S": "order"},
        "total": {"N": "2.4"},
    }
    assert by_sk[f"{FIRST}#001"] == {
        "pk": {"S": "U#rabinovich#O"},
        "sk": {"S": f"{FIRST}#001"},
        "product": {"S": APPLE},
        "name": {"S": "Apple"},
        "price": {"N": "0.3"},
        "quantity": {"N": "3"},
    }
    shop.run(market.place_order(CART, OrderId.at(START), None))
    emptied = CART.model_copy(update={"lines": {}})
    check(shop, Cart.get(user=RABINOVICH, cart=CART.cart), emptied)


def test_an_order_s_business_id_is_unique(shop: Database) -> None:
    other = Cart(user=ANOTHER, cart=CART.cart, lines={PEAR: GOODS[PEAR]})
    shop.run(other.create())
    before = shop.stored(market.table)
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.place_order(other, OrderId.at(START), "2025-1"))
    assert reasons_of(failure) == [None, AlreadyExists, None, None]
    assert shop.stored(market.table) == before, "nothing of it was done"


def test_an_order_of_a_cart_that_was_changed_meanwhile_is_not_placed(shop: Database) -> None:
    shop.run(market.take_from_cart(RABINOVICH, CART.cart, APPLE))
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.place_order(CART, OrderId.at(START), None))
    assert reasons_of(failure) == [None, None, None, None, VersionConflict]


@pytest.mark.parametrize(("number", "most"), [(None, 98), ("2025-3", 97)])
def test_an_order_too_large_for_one_transaction_is_refused(number: str | None, most: int) -> None:
    lines = {
        ProductId.at(START + day * DAY): CartLine(name=f"{day}", price=Decimal(1))
        for day in range(most + 1)
    }
    cart = Cart(user=ANOTHER, cart=CART.cart, lines=lines)
    with pytest.raises(TransactionInvalid, match=f"of {most + 1} lines.*{most} lines fit"):
        market.place_order(cart, OrderId.at(START), number)
    del lines[ProductId.at(START)]
    fitting = cart.model_copy(update={"lines": lines})
    with database(market.table, LATE_EXPIRY) as shop:
        shop.run(fitting.create())
        shop.run(market.place_order(fitting, OrderId.at(START), number))
        assert len(shop.run(OrderLine.query(user=ANOTHER))) == most


def test_an_empty_cart_cannot_be_ordered() -> None:
    with pytest.raises(TransactionInvalid, match="empty"):
        market.place_order(CART.model_copy(update={"lines": {}}), FIRST, None)


def test_release_an_order_number(shop: Database) -> None:
    shop.run(market.release_order_number(RABINOVICH, FIRST, "2025-1"))
    check(shop, market.order_by_id("2025-1"), None)
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.release_order_number(RABINOVICH, FIRST, "2025-2"))
    assert reasons_of(failure) == [ConditionFailed, None], "that is another order's"
    again = OrderId.at(START)
    shop.run(market.place_order(CART, again, "2025-1"))
    check(shop, market.find_by_id("2025-1", "order"), order_of(again, "2025-1", "2.4"))


def test_grant_a_reward(shop: Database) -> None:
    reward = Reward(
        user=RABINOVICH, reward=RewardId("R#01JZ10H7X367VB2NF4YQ973DHY"), amount=Decimal(5)
    )
    shop.run(market.grant_reward(reward))
    with pytest.raises(AlreadyExists):
        shop.run(market.grant_reward(reward))
    assert ("U#rabinovich#R", "R#01JZ10H7X367VB2NF4YQ973DHY") in keys_of(shop)


def test_list_payments_of_user(shop: Database) -> None:
    made = [
        Payment(
            user=RABINOVICH,
            payment=PaymentId.at(START + number * DAY),
            bill=BillId.at(START),
            amount=Decimal(number),
            card="…4242",
            holder="Rabinovich",
        )
        for number in (1, 2)
    ]
    for each in made:
        shop.run(each.create())
    summaries = [PaymentSummary(**each.model_dump(exclude={"card"})) for each in reversed(made)]
    check(shop, market.payments(RABINOVICH), summaries)
    check(shop, market.payments(ANOTHER), [])
    _, request = shop.calls[-1]
    assert set(request["ExpressionAttributeNames"].values()).isdisjoint({"card", "holder"})


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
            Cart(user=ANOTHER, cart=CartId(f"C#{key}")),
        ):
            shop.run(item.create())
        assert keys_of(shop) == [
            (f"A#{key}", f"A#{key}"),
            (f"U#{ANOTHER}", f"C#{key}"),
            (f"U#{ANOTHER}", f"U#{ANOTHER}"),
            (f"U#{ANOTHER}#B", f"B#{key}"),
            (f"U#{ANOTHER}#B", f"P#{key}"),
            (f"U#{ANOTHER}#P", f"I#{key}"),
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
    check(shop, market.order_by_id("2025-2").first, order_of(SECOND, "2025-2", "0.5"))
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
        Address(user=ANOTHER, number=1, street="", city="", country="", ttl=at),
        Bill(user=ANOTHER, bill=bill, order=FIRST, amount=price, ttl=at),
        Cart(user=ANOTHER, cart=CART.cart, ttl=at),
        Order(user=ANOTHER, order=FIRST, total=price, ttl=at),
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
        OrderNumber(id="2025-9", user=ANOTHER, order=FIRST, ttl=at),
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
        shop.clock.advance(DAY)
        assert len(shop.stored(market.table)) == len(items), "they are still there"
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


# What follows from an order.


def follow(shop: Database, name: str = "default") -> Followed:
    return shop.store.follow(market.table, name=name, until_caught_up=True, setup=True)


def test_a_placed_order_produces_its_reward_and_its_bill(shop: Database) -> None:
    done = follow(shop)
    assert (done.handled, done.dead_letters) == (4, 0)
    reward = Reward(
        user=RABINOVICH,
        reward=RewardId("R#01JZ10H7X367VB2NF4YQ973DHW"),
        amount=Decimal("0.12"),
        reason="order",
        order=FIRST,
    )
    small = reward.model_copy(
        update={
            "reward": RewardId("R#01JZ10H7X367VB2NF4YQ973DXZ"),
            "amount": Decimal("0.02"),
            "order": SECOND,
        }
    )
    check(shop, market.bonuses(RABINOVICH), [small, reward])
    bills = [
        Bill(user=RABINOVICH, bill=market.id_for(BillId, order), order=order, amount=Decimal(total))
        for order, total in ((FIRST, "2.4"), (SECOND, "0.5"))
    ]
    check(shop, Bill.query(user=RABINOVICH), bills)


def test_an_order_has_one_reward_and_one_bill_however_often_it_is_seen(shop: Database) -> None:
    follow(shop)
    paid = market.id_for(BillId, FIRST)
    # The bill is changed later; handling the order again must not undo that.
    shop.run(Bill.update(user=RABINOVICH, bill=paid).set(Bill.f.id, "B-1"))
    before = keys_of(shop)
    for name in ("again", "and again"):
        assert follow(shop, name.replace(" ", "-")).handled == 4
    assert keys_of(shop) == before
    bill = shop.run(Bill.get(user=RABINOVICH, bill=paid).consistent())
    assert bill is not None
    assert bill.id == "B-1"


def test_an_order_that_is_changed_or_deleted_produces_nothing_more(shop: Database) -> None:
    follow(shop)
    before = [each for each in keys_of(shop) if not each[1].startswith(SECOND)]
    shop.run(market.release_order_number(RABINOVICH, FIRST, "2025-1"))
    shop.run(Order.delete(user=RABINOVICH, order=SECOND))
    assert follow(shop).handled == 4
    after = [each for each in keys_of(shop) if not each[1].startswith(SECOND)]
    assert after == [each for each in before if each != ("N#2025-1", "N#2025-1")]


def test_rows_without_attributes_are_orders_and_lines(shop: Database) -> None:
    for sk in (FIRST, f"{FIRST}#001"):
        item = {"pk": {"S": f"U#{ANOTHER}#O"}, "sk": {"S": sk}}
        shop.execute("PutItem", {"TableName": "Market", "Item": item})
    order = Order(user=ANOTHER, order=FIRST, tp=None)
    check(shop, market.last_orders(ANOTHER, 5), [order])
    check(shop, OrderLine.query(user=ANOTHER), [OrderLine(user=ANOTHER, order=FIRST, line=1)])
    assert order.total is None, "not recorded"


def test_an_order_without_a_total_is_billed_when_it_has_one(shop: Database) -> None:
    follow(shop)
    shop.run(Order(user=ANOTHER, order=FIRST).create())
    assert follow(shop).dead_letters == 2
    letters = shop.store.dead_letters(market.table)
    assert [each.error for each in letters] == [
        f"FieldNotRecorded: Order {FIRST} of {ANOTHER}: total is not recorded, and its {use} needs "
        "it. Record it with Order.update(…).set(Order.f.total, …). [field-not-recorded]"
        for use in ("bill", "reward")
    ]
    shop.run(Order.update(user=ANOTHER, order=FIRST).set(Order.f.total, Decimal(3)))
    shop.store.retry_dead_letters(market.table)
    follow(shop)
    assert shop.store.dead_letters(market.table) == []
    bill = Bill(user=ANOTHER, bill=market.id_for(BillId, FIRST), order=FIRST, amount=Decimal(3))
    check(shop, Bill.query(user=ANOTHER), [bill])


def test_an_order_too_small_for_a_reward_has_none(shop: Database) -> None:
    shop.run(Order(user=ANOTHER, order=OrderId.at(START), total=Decimal("0.19")).create())
    follow(shop)
    check(shop, market.bonuses(ANOTHER), [])
    assert len(shop.run_until(Bill.query(user=ANOTHER), lambda found: len(found) == 1)) == 1


def test_the_document_s_patterns_have_its_names() -> None:
    assert list(market.table.patterns)[:4] == [
        "Get user profile",
        "Get the list of last N orders for user",
        "Display bonuses for user",
        "Get a single order with all its items by id",
    ]


@pytest.mark.parametrize("name", market.table.patterns)
def test_a_pattern_explains_itself(name: str) -> None:
    pattern = market.table.patterns[name]
    assert pattern.description
    explained = pattern.explain()
    assert not explained.scans
    is_chain = name.startswith("Lookup") or name == "Get a single order with all its items by id"
    assert explained.round_trips == (2 if is_chain else 1)
