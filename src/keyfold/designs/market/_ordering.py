"""Orders: patterns that place and cancel them. The fulfilment process runs these."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Context, Decimal, Inexact
from functools import partial
from typing import Any

from keyfold import Check, Transaction, Update, batch, transaction
from keyfold.designs.market._handlers import id_for, total_of
from keyfold.designs.market._items import (
    Bill,
    BillId,
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    OrderLine,
    Product,
    ProductId,
    table,
)
from keyfold.errors import FieldNotRecorded, NotFound, TransactionInvalid
from keyfold.requests import Chain

# A transaction has at most 100 actions: the order, the guard of its id, the cart, and for each line
# the line and the check of its product.
MAX_ORDER_LINES = 48

# Python rounds to 28 digits; DynamoDB's numbers have up to 38.
_EXACT = Context(prec=38, traps=[Inexact])

_EXAMPLE_CART = Cart(
    user="rabinovich",
    cart=CartId("C#01JZ10H7X367VB2NF4YQ973DHV"),
    lines={ProductId("I#01JZ10H7X367VB2NF4YQ973DHY"): CartLine(seller="eve", quantity=3)},
)


@table.pattern(
    "Place an order",
    example={
        "cart": _EXAMPLE_CART,
        "order": OrderId("O#01JZ10H7X367VB2NF4YQ973DHW"),
        "id": "2026-0001",
    },
)
def place_order(
    cart: Cart,
    order: OrderId,
    id: str | None,  # noqa: A002 - the document's term
    ttl: datetime | None = None,
) -> Chain[list[Any]]:
    """Create an order from the contents of a cart, and empty the cart, in one transaction.

    Prices come from the products, which are read first. The transaction fails if a product, or its
    price, has changed since; then run it again. Pass the cart as it was read (optimistic locking):
    if it was changed since, the transaction fails, and the cart has to be read again. It also
    fails if another order has the same business id. With a `ttl`, the order and its lines expire.

    Raises TransactionInvalid for an empty cart, and for one of more than 48 lines; when it runs,
    also for a total of more than 38 digits, NotFound for a product that is gone, and
    FieldNotRecorded for one without a price.
    """
    if not cart.lines:
        raise TransactionInvalid(f"{cart.cart} is empty", "Put something into it.")
    if len(cart.lines) > MAX_ORDER_LINES:
        raise TransactionInvalid(
            f"an order of {len(cart.lines)} lines does not fit into one",
            f"At most {MAX_ORDER_LINES} lines fit, with their products; make several orders.",
        )
    wanted = [
        Product.get(user=line.seller, product=product).consistent()
        for product, line in sorted(cart.lines.items())
    ]
    placed = Order(user=cart.user, order=order, id=id, ttl=ttl)
    return batch(wanted).then(partial(_place, cart, placed))


def _place(cart: Cart, order: Order, found: Sequence[Product | None]) -> Transaction:
    """Return the transaction that places an order of the products that were found."""
    lines: list[OrderLine] = []
    checks: list[Check] = []
    pairs = zip(sorted(cart.lines.items()), found, strict=True)
    for number, ((key, wanted), product) in enumerate(pairs, start=1):
        name, price = _name_and_price(key, wanted, product)
        line = OrderLine(
            user=cart.user,
            order=order.order,
            line=number,
            product=key,
            seller=wanted.seller,
            name=name,
            price=price,
            quantity=wanted.quantity,
            ttl=order.ttl,
        )
        lines.append(line)
        is_same = Product.f.price.eq(price)
        checks.append(Product.check(is_same, user=wanted.seller, product=key))
    return transaction(
        order.model_copy(update={"total": _total_of(lines)}).create(),
        *(line.create() for line in lines),
        *checks,
        cart.change(lines={}),
    )


def _total_of(lines: Sequence[OrderLine]) -> Decimal:
    """Return what lines with prices and quantities cost, exactly."""
    total = Decimal()
    try:
        for line in lines:
            cost = _EXACT.multiply(line.price or Decimal(), Decimal(line.quantity or 0))
            total = _EXACT.add(total, cost)
    except Inexact:
        fact = "the total of the order has more than 38 digits, which no number may have"
        raise TransactionInvalid(fact, "Order less.") from None
    return total


def _name_and_price(
    key: ProductId, wanted: CartLine, product: Product | None
) -> tuple[str | None, Decimal]:
    """Return what an order line keeps of a product; raises NotFound and FieldNotRecorded."""
    shown = f"{key} of {wanted.seller}"
    if product is None:
        raise NotFound("Product", shown, "it does not exist, so it cannot be ordered")
    if product.price is None:
        advice = "Its seller records it with change_product."
        raise FieldNotRecorded("Product", shown, "price", "an order", advice)
    return product.name, product.price


@table.pattern(
    "Cancel an order",
    example={"user": "rabinovich", "order": OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")},
)
def cancel_order(user: str, order: OrderId) -> Chain[list[Any]]:
    """Cancel an order that is not paid, and void its bill, in one transaction.

    Fails if the bill is paid, or if the order is cancelled already. If the order has no bill yet,
    a void one is created, so that it is not billed later. Raises NotFound if there is no such order.
    """
    bill = id_for(BillId, order)
    both = batch(
        [
            Order.get(user=user, order=order).consistent(),
            Bill.get(user=user, bill=bill).consistent(),
        ]
    )
    return both.then(partial(_cancel, user, order))


def _cancel(user: str, key: OrderId, found: Sequence[Any]) -> Transaction:
    order, bill = found
    if order is None:
        raise NotFound("Order", f"{key} of {user}", "it does not exist")
    is_placed = Order.f.status.ne("cancelled")
    cancelled = Order.update(user=user, order=key).set(Order.f.status, "cancelled").where(is_placed)
    bill_id = id_for(BillId, key)
    if bill is None:
        amount = total_of(order, "its bill")
        void = Bill(
            user=user, bill=bill_id, order=key, amount=amount, status="void", ttl=order.ttl
        ).create()
    else:
        is_unpaid = Bill.f.status.ne("paid")
        void = Bill.update(user=user, bill=bill_id).set(Bill.f.status, "void").where(is_unpaid)
    return transaction(cancelled, void)


@table.pattern("Record the total of an order", example={"total": Decimal("0.90")})
def record_total(user: str, order: OrderId, total: Decimal) -> Update[Order]:
    """Set the total of an order that was stored without one; fails if it has one.

    An order that was placed with `place_order` has one: the sum of its lines.
    """
    change = Order.update(user=user, order=order).set(Order.f.total, total)
    return change.where(Order.f.total.not_exists())


@table.pattern("Release an order number")
def release_order_number(user: str, order: OrderId, id: str) -> Update[Order]:  # noqa: A002 - as above
    """Remove the business id of an order, which leaves IdLookupIndex; another order may take it."""
    return Order.update(user=user, order=order).remove(Order.f.id).where(Order.f.id.eq(id))
