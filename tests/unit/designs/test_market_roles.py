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
    Payment,
    PaymentId,
    PaymentSummary,
    Product,
    ProductId,
    Reward,
    RewardId,
    User,
)
from keyfold.errors import AccessDenied, PrincipalInvalid, UniqueTaken

ULID = "01JZ10H7X367VB2NF4YQ973DH"
APPLE = ProductId(f"I#{ULID}W")
LINE = CartLine(seller="bob", quantity=3)
HERS, HIS = OrderId(f"O#{ULID}A"), OrderId(f"O#{ULID}B")
CARTS = {
    user: Cart(user=user, cart=CartId(f"C#{ULID}W"), lines={APPLE: LINE}) for user in ("ada", "bob")
}
REWARD = RewardId(f"R#{ULID}W")
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
        for user in ("ada", "bob"):
            store.run(User(user=user, id=f"{user}@example.com", name=user.title()).create())
            store.run(
                Product(user=user, product=APPLE, name="Apple", price=Decimal("0.3")).create()
            )
        for user, order, number in (("ada", HERS, "2026-1"), ("bob", HIS, "2026-2")):
            store.run(CARTS[user].create())
            store.run(market.place_order(CARTS[user], order, number))
            store.run(CARTS[user].put())
            store.run(Reward(user=user, reward=REWARD, amount=Decimal("0.04")).create())
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
        market.change_user(user, market.UserChanges(phones=["+1 555 0100"])),
        market.create_cart(user, CartId.new()),
        market.delete_cart(user, CartId.new()),
        market.save_address(home),
        market.delete_address(user, 1),
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
        market.cancel_order("ada", HERS),
        market.pay_bill(PAYMENT),
        market.grant_reward(reward),
        reward.replace(),
        Reward.delete(user="ada", reward=reward.reward),
    )


def test_a_customer_does_not_choose_business_ids(store: Store, ada: Store) -> None:
    mine = User(user="ada", id="bob@example.com")
    deny(
        ada,
        market.change_user_id("ada", "eve@example.com"),
        mine.put(),
        mine.model_copy(update={"id": "eve@example.com"}).create(),
        User.delete(user="ada"),
    )
    found = store.run(market.find_by_id("bob@example.com", "user"))
    assert found.user == "bob"
    eve = store.as_principal("customer", user="eve")
    assert eve.run(market.create_user(User(user="eve"))).id is None
    # A cart may have one, and nobody takes another's.
    ada.run(CARTS["ada"].change(id="C-1"))
    bob = store.as_principal("customer", user="bob")
    with pytest.raises(UniqueTaken):
        bob.run(CARTS["bob"].change(id="C-1"))


def test_a_customer_sets_no_prices(ada: Store, store: Store) -> None:
    free = market.ProductChanges(price=Decimal(0))
    deny(ada, market.change_product("bob", APPLE, free))
    cart = ada.run(market.put_in_cart("ada", CARTS["ada"].cart, APPLE, LINE))
    order = OrderId.new()
    store.as_principal("fulfilment").run(market.place_order(cart, order, None))
    placed = store.run(Order.get(user="ada", order=order))
    assert placed is not None
    assert placed.total == Decimal("0.9"), "that is the seller's price"


def test_a_customer_may_not_use_bills_sales_and_accounts(ada: Store) -> None:
    deny(
        ada,
        Bill.query(user="ada"),
        market.payments("ada"),
        Product.query(user="ada"),
        Account.get(account=AccountId(f"A#{ULID}W")),
        market.users_of_account(AccountId(f"A#{ULID}W")),
        market.join_account("ada", AccountId(f"A#{ULID}W")),
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
    seller.run(market.change_product("ada", pear.product, market.ProductChanges(name="A pear")))
    seller.run(market.add_product(pear.model_copy(update={"product": ProductId.new(), "id": "P"})))
    assert len(visitor.run(market.products_of("ada"))) == 3
    assert len(visitor.run(market.products_of("bob"))) == 1
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


def test_fulfilment_bills_rewards_and_cancels(store: Store) -> None:
    fulfilment = store.as_principal("fulfilment")
    order = Order(user="eve", order=OrderId.new(), total=Decimal(10))
    request = market.bill_order(Change("inserted", new=order))
    assert isinstance(request, Request)
    fulfilment.run(request)
    [bill] = fulfilment.run(market.bills("eve"))
    paid = Payment(user="eve", payment=PaymentId.new(), bill=bill.bill, amount=Decimal(10))
    fulfilment.run(market.pay_bill(paid))
    stored = fulfilment.run(Bill.get(user="eve", bill=bill.bill))
    assert stored is not None
    request = market.reward_order(Change("changed", new=stored))
    assert isinstance(request, Request)
    fulfilment.run(request)
    assert len(fulfilment.run(market.bonuses("eve"))) == 1
    fulfilment.run(market.cancel_order("bob", HIS))


def test_registration_creates_users_and_accounts(store: Store) -> None:
    registration = store.as_principal("registration")
    account = AccountId(f"A#{ULID}W")
    registration.run(market.create_user(User(user="eve", id="eve@example.com")))
    registration.run(market.join_account("eve", account))
    assert len(registration.run(market.users_of_account(account))) == 1
    registration.run(market.delete_user("eve"))
    registration.run(market.rename_account(account, "Analysts & Co"))
    registration.run(market.delete_account(account))
    deny(registration, market.last_orders("ada", 1), market.bills("ada"), market.products_of("ada"))


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
    assert len(support.run(market.bills("ada"))) == 1
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
