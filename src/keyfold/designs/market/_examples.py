"""Example items: a customer with an order that is billed and paid, a seller, and an account."""

from __future__ import annotations

from decimal import Decimal

from keyfold import Entity
from keyfold.designs.market._handlers import id_for
from keyfold.designs.market._items import (
    Account,
    AccountId,
    AccountMember,
    Address,
    Bill,
    BillId,
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    OrderLine,
    Payment,
    PaymentId,
    Product,
    ProductId,
    Reward,
    RewardId,
    User,
    table,
)

_BUYER, _SELLER, _GUEST = "rabinovich", "eve", "kim"
_PRICE = Decimal("0.30")


@table.examples
def make_examples() -> list[Entity]:
    """Return two orders of a customer, one paid and one open, and all that belongs to them."""
    account, empty = (
        AccountId("A#01JZ10H7X367VB2NF4YQ973DHW"),
        AccountId("A#01JZ10H7X367VB2NF4YQ973DHX"),
    )
    apple = ProductId("I#01JZ10H7X367VB2NF4YQ973DHY")
    return [
        User(
            user=_BUYER, id="1001", name="Rabinovich", phones=["+44 20 7946 0018"], account=account
        ),
        Address(user=_BUYER, number=1, street="1 Deribasivska St", city="Odesa", country="UA"),
        Cart(
            user=_BUYER,
            cart=CartId("C#01JZ10H7X367VB2NF4YQ973DHV"),
            lines={apple: CartLine(seller=_SELLER, quantity=3)},
        ),
        *_make_order(apple, OrderId("O#01JZ10H7X367VB2NF4YQ973DHW"), "2025-0001", is_paid=True),
        *_make_order(apple, OrderId("O#01JZ10H7X367VB2NF4YQ973DXZ"), "2025-0002", is_paid=False),
        # An order that has no total yet.
        Order(user=_GUEST, order=OrderId("O#01JZ10H7X367VB2NF4YQ973E0A")),
        # An order that has no bill yet.
        Order(user=_SELLER, order=OrderId("O#01JZ10H7X367VB2NF4YQ973E0C"), total=_PRICE),
        User(user=_SELLER, id="1002", name="Eve"),
        User(user=_GUEST, name="Kim"),
        Product(user=_SELLER, product=apple, id="apple", name="Apple", price=_PRICE),
        Account(account=account, id="odesa", name="Odesa Trading", users=1),
        AccountMember(account=account, user=_BUYER),
        Account(account=empty, name="Empty"),
    ]


def _make_order(product: ProductId, order: OrderId, number: str, *, is_paid: bool) -> list[Entity]:
    """Return an order of three lines with its bill; if it is paid, with its payment and reward."""
    total = 3 * _PRICE
    made: list[Entity] = [
        Order(user=_BUYER, order=order, id=number, total=total),
        *(
            OrderLine(
                user=_BUYER,
                order=order,
                line=line,
                product=product,
                seller=_SELLER,
                name="Apple",
                price=_PRICE,
                quantity=1,
            )
            for line in (1, 2, 3)
        ),
    ]
    bill, status = id_for(BillId, order), "paid" if is_paid else "open"
    made.append(Bill(user=_BUYER, bill=bill, order=order, amount=total, status=status))
    if is_paid:
        payment, reward = id_for(PaymentId, order), id_for(RewardId, order)
        made += [
            Payment(user=_BUYER, payment=payment, bill=bill, amount=total),
            Reward(user=_BUYER, reward=reward, amount=Decimal(1), reason="bonus", order=order),
        ]
    return made
