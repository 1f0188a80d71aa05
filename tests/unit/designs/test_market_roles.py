"""Who may do what in the market, on every access pattern."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import keyfold
from keyfold import Change, Request, Store, batch, transaction
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
    OrderNumber,
    Payment,
    PaymentId,
    PaymentSummary,
    Product,
    ProductId,
    Reward,
    User,
)
from keyfold.errors import AccessDenied, PrincipalInvalid

ULID = "01JZ10H7X367VB2NF4YQ973DH"
APPLE = ProductId(f"I#{ULID}W")
LINE = CartLine(name="Apple", price=Decimal("0.30"), quantity=3)
HERS, HIS = OrderId(f"O#{ULID}A"), OrderId(f"O#{ULID}B")
CARTS = {
    user: Cart(user=user, cart=CartId(f"C#{ULID}W"), lines={APPLE: LINE}) for user in ("ada", "bob")
}
PAYMENT = Payment(
    user="ada",
    payment=PaymentId(f"P#{ULID}W"),
    bill=BillId(f"B#{ULID}A"),
    amount=Decimal("0.9"),
    card="…4242",
    holder="A. Lovelace",
)


@pytest.fixture
def store() -> Iterator[Store]:
    with keyfold.open(market.table, ":memory:", upkeep_seconds=None) as store:
        for user, order, number in (("ada", HERS, "2026-1"), ("bob", HIS, "2026-2")):
            store.run(User(user=user, id=f"{user}@example.com", name=user.title()).create())
            store.run(CARTS[user].create())
            store.run(market.place_order(CARTS[user], order, number))
            store.run(CARTS[user].put())
            store.run(
                Product(user=user, product=APPLE, name="Apple", price=Decimal("0.3")).create()
            )
        store.run(PAYMENT.create())
        store.run(Account(account=AccountId(f"A#{ULID}W"), name="Analysts").create())
        store.follow(market.table, until_caught_up=True)
        yield store


@pytest.fixture
def ada(store: Store) -> Store:
    return store.as_principal("customer", user="ada")


def deny(store: Store, *requests: Request[Any]) -> None:
    for each in requests:
        with pytest.raises(AccessDenied) as caught:
            store.run(each)
        assert "bob" not in str(caught.value)


def profile_requests(user: str) -> list[Request[Any]]:
    cart = CARTS[user].cart
    home = Address(user=user, number=1, street="St James's Square", city="London", country="UK")
    return [
        market.user_profile(user),
        home.put(),
        home.create().or_get(),
        Address.delete(user=user, number=1),
        User.update(user=user).set(User.f.name, "A"),
        market.put_in_cart(user, cart, APPLE, LINE),
        market.take_from_cart(user, cart, APPLE),
        batch([home.put(), User.get(user=user)]),
        transaction(CARTS[user].put(), home.put()),
    ]


def test_a_customer_reads_and_writes_the_profile_and_the_cart(ada: Store) -> None:
    for request in profile_requests("ada"):
        ada.run(request)
    deny(ada, *profile_requests("bob"))


def test_a_customer_reads_orders_and_rewards(ada: Store) -> None:
    assert [each.order for each in ada.run(market.last_orders("ada", 5))] == [HERS]
    assert [each.amount for each in ada.run(market.bonuses("ada"))] == [Decimal("0.04")]
    deny(ada, market.last_orders("bob", 5), market.bonuses("bob"))


def test_a_customer_writes_no_orders_and_no_rewards(ada: Store) -> None:
    order = Order(user="ada", order=OrderId.new(), total=Decimal(1))
    [reward] = ada.run(market.bonuses("ada"))
    deny(
        ada,
        order.create(),
        Order.update(user="ada", order=HERS).set(Order.f.total, Decimal(0)),
        Order.delete(user="ada", order=HERS),
        market.place_order(CARTS["ada"], OrderId.new(), "2026-3"),
        market.release_order_number("ada", HERS, "2026-1"),
        market.grant_reward(reward),
        reward.replace(),
        Reward.delete(user="ada", reward=reward.reward),
    )


def test_a_customer_may_not_use_bills_sales_and_accounts(ada: Store) -> None:
    deny(
        ada,
        Bill.query(user="ada"),
        market.payments("ada"),
        Product.query(user="ada"),
        Account.get(account=AccountId(f"A#{ULID}W")),
        OrderNumber.get(id="2026-1"),
        market.table.query(market.by_id, id="ada@example.com", tp="user").first(),
        market.table.scan(),
    )


def test_an_order_is_found_by_its_id_only_by_its_owner(store: Store, ada: Store) -> None:
    bob = store.as_principal("customer", user="bob")
    found = ada.run(market.order_by_id("2026-1"))
    assert found is not None
    assert found == store.run(market.order_by_id("2026-1"))
    assert bob.run(market.order_by_id("2026-1")) is None
    assert bob.run(market.order_by_id("2026-9")) is None
    assert ada.run(market.find_by_key(str(HERS))) == found.order
    assert ada.run(market.find_by_key(str(HIS))) is None
    assert ada.run(market.find_by_key(f"O#{ULID}Z")) is None
    # Their own items that their role may not read count as absent, too.
    assert ada.run(market.find_by_key(str(PAYMENT.payment))) is None


def test_a_lookup_by_business_id_finds_what_a_role_may_read(store: Store, ada: Store) -> None:
    user = store.run(User.get(user="ada"))
    for role in ("customer", "fulfilment", "support"):
        ids = {"user": "ada"} if role == "customer" else {}
        principal = store.as_principal(role, **ids)
        assert principal.run(market.find_by_id("ada@example.com", "user")) == user, role
    seller = store.as_principal("seller", user="ada")
    assert seller.run(market.find_by_id("ada@example.com", "user")) is None
    both = store.as_principal("seller", "customer", user="ada")
    assert both.run(market.find_by_id("ada@example.com", "user")) == user
    assert ada.run(market.find_by_id("bob@example.com", "user")) is None
    assert ada.run(market.find_by_id("eve@example.com", "user")) is None


def test_the_reverse_index_shows_users_themselves(ada: Store) -> None:
    [found] = ada.run(User.query(market.by_key, user="ada").refs())
    assert found.user == "ada"
    deny(ada, User.query(market.by_key, user="bob").refs())
    deny(ada, market.table.query(market.by_key, sk=str(HERS)).refs())


def test_sellers_have_their_products_and_visitors_see_everybodys(store: Store) -> None:
    seller, visitor = store.as_principal("seller", user="ada"), store.as_principal("visitor")
    pear = Product(user="ada", product=ProductId.new(), name="Pear", price=Decimal("0.5"))
    seller.run(pear.create())
    deny(seller, pear.model_copy(update={"user": "bob"}).create(), User.get(user="ada"))
    assert len(visitor.run(Product.query(user="ada"))) == 2
    assert len(visitor.run(Product.query(user="bob"))) == 1
    deny(visitor, pear.put(), User.get(user="ada"))


def test_fulfilment_places_orders(store: Store) -> None:
    fulfilment = store.as_principal("fulfilment")
    for user, number in (("ada", "2026-3"), ("bob", "2026-4")):
        profile = fulfilment.run(market.user_profile(user))
        assert profile is not None
        order = OrderId.new()
        fulfilment.run(market.place_order(profile.carts[0], order, number))
        fulfilment.run(market.release_order_number(user, order, number))
        assert fulfilment.run(Cart.get(user=user, cart=CARTS[user].cart)) == CARTS[user].model_copy(
            update={"lines": {}}
        )


def test_fulfilment_runs_what_follows_from_an_order(store: Store) -> None:
    fulfilment = store.as_principal("fulfilment")
    order = Order(user="eve", order=OrderId.new(), total=Decimal(10))
    change = Change("inserted", new=order)
    for react in (market.bill_order, market.reward_order):
        request = react(change)
        assert isinstance(request, Request)
        fulfilment.run(request)
    assert len(fulfilment.run(market.bonuses("eve"))) == 1
    assert len(fulfilment.run(Bill.query(user="eve"))) == 1


def test_fulfilment_may_not_create_users_or_delete_payments(store: Store) -> None:
    deny(
        store.as_principal("fulfilment"),
        User(user="eve", name="Eve").create(),
        User.delete(user="ada"),
        Payment.delete(user="ada", payment=PAYMENT.payment),
        Product.delete(user="ada", product=APPLE),
        Account.get(account=AccountId(f"A#{ULID}W")),
    )


def test_support_reads_everything_but_payment_details(store: Store) -> None:
    support = store.as_principal("support")
    for user in ("ada", "bob"):
        assert support.run(market.user_profile(user)) is not None
        assert len(support.run(market.last_orders(user, 5))) == 1
        assert len(support.run(market.bonuses(user))) == 1
    assert support.run(market.order_by_id("2026-2")) is not None
    assert support.run(Account.get(account=AccountId(f"A#{ULID}W"))) is not None
    assert support.run(OrderNumber.get(id="2026-1")) is not None
    assert support.run(market.payments("ada")) == [
        PaymentSummary(payment=PAYMENT.payment, bill=PAYMENT.bill, amount=PAYMENT.amount)
    ]
    deny(
        support,
        Payment.get(user="ada", payment=PAYMENT.payment),
        Payment.query(user="ada"),
        market.table.query(pk="U#ada#B"),
        market.payments("ada").where(Payment.f.card.eq("…4242")),
        market.table.scan(),
    )
    assert support.run(market.find_by_key(str(PAYMENT.payment))) is None


def test_support_changes_nothing(store: Store) -> None:
    deny(
        store.as_principal("support"),
        User.update(user="ada").set(User.f.name, "A"),
        CARTS["ada"].put(),
        Order.delete(user="ada", order=HERS),
        transaction(User.check(User.f.name.eq("Ada"), user="ada"), CARTS["ada"].put()),
    )


def test_a_user_id_with_a_delimiter_is_refused(store: Store) -> None:
    with pytest.raises(PrincipalInvalid):
        store.as_principal("customer", user="ada#O")
