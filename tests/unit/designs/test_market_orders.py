"""Carts, orders, bills, payments and rewards of the market, with consistent and stale reads."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from keyfold import Change
from keyfold.designs import market
from keyfold.designs.market import (
    MAX_ORDER_LINES,
    Bill,
    BillId,
    BillSummary,
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    OrderLine,
    Payment,
    PaymentId,
    PaymentSummary,
    Product,
    ProductId,
    Reward,
    RewardChanges,
    RewardId,
)
from keyfold.errors import (
    AlreadyExists,
    ConditionFailed,
    FieldNotRecorded,
    NotFound,
    TransactionFailed,
    TransactionInvalid,
    UniqueTaken,
    VersionConflict,
)
from tests.unit.designs.market_shop import (
    ANOTHER,
    APPLE,
    CART,
    DAY,
    FIRST,
    LINES,
    PEAR,
    PLUM,
    RABINOVICH,
    SECOND,
    SELLER,
    check,
    follow,
    keys_of,
    open_shop,
    order_of,
    reasons_of,
)
from tests.unit.designs.stale_databases import LATE_EXPIRY, STALE_READS, START, Database, database

pytestmark = pytest.mark.all_transports


@pytest.fixture(params=[LATE_EXPIRY, STALE_READS], ids=["consistent", "stale"])
def shop(request: pytest.FixtureRequest) -> Iterator[Database]:
    with open_shop(request.param) as shop:
        yield shop


# Carts.


def test_create_a_cart(shop: Database) -> None:
    cart = CartId.at(START)
    made = shop.run(market.create_cart(RABINOVICH, cart, START + DAY))
    assert made == Cart(user=RABINOVICH, cart=cart, ttl=START + DAY)
    with pytest.raises(AlreadyExists):
        shop.run(market.create_cart(RABINOVICH, cart))
    shop.clock.advance(DAY)
    check(shop, Cart.get(user=RABINOVICH, cart=cart), None)


def test_delete_a_cart(shop: Database) -> None:
    assert shop.run(market.delete_cart(RABINOVICH, CART.cart)) == CART
    assert shop.run(market.delete_cart(RABINOVICH, CART.cart)) is None


def test_put_a_product_into_a_cart(shop: Database) -> None:
    one = CartLine(seller=SELLER)
    cart = shop.run(market.put_in_cart(RABINOVICH, CART.cart, APPLE, one))
    assert cart.lines == LINES | {APPLE: one}
    with pytest.raises(NotFound):
        shop.run(market.put_in_cart(ANOTHER, CART.cart, APPLE, one))


@pytest.mark.parametrize("quantity", [0, -1])
def test_a_quantity_is_positive(quantity: int) -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        CartLine(seller=SELLER, quantity=quantity)


def test_take_a_product_out_of_a_cart(shop: Database) -> None:
    for _ in range(2):
        cart = shop.run(market.take_from_cart(RABINOVICH, CART.cart, APPLE))
        assert cart.lines == {PEAR: LINES[PEAR], PLUM: LINES[PLUM]}


# Orders.


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
        "status": {"S": "placed"},
    }
    assert by_sk[f"{FIRST}#001"] == {
        "pk": {"S": "U#rabinovich#O"},
        "sk": {"S": f"{FIRST}#001"},
        "product": {"S": APPLE},
        "seller": {"S": SELLER},
        "name": {"S": "Apple"},
        "price": {"N": "0.3"},
        "quantity": {"N": "3"},
    }
    shop.run(market.place_order(CART, OrderId.at(START), None))
    emptied = CART.model_copy(update={"lines": {}})
    check(shop, Cart.get(user=RABINOVICH, cart=CART.cart), emptied)


def test_the_price_of_an_order_is_that_of_the_product(shop: Database) -> None:
    cheap = market.ProductChanges(price=Decimal("0.2"))
    shop.run(market.change_product(SELLER, APPLE, cheap))
    order = OrderId.at(START)
    shop.run(market.place_order(CART, order, None))
    stored = shop.run(Order.get(user=RABINOVICH, order=order).consistent())
    assert stored is not None
    assert stored.total == Decimal("2.1")


def test_the_total_of_an_order_is_exact(shop: Database) -> None:
    def order_of_price(price: str) -> Decimal | None:
        changes = market.ProductChanges(price=Decimal(price))
        shop.run(market.change_product(SELLER, APPLE, changes))
        cart = Cart(
            user=RABINOVICH,
            cart=CartId.at(START),
            lines={APPLE: CartLine(seller=SELLER, quantity=10**8 + 1)},
        )
        shop.run(cart.put())
        order = OrderId.at(START)
        shop.run(market.place_order(cart, order, None))
        stored = shop.run(Order.get(user=RABINOVICH, order=order).consistent())
        return stored and stored.total

    with pytest.raises(TransactionInvalid, match="more than 38 digits"):
        order_of_price("1" * 32)
    # Python's default context would round it to 28 digits.
    assert order_of_price("1" * 27 + ".12") == Decimal("11111111222222222222222222223111111.12")


def test_an_order_at_a_price_that_changes_meanwhile_is_not_placed(shop: Database) -> None:
    request = market.place_order(CART, OrderId.at(START), "2025-3")
    found = shop.run(request.first)
    dear = market.ProductChanges(price=Decimal("0.4"))
    shop.run(market.change_product(SELLER, APPLE, dear))
    before = shop.stored(market.table)
    with pytest.raises(TransactionFailed) as failure:
        shop.run(request.make(found))
    # The order, its three lines, and the checks of their products.
    assert reasons_of(failure) == [None] * 4 + [ConditionFailed, None, None, None]
    assert shop.stored(market.table) == before, "nothing of it was done"


def test_a_product_that_is_gone_cannot_be_ordered(shop: Database) -> None:
    shop.run(market.remove_product(SELLER, PEAR))
    with pytest.raises(NotFound, match=f"Product {PEAR} of {SELLER}: it does not exist"):
        shop.run(market.place_order(CART, OrderId.at(START), None))


def test_a_product_without_a_price_cannot_be_ordered(shop: Database) -> None:
    shop.run(Product(user=SELLER, product=PEAR).put())
    with pytest.raises(
        FieldNotRecorded, match=f"Product {PEAR} of {SELLER}: price is not recorded"
    ):
        shop.run(market.place_order(CART, OrderId.at(START), None))


def test_an_order_s_business_id_is_unique(shop: Database) -> None:
    other = Cart(user=ANOTHER, cart=CART.cart, lines={PEAR: LINES[PEAR]})
    shop.run(other.create())
    before = shop.stored(market.table)
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.place_order(other, OrderId.at(START), "2025-1"))
    assert reasons_of(failure) == [UniqueTaken, None, None, None]
    assert shop.stored(market.table) == before, "nothing of it was done"


def test_an_order_of_a_cart_that_was_changed_meanwhile_is_not_placed(shop: Database) -> None:
    shop.run(market.take_from_cart(RABINOVICH, CART.cart, APPLE))
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.place_order(CART, OrderId.at(START), None))
    assert reasons_of(failure) == [None] * 7 + [VersionConflict]


def test_an_order_too_large_for_one_transaction_is_refused() -> None:
    most = MAX_ORDER_LINES
    keys = [ProductId.at(START + day * DAY) for day in range(most + 1)]
    lines = {key: CartLine(seller=SELLER) for key in keys}
    cart = Cart(user=ANOTHER, cart=CART.cart, lines=lines)
    with pytest.raises(TransactionInvalid, match=f"of {most + 1} lines.*{most} lines fit"):
        market.place_order(cart, OrderId.at(START), None)
    del lines[keys[0]]
    fitting = cart.model_copy(update={"lines": lines})
    with database(market.table, LATE_EXPIRY) as shop:
        for key in keys:
            product = Product(user=SELLER, product=key, price=Decimal(1))
            shop.run(market.add_product(product))
        shop.run(fitting.create())
        shop.run(market.place_order(fitting, OrderId.at(START), "2025-3"))
        assert len(shop.run(OrderLine.query(user=ANOTHER))) == most


def test_an_empty_cart_cannot_be_ordered() -> None:
    with pytest.raises(TransactionInvalid, match="empty"):
        market.place_order(CART.model_copy(update={"lines": {}}), FIRST, None)


def test_release_an_order_number(shop: Database) -> None:
    released = shop.run(market.release_order_number(RABINOVICH, FIRST, "2025-1"))
    assert released.id is None
    check(shop, market.order_by_id("2025-1"), None)
    with pytest.raises(ConditionFailed):
        shop.run(market.release_order_number(RABINOVICH, FIRST, "2025-2"))
    again = OrderId.at(START)
    shop.run(market.place_order(CART, again, "2025-1"))
    check(shop, market.find_by_id("2025-1", "order"), order_of(again, "2025-1", "2.4"))


def test_cancel_an_order(shop: Database) -> None:
    follow(shop)
    shop.run(market.cancel_order(RABINOVICH, FIRST))
    cancelled = order_of(FIRST, "2025-1", "2.4").model_copy(update={"status": "cancelled"})
    check(shop, Order.get(user=RABINOVICH, order=FIRST), cancelled)
    check(shop, market.bills(RABINOVICH), [bill_of(SECOND, "0.5"), bill_of(FIRST, "2.4", "void")])
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.cancel_order(RABINOVICH, FIRST))
    assert reasons_of(failure) == [ConditionFailed, None]
    with pytest.raises(NotFound):
        shop.run(market.cancel_order(ANOTHER, FIRST))


def test_an_order_that_is_cancelled_before_it_is_billed_gets_a_void_bill(shop: Database) -> None:
    shop.run(market.cancel_order(RABINOVICH, FIRST))
    follow(shop)
    check(shop, market.bills(RABINOVICH), [bill_of(SECOND, "0.5"), bill_of(FIRST, "2.4", "void")])
    with pytest.raises(TransactionFailed):
        shop.run(market.pay_bill(payment_of(FIRST, "2.4")))


def test_an_order_that_is_paid_cannot_be_cancelled(shop: Database) -> None:
    follow(shop)
    shop.run(market.pay_bill(payment_of(FIRST, "2.4")))
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.cancel_order(RABINOVICH, FIRST))
    assert reasons_of(failure) == [None, ConditionFailed]


# Bills, payments and rewards.


def bill_of(order: OrderId, amount: str, status: Any = "open") -> BillSummary:
    bill = market.id_for(BillId, order)
    return BillSummary(bill=bill, order=order, amount=Decimal(amount), status=status)


def payment_of(order: OrderId, amount: str) -> Payment:
    return Payment(
        user=RABINOVICH,
        payment=market.id_for(PaymentId, order),
        bill=market.id_for(BillId, order),
        amount=Decimal(amount),
        card="…4242",
    )


def test_list_bills_of_user(shop: Database) -> None:
    follow(shop)
    check(shop, market.bills(RABINOVICH), [bill_of(SECOND, "0.5"), bill_of(FIRST, "2.4")])
    check(shop, market.bills(ANOTHER), [])


def test_pay_a_bill(shop: Database) -> None:
    follow(shop)
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.pay_bill(payment_of(FIRST, "2.3")))
    assert reasons_of(failure) == [ConditionFailed, None], "that is not its amount"
    shop.run(market.pay_bill(payment_of(FIRST, "2.4")))
    check(shop, market.bills(RABINOVICH), [bill_of(SECOND, "0.5"), bill_of(FIRST, "2.4", "paid")])
    again = payment_of(FIRST, "2.4").model_copy(update={"payment": PaymentId.at(START)})
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.pay_bill(again))
    assert reasons_of(failure) == [ConditionFailed, None], "a bill is paid once"
    check(
        shop,
        market.payments(RABINOVICH),
        [PaymentSummary(**payment_of(FIRST, "2.4").model_dump(exclude={"card"}))],
    )


UNPRICED = Order(user=ANOTHER, order=SECOND)


def test_record_the_total_of_an_order(shop: Database) -> None:
    shop.run(UNPRICED.put())
    recorded = shop.run(market.record_total(ANOTHER, SECOND, Decimal("2.40")))
    assert recorded == UNPRICED.model_copy(update={"total": Decimal("2.40")})
    with pytest.raises(ConditionFailed):
        shop.run(market.record_total(ANOTHER, SECOND, Decimal(0)))


def test_create_the_bill_of_an_order(shop: Database) -> None:
    amount = Decimal("2.40")
    shop.run(UNPRICED.put())
    with pytest.raises(TransactionFailed):
        shop.run(market.create_bill(ANOTHER, SECOND, amount))
    shop.run(market.record_total(ANOTHER, SECOND, amount))
    with pytest.raises(TransactionFailed):
        shop.run(market.create_bill(ANOTHER, SECOND, Decimal(0)))
    bill = Bill(user=ANOTHER, bill=market.id_for(BillId, SECOND), order=SECOND, amount=amount)
    assert shop.run(market.create_bill(ANOTHER, SECOND, amount)) == [bill, None]
    shop.run(market.cancel_order(ANOTHER, SECOND))
    with pytest.raises(TransactionFailed):
        shop.run(market.create_bill(ANOTHER, SECOND, amount))


REWARD = Reward(user=RABINOVICH, reward=RewardId("R#01JZ10H7X367VB2NF4YQ973DHY"), reason="x")


def test_change_a_reward(shop: Database) -> None:
    changes = RewardChanges(amount=Decimal(6))
    with pytest.raises(NotFound):
        shop.run(market.change_reward(RABINOVICH, REWARD.reward, changes))
    shop.run(market.grant_reward(REWARD))
    changed = shop.run(market.change_reward(RABINOVICH, REWARD.reward, changes))
    assert (changed.amount, changed.reason) == (Decimal(6), "x")


def test_revoke_a_reward(shop: Database) -> None:
    shop.run(market.grant_reward(REWARD))
    assert shop.run(market.revoke_reward(RABINOVICH, REWARD.reward)) == REWARD
    assert shop.run(market.revoke_reward(RABINOVICH, REWARD.reward)) is None


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


# What follows from orders and payments.


def test_a_placed_order_has_a_bill_and_a_paid_one_a_reward(shop: Database) -> None:
    done = follow(shop)
    assert (done.handled, done.dead_letters) == (4, 0)
    check(shop, market.bills(RABINOVICH), [bill_of(SECOND, "0.5"), bill_of(FIRST, "2.4")])
    check(shop, market.bonuses(RABINOVICH), [])
    shop.run(market.pay_bill(payment_of(FIRST, "2.4")))
    assert follow(shop).dead_letters == 0
    reward = Reward(
        user=RABINOVICH,
        reward=RewardId("R#01JZ10H7X367VB2NF4YQ973DHW"),
        amount=Decimal("0.12"),
        reason="order",
        order=FIRST,
    )
    check(shop, market.bonuses(RABINOVICH), [reward])


def test_an_order_has_one_bill_and_one_reward_however_often_it_is_seen(shop: Database) -> None:
    follow(shop)
    shop.run(market.pay_bill(payment_of(FIRST, "2.4")))
    follow(shop)
    before = keys_of(shop)
    bills = [bill_of(SECOND, "0.5"), bill_of(FIRST, "2.4", "paid")]
    for name in ("again", "and-again"):
        assert follow(shop, name).dead_letters == 0
        assert keys_of(shop) == before
        check(shop, market.bills(RABINOVICH), bills)


def test_a_paid_bill_that_is_changed_has_no_second_reward() -> None:
    paid = Bill(user=ANOTHER, bill=BillId.at(START), order=FIRST, amount=Decimal(10), status="paid")
    numbered = paid.model_copy(update={"id": "B-1"})
    assert market.reward_order(Change("changed", old=paid, new=numbered)) is None
    assert market.reward_order(Change("removed", old=paid)) is None
    assert market.reward_order(Change("inserted", new=paid)) is not None


def test_an_order_that_is_changed_or_deleted_produces_nothing_more(shop: Database) -> None:
    follow(shop)
    before = [each for each in keys_of(shop) if not each[1].startswith(SECOND)]
    shop.run(market.release_order_number(RABINOVICH, FIRST, "2025-1"))
    shop.run(Order.delete(user=RABINOVICH, order=SECOND))
    assert follow(shop).dead_letters == 0
    assert [each for each in keys_of(shop) if not each[1].startswith(SECOND)] == before


def test_rows_without_attributes_are_orders_and_lines(shop: Database) -> None:
    for sk in (FIRST, f"{FIRST}#001"):
        item = {"pk": {"S": f"U#{ANOTHER}#O"}, "sk": {"S": sk}}
        shop.execute("PutItem", {"TableName": "Market", "Item": item})
    order = Order(user=ANOTHER, order=FIRST, tp=None)
    check(shop, market.last_orders(ANOTHER, 5), [order])
    check(shop, OrderLine.query(user=ANOTHER), [OrderLine(user=ANOTHER, order=FIRST, line=1)])
    assert order.total is None, "not recorded"


def test_an_order_without_a_total_is_billed_when_it_has_one(
    shop: Database, caplog: pytest.LogCaptureFixture
) -> None:
    follow(shop)
    shop.run(Order(user=ANOTHER, order=FIRST).create())
    assert follow(shop).dead_letters == 1
    letters = shop.store.dead_letters(market.table)
    assert [each.attempts for each in letters] == [1], "a retry cannot help"
    [logged] = [each for each in caplog.records if each.levelname in ("WARNING", "ERROR")]
    assert "total is not recorded" in logged.getMessage()
    assert logged.exc_info is None
    assert [each.error for each in letters] == [
        (
            f"FieldNotRecorded: Order {FIRST} of {ANOTHER}: total is not recorded, and its bill "
            "needs it. Record it with the pattern Record the total of an order. [field-not-recorded]"
        )
    ]
    shop.run(market.record_total(ANOTHER, FIRST, Decimal(3)))
    shop.store.retry_dead_letters(market.table)
    follow(shop)
    assert shop.store.dead_letters(market.table) == []
    bill = Bill(user=ANOTHER, bill=market.id_for(BillId, FIRST), order=FIRST, amount=Decimal(3))
    check(shop, Bill.query(user=ANOTHER), [bill])


def test_a_bill_too_small_for_a_reward_has_none() -> None:
    bill = Bill(
        user=ANOTHER, bill=BillId.at(START), order=FIRST, amount=Decimal("0.19"), status="paid"
    )
    assert market.reward_order(Change("inserted", new=bill)) is None
