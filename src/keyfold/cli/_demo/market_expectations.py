"""What the patterns of the market must return for the data set of its demo."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from keyfold.cli._demo.data_set import DataGenerator, DataSet
from keyfold.designs import market
from keyfold.designs.market import (
    Account,
    AccountId,
    AccountMember,
    Address,
    Bill,
    BillId,
    BillSummary,
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    OrderLine,
    OrderWithLines,
    Payment,
    PaymentId,
    PaymentSummary,
    Product,
    ProductChanges,
    ProductId,
    Reward,
    RewardChanges,
    RewardId,
    User,
    UserChanges,
    UserProfile,
)
from keyfold.errors import (
    AlreadyExists,
    ConditionFailed,
    NotFound,
    TransactionFailed,
    UniqueTaken,
)

_DAY = timedelta(days=1)


def order_items(
    user: str,
    order: OrderId,
    number: str,
    lines: Mapping[ProductId, CartLine],
    products: Mapping[ProductId, Product],
) -> tuple[Order, *tuple[OrderLine, ...]]:
    """Return the items of an order: the order and its lines, at the prices of products."""
    made = [
        OrderLine(
            user=user,
            order=order,
            line=place,
            product=product,
            seller=line.seller,
            name=products[product].name,
            price=products[product].price,
            quantity=line.quantity,
        )
        for place, (product, line) in enumerate(sorted(lines.items()), start=1)
    ]
    total = sum(
        (each.price * each.quantity for each in made if each.price and each.quantity), Decimal()
    )
    return (Order(user=user, order=order, id=number, total=total), *made)


def expect_reads(data: DataSet, name: str, account: AccountId) -> None:
    """Add the cases of patterns that read, for one user and an account of all users."""
    user = next(each for each in data.find(User) if each.user == name)
    homes = [each for each in data.find(Address) if each.user == name]
    carts = [each for each in data.find(Cart) if each.user == name]
    orders = [each for each in data.find(Order) if each.user == name]
    rewards = [each for each in data.find(Reward) if each.user == name]
    profile = UserProfile(user=user, addresses=homes, carts=carts)
    data.expect(market.user_profile, profile, user=name)
    data.expect(market.user_profile, None, user="nobody")
    data.expect(market.last_orders, orders[:-11:-1], user=name, count=10)
    data.expect(market.bonuses, rewards[::-1], user=name)
    order = orders[3]
    lines = [each for each in data.find(OrderLine) if each.order == order.order]
    found = OrderWithLines(order=order, lines=lines)
    data.expect(market.order_by_id, found, id=order.id)
    data.expect(market.order_by_id, None, id="1999-1")
    data.expect(market.find_by_key, order, key=order.order)
    data.expect(market.find_by_key, lines[0], key=f"{order.order}#001")
    expired = next(each for each in data.find_expired(Cart) if each.user == name)
    data.expect(market.find_by_key, None, key=expired.cart)
    bill = next(each for each in data.find(Bill) if each.order == order.order)
    data.expect(market.find_by_id, bill, id=bill.id, tp="bill")
    since, until = data.now - 200 * _DAY, data.now - 60 * _DAY
    between = [each for each in orders if since <= each.order.time <= until]
    data.expect(market.orders_between, between, user=name, since=since, until=until)
    _expect_lists(data, name, account)


def _expect_lists(data: DataSet, name: str, account: AccountId) -> None:
    paid = [
        PaymentSummary(payment=each.payment, bill=each.bill, amount=each.amount)
        for each in data.find(Payment)
        if each.user == name
    ]
    data.expect(market.payments, paid[::-1], user=name)
    billed = [
        BillSummary.model_validate(each, from_attributes=True)
        for each in data.find(Bill)
        if each.user == name
    ]
    data.expect(market.bills, billed[::-1], user=name)
    sold = [each for each in data.find(Product) if each.user == name]
    data.expect(market.products_of, sold, user=name)
    data.expect(market.users_of_account, data.find(AccountMember), account=account)


def expect_writes(data: DataSet, generator: DataGenerator, name: str) -> None:
    """Add the cases of patterns that write."""
    _expect_carts(data, generator, name)
    _expect_orders(data, generator, name)
    _expect_bills(data, name)
    _expect_payments(data, generator, name)
    _expect_rewards(data, generator, name)
    _expect_products(data, generator, name)
    _expect_users(data)
    _expect_accounts(data, generator)


def _expect_carts(data: DataSet, generator: DataGenerator, name: str) -> None:
    cart = next(each for each in data.find(Cart) if each.user == name)
    product = next(each for each in data.find(Product) if each.product not in cart.lines)
    line = CartLine(seller=product.user, quantity=2)
    fuller = cart.model_copy(update={"lines": {**cart.lines, product.product: line}})
    its = {"user": name, "cart": cart.cart}
    data.expect(market.put_in_cart, fuller, **its, product=product.product, line=line)
    nobody = {**its, "user": "nobody", "product": product.product, "line": line}
    data.expect(market.put_in_cart, NotFound, **nobody)
    taken = min(cart.lines)
    rest = {each: fuller.lines[each] for each in fuller.lines if each != taken}
    fewer = fuller.model_copy(update={"lines": rest})
    data.expect(market.take_from_cart, fewer, **its, product=taken)
    data.put(fewer)
    empty = Cart(user=name, cart=generator.ulid(CartId, data.now))
    data.expect(market.create_cart, empty, user=name, cart=empty.cart)
    data.expect(market.create_cart, AlreadyExists, user=name, cart=empty.cart)
    data.expect(market.delete_cart, empty, user=name, cart=empty.cart)
    data.expect(market.delete_cart, None, user=name, cart=empty.cart)


def _expect_orders(data: DataSet, generator: DataGenerator, name: str) -> None:
    cart = next(each for each in data.find(Cart) if each.user == name)
    products = {each.product: each for each in data.find(Product)}
    key = generator.ulid(OrderId, data.now)
    placed = order_items(name, key, "2026-9001", cart.lines, products)
    given = {"cart": cart, "order": key, "id": "2026-9001"}
    checks = [None for _ in cart.lines]
    data.expect(market.place_order, [*placed, *checks, None], **given)
    data.expect(market.place_order, TransactionFailed, **given)
    data.put(*placed, cart.model_copy(update={"lines": {}}))
    data.expect(market.last_orders, [placed[0]], user=name, count=1)
    # It has no bill yet, so cancelling it creates a void one.
    void = Bill(
        user=name,
        bill=market.id_for(BillId, key),
        order=key,
        amount=placed[0].total or Decimal(),
        status="void",
    )
    data.expect(market.cancel_order, [None, void], user=name, order=key)
    data.expect(market.cancel_order, TransactionFailed, user=name, order=key)
    data.put(placed[0].model_copy(update={"status": "cancelled"}), void)
    first = next(each for each in data.find(Order) if each.user == name and each.id is not None)
    released = first.model_copy(update={"id": None})
    which = {"user": name, "order": first.order, "id": first.id}
    data.expect(market.release_order_number, released, **which)
    data.expect(market.release_order_number, ConditionFailed, **which)
    data.put(released)
    data.expect(market.order_by_id, None, id=first.id)


def _expect_bills(data: DataSet, name: str) -> None:
    # An order of the time before totals were recorded.
    order = next(each for each in data.find(Order) if each.total is None)
    its: dict[str, Any] = {"user": name, "order": order.order}
    recorded = order.model_copy(update={"total": Decimal("12.50")})
    data.expect(market.record_total, recorded, **its, total=Decimal("12.50"))
    data.expect(market.record_total, ConditionFailed, **its, total=Decimal(0))
    data.put(recorded)
    bill = Bill(
        user=name,
        bill=market.id_for(BillId, order.order),
        order=order.order,
        amount=Decimal("12.50"),
    )
    data.expect(market.create_bill, [bill, None], **its, amount=bill.amount)
    data.expect(market.create_bill, TransactionFailed, **its, amount=bill.amount)
    data.put(bill)


def _expect_payments(data: DataSet, generator: DataGenerator, name: str) -> None:
    bill = next(each for each in data.find(Bill) if each.status == "open")
    payment = Payment(
        user=bill.user,
        payment=generator.ulid(PaymentId, data.now),
        bill=bill.bill,
        amount=bill.amount,
    )
    less = payment.model_copy(update={"amount": bill.amount - 1})
    data.expect(market.pay_bill, [None, payment], payment=payment)
    data.expect(market.pay_bill, TransactionFailed, payment=less)
    data.expect(market.pay_bill, TransactionFailed, payment=payment)
    data.put(bill.model_copy(update={"status": "paid"}), payment)
    paid = next(each for each in data.find(Bill) if each.user == name and each.status == "paid")
    data.expect(market.cancel_order, TransactionFailed, user=name, order=paid.order)


def _expect_rewards(data: DataSet, generator: DataGenerator, name: str) -> None:
    reward = Reward(
        user=name,
        reward=generator.ulid(RewardId, data.now),
        amount=Decimal(5),
        reason="Tenth order",
    )
    data.expect(market.grant_reward, reward, reward=reward)
    data.expect(market.grant_reward, AlreadyExists, reward=reward)
    data.put(reward)
    rewards = [each for each in data.find(Reward) if each.user == name]
    data.expect(market.bonuses, rewards[::-1], user=name)
    its: dict[str, Any] = {"user": name, "reward": reward.reward}
    more = reward.model_copy(update={"amount": Decimal(6)})
    data.expect(market.change_reward, more, **its, changes=RewardChanges(amount=Decimal(6)))
    data.expect(market.revoke_reward, more, **its)
    data.expect(market.revoke_reward, None, **its)
    data.expect(market.change_reward, NotFound, **its, changes=RewardChanges(reason="None"))
    data.drop(more)


def _expect_products(data: DataSet, generator: DataGenerator, name: str) -> None:
    clock = Product(
        user=name,
        product=generator.ulid(ProductId, data.now),
        id="SKU-1",
        name="Clock",
        price=Decimal(80),
    )
    data.expect(market.add_product, clock, product=clock)
    data.put(clock)
    other = generator.ulid(ProductId, data.now)
    data.expect(
        market.add_product, UniqueTaken, product=clock.model_copy(update={"product": other})
    )
    cheaper = clock.model_copy(update={"price": Decimal(75)})
    its: dict[str, Any] = {"user": name, "product": clock.product}
    changes = ProductChanges(price=Decimal(75))
    data.expect(market.change_product, cheaper, **its, changes=changes)
    data.put(cheaper)
    data.expect(market.find_by_id, cheaper, id="SKU-1", tp="product")
    data.expect(market.remove_product, cheaper, **its)
    data.expect(market.remove_product, None, **its)
    data.drop(cheaper)


def _expect_users(data: DataSet) -> None:
    user = User(user="eve", id="eve@example.com", name="Eve")
    data.expect(market.create_user, user, user=user)
    data.expect(market.create_user, AlreadyExists, user=user)
    changed = user.model_copy(update={"phones": ["+1 555 0100"]})
    changes = UserChanges(phones=["+1 555 0100"])
    data.expect(market.change_user, changed, user="eve", changes=changes)
    data.expect(market.change_user, NotFound, user="nobody", changes=changes)
    renamed = changed.model_copy(update={"id": "eve@example.org"})
    data.expect(market.change_user_id, renamed, user="eve", id="eve@example.org")
    data.expect(market.change_user_id, UniqueTaken, user="eve", id="rabinovich@example.com")
    home = Address(user="eve", number=1, street="2 Market Street", city="Graz", country="AT")
    data.expect(market.save_address, home, address=home)
    data.expect(market.delete_address, home, user="eve", number=1)
    data.expect(market.delete_address, None, user="eve", number=1)
    data.put(renamed)


def _expect_accounts(data: DataSet, generator: DataGenerator) -> None:
    account = Account(account=generator.ulid(AccountId, data.now), id="acc-2", name="Kiosk")
    key = account.account
    data.expect(market.create_account, account, account=account)
    renamed = account.model_copy(update={"name": "Kiosk 2"})
    data.expect(market.rename_account, renamed, account=key, name="Kiosk 2")
    member = AccountMember(account=key, user="eve")
    data.expect(market.join_account, [None, member, None], user="eve", account=key)
    data.expect(market.users_of_account, [member], account=key)
    data.expect(market.leave_account, [None, None, None], user="eve", account=key)
    data.expect(market.leave_account, TransactionFailed, user="eve", account=key)
    data.expect(market.delete_account, renamed, account=key)
    full = next(each for each in data.find(Account) if each.users)
    data.expect(market.delete_account, ConditionFailed, account=full.account)
    user = next(each for each in data.find(User) if each.user == "eve")
    # Deleting a user who is in an account.
    data.expect(market.create_account, account, account=account)
    data.expect(market.join_account, [None, member, None], user="eve", account=key)
    data.expect(market.delete_user, [None, None, None], user="eve")
    data.expect(market.delete_user, None, user="eve")
    data.expect(market.delete_account, account, account=key)
    data.drop(user)
