"""Users, addresses, products and accounts of the market, with consistent and stale reads."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

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
    Payment,
    PaymentId,
    Product,
    ProductChanges,
    ProductId,
    Reward,
    RewardId,
    User,
    UserChanges,
)
from keyfold.errors import (
    AlreadyExists,
    ConditionFailed,
    NotFound,
    OutOfBounds,
    TransactionFailed,
    UniqueTaken,
    WriteRefused,
)
from tests.unit.designs.market_shop import (
    ANOTHER,
    APPLE,
    DAY,
    FIRST,
    PEAR,
    PRODUCTS,
    RABINOVICH,
    SELLER,
    USER,
    check,
    guards_of,
    keys_of,
    open_shop,
    reasons_of,
)
from tests.unit.designs.stale_databases import LATE_EXPIRY, STALE_READS, START, Database

pytestmark = pytest.mark.all_transports

SHOP = AccountId("A#01JZ10H7X367VB2NF4YQ973DHW")


@pytest.fixture(params=[LATE_EXPIRY, STALE_READS], ids=["consistent", "stale"])
def shop(request: pytest.FixtureRequest) -> Iterator[Database]:
    with open_shop(request.param) as shop:
        yield shop


# Users.


def test_create_a_user(shop: Database) -> None:
    user = User(user=ANOTHER, id="ada@example.com", name="Ada")
    assert shop.run(market.create_user(user)) == user
    with pytest.raises(AlreadyExists):
        shop.run(market.create_user(user))
    check(shop, market.find_by_id("ada@example.com", "user"), user)
    with pytest.raises(WriteRefused, match="a new user has no account yet"):
        market.create_user(user.model_copy(update={"account": SHOP}))


def test_change_a_user(shop: Database) -> None:
    changed = shop.run(market.change_user(RABINOVICH, UserChanges(phones=["+1 555 0101"])))
    assert changed == USER.model_copy(update={"phones": ["+1 555 0101"]})
    with pytest.raises(NotFound):
        shop.run(market.change_user(ANOTHER, UserChanges(name="Ada")))


def test_change_the_business_id_of_a_user(shop: Database) -> None:
    shop.run(market.create_user(User(user=ANOTHER, id="ada@example.com")))
    with pytest.raises(UniqueTaken):
        shop.run(market.change_user_id(ANOTHER, "rabinovich@example.com"))
    changed = shop.run(market.change_user_id(RABINOVICH, "r@example.com"))
    check(shop, market.find_by_id("r@example.com", "user"), changed)
    assert "User r@example.com" in guards_of(shop)
    shop.run(market.change_user_id(ANOTHER, "rabinovich@example.com"))


def test_delete_a_user(shop: Database) -> None:
    shop.run(market.save_address(address_of(1)))
    shop.run(market.create_account(Account(account=SHOP)))
    shop.run(market.join_account(RABINOVICH, SHOP))
    orders = [key for key in keys_of(shop) if key[0] == "U#rabinovich#O"]
    shop.run(market.delete_user(RABINOVICH))
    left = [key for key in keys_of(shop) if not key[0].startswith(f"U#{SELLER}")]
    assert left == [(SHOP, SHOP), *orders]
    check(shop, market.user_profile(RABINOVICH), None)
    assert shop.run(market.delete_user(RABINOVICH)) is None
    assert guards_of(shop) == ["Order 2025-1", "Order 2025-2"]
    assert shop.run(market.delete_account(SHOP)) is not None


def address_of(number: int) -> Address:
    street = "Deribasovskaya"
    return Address(user=RABINOVICH, number=number, street=street, city="Odesa", country="UA")


def test_save_an_address(shop: Database) -> None:
    shop.run(market.save_address(address_of(1)))
    moved = address_of(1).model_copy(update={"street": "Primorsky Boulevard"})
    shop.run(market.save_address(moved))
    check(shop, Address.query(user=RABINOVICH), [moved])


def test_delete_an_address(shop: Database) -> None:
    shop.run(market.save_address(address_of(1)))
    assert shop.run(market.delete_address(RABINOVICH, 1)) == address_of(1)
    assert shop.run(market.delete_address(RABINOVICH, 1)) is None


# Products.


def test_add_a_product(shop: Database) -> None:
    fig = Product(user=ANOTHER, product=APPLE, id="FIG-1", name="Fig", price=Decimal(1))
    assert shop.run(market.add_product(fig)) == fig
    with pytest.raises(UniqueTaken):
        shop.run(market.add_product(fig.model_copy(update={"product": PEAR})))
    check(shop, market.find_by_id("FIG-1", "product"), fig)
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        Product(user=ANOTHER, product=PEAR, price=Decimal(-1))


def test_change_a_product(shop: Database) -> None:
    changed = shop.run(market.change_product(SELLER, APPLE, ProductChanges(price=Decimal("0.35"))))
    assert changed == PRODUCTS[APPLE].model_copy(update={"price": Decimal("0.35")})
    with pytest.raises(NotFound):
        shop.run(market.change_product(ANOTHER, APPLE, ProductChanges(name="Fig")))


def test_remove_a_product(shop: Database) -> None:
    assert shop.run(market.remove_product(SELLER, APPLE)) == PRODUCTS[APPLE]
    assert shop.run(market.remove_product(SELLER, APPLE)) is None


def test_list_products_of_a_seller(shop: Database) -> None:
    check(shop, market.products_of(SELLER), list(PRODUCTS.values()))
    check(shop, market.products_of(ANOTHER), [])


# Accounts.


def test_create_an_account(shop: Database) -> None:
    account = Account(account=SHOP, id="corner", name="Corner shop", users=7)
    made = shop.run(market.create_account(account))
    assert made.users == 0, "it has none yet"
    with pytest.raises(AlreadyExists):
        shop.run(market.create_account(account))
    other = account.model_copy(update={"account": AccountId.at(START)})
    with pytest.raises(UniqueTaken):
        shop.run(market.create_account(other))
    check(shop, market.find_by_id("corner", "account"), made)


def test_rename_an_account(shop: Database) -> None:
    with pytest.raises(NotFound):
        shop.run(market.rename_account(SHOP, "Kiosk"))
    shop.run(market.create_account(Account(account=SHOP)))
    assert shop.run(market.rename_account(SHOP, "Kiosk")).name == "Kiosk"


def test_add_a_user_to_an_account(shop: Database) -> None:
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.join_account(RABINOVICH, SHOP))
    assert reasons_of(failure) == [None, None, NotFound]
    shop.run(market.create_account(Account(account=SHOP)))
    shop.run(market.join_account(RABINOVICH, SHOP))
    check(shop, User.get(user=RABINOVICH), USER.model_copy(update={"account": SHOP}))
    check(shop, Account.get(account=SHOP), Account(account=SHOP, users=1))
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.join_account(RABINOVICH, SHOP))
    assert reasons_of(failure) == [None, AlreadyExists, None]


def test_list_users_of_an_account(shop: Database) -> None:
    shop.run(market.create_account(Account(account=SHOP)))
    shop.run(market.create_user(User(user=ANOTHER)))
    for user in (RABINOVICH, ANOTHER):
        shop.run(market.join_account(user, SHOP))
    members = [AccountMember(account=SHOP, user=user) for user in (ANOTHER, RABINOVICH)]
    check(shop, market.users_of_account(SHOP), members)
    check(shop, market.users_of_account(AccountId.at(START)), [])
    check(shop, market.find_by_key("U#rabinovich"), USER.model_copy(update={"account": SHOP}))


def test_remove_a_user_from_an_account(shop: Database) -> None:
    shop.run(market.create_account(Account(account=SHOP)))
    shop.run(market.join_account(RABINOVICH, SHOP))
    shop.run(market.leave_account(RABINOVICH, SHOP))
    check(shop, User.get(user=RABINOVICH), USER)
    check(shop, market.users_of_account(SHOP), [])
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.leave_account(RABINOVICH, SHOP))
    assert reasons_of(failure) == [None, ConditionFailed, OutOfBounds]


def test_what_users_write_about_their_account_does_not_count(shop: Database) -> None:
    other = AccountId.at(START)
    for account in (SHOP, other):
        shop.run(market.create_account(Account(account=account)))
    shop.run(market.join_account(RABINOVICH, SHOP))
    shop.run(market.create_user(User(user=ANOTHER)))
    # A customer may write to the profile: this one claims an account, and that one forgets it.
    shop.run(User.update(user=ANOTHER).set(User.f.account, SHOP))
    shop.run(User.update(user=RABINOVICH).remove(User.f.account))
    with pytest.raises(TransactionFailed):
        shop.run(market.leave_account(ANOTHER, SHOP))
    with pytest.raises(TransactionFailed) as failure:
        shop.run(market.join_account(RABINOVICH, other))
    assert reasons_of(failure) == [None, UniqueTaken, None]
    shop.run(market.delete_user(ANOTHER))
    check(shop, Account.get(account=SHOP), Account(account=SHOP, users=1))
    shop.run(market.leave_account(RABINOVICH, SHOP))
    shop.run(market.join_account(RABINOVICH, other))
    check(shop, market.users_of_account(SHOP), [])


def test_delete_an_account(shop: Database) -> None:
    shop.run(market.create_account(Account(account=SHOP, id="corner")))
    shop.run(market.join_account(RABINOVICH, SHOP))
    with pytest.raises(ConditionFailed):
        shop.run(market.delete_account(SHOP))
    shop.run(market.leave_account(RABINOVICH, SHOP))
    assert shop.run(market.delete_account(SHOP)) is not None
    assert "Account corner" not in guards_of(shop)


# Business ids.


def items_with(id: str, number: int) -> list[Any]:  # noqa: A002 - the document's term
    user, at = f"user{number}", START + number * DAY
    bill = BillId.at(at)
    return [
        Account(account=AccountId.at(at), id=id),
        Bill(user=user, bill=bill, id=id, order=FIRST, amount=Decimal(1)),
        Cart(user=user, cart=CartId.at(at), id=id),
        Order(user=user, order=OrderId.at(at), id=id),
        Payment(user=user, payment=PaymentId.at(at), id=id, bill=bill, amount=Decimal(1)),
        Product(user=user, product=ProductId.at(at), id=id),
        Reward(user=user, reward=RewardId.at(at), id=id),
        User(user=user, id=id),
    ]


def test_a_business_id_is_taken_once_by_each_type(shop: Database) -> None:
    items = items_with("X", 1)
    assert {each.tp for each in items} == {
        *("account", "bill", "cart", "order", "payment", "product", "reward", "user")
    }
    for item in items:
        shop.run(item.create())
    for item in items_with("X", 2):
        without: Any = item.model_copy(update={"id": None})
        for attempt in (item.create(), item.put(), without.create(), without.change(id="X")):
            if attempt.changes_unique:
                with pytest.raises(UniqueTaken):
                    shop.run(attempt)
            else:
                shop.run(attempt)
    for item in items:
        check(shop, market.find_by_id("X", item.tp), item)
