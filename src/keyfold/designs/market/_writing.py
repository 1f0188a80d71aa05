"""How the market is written to where several items change together, or one with a rule of its own."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from keyfold import Put, Transaction, Update, transaction
from keyfold.designs.market._items import (
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    OrderLine,
    OrderNumber,
    ProductId,
    Reward,
    table,
)
from keyfold.errors import TransactionInvalid

_MOST_ACTIONS = 100
_SOME_PRODUCT = ProductId("I#01JZ10H7X367VB2NF4YQ973DHY")
_SOME_LINE = CartLine(name="Apple", price=Decimal("0.30"), quantity=3)
_SOME_CART = Cart(
    user="rabinovich",
    cart=CartId("C#01JZ10H7X367VB2NF4YQ973DHV"),
    lines={_SOME_PRODUCT: _SOME_LINE},
)


@table.pattern("Put a product into a cart", example={"line": _SOME_LINE})
def put_in_cart(user: str, cart: CartId, product: ProductId, line: CartLine) -> Update[Cart]:
    """Put so many of a product into a cart, in place of what it has of it; fails without a cart."""
    return Cart.update(user=user, cart=cart).set(Cart.f.lines[str(product)], line)


@table.pattern("Take a product out of a cart")
def take_from_cart(user: str, cart: CartId, product: ProductId) -> Update[Cart]:
    """Take a product out of a cart; no error when it is not in it."""
    return Cart.update(user=user, cart=cart).remove(Cart.f.lines[str(product)])


@table.pattern(
    "Place an order",
    example={
        "cart": _SOME_CART,
        "order": OrderId("O#01JZ10H7X367VB2NF4YQ973DHW"),
        "id": "2026-0001",
    },
)
def place_order(
    cart: Cart,
    order: OrderId,
    id: str | None,  # noqa: A002 - the document's word
    ttl: datetime | None = None,
) -> Transaction:
    """Make an order of what is in a cart, and empty it, as a whole.

    It is the fulfilment side that runs this: users may not write to their own order shard. The
    cart is passed as it was read; if it was changed since, nothing is done, and it is to be read
    again. Nothing is done either where another order has the same business id. With a `ttl`, the
    order, its lines and the claim to its id expire together.

    Raises TransactionInvalid for an empty cart, and for one that is too large for one transaction.
    """
    user, most = cart.user, _MOST_ACTIONS - (2 if id is None else 3)
    if not cart.lines:
        raise TransactionInvalid(f"{cart.cart} is empty", "Put something into it.")
    if len(cart.lines) > most:
        raise TransactionInvalid(
            f"an order of {len(cart.lines)} lines does not fit into one",
            f"{most} lines fit beside the order itself; make several orders.",
        )
    lines = [
        OrderLine(
            user=user,
            order=order,
            line=number,
            product=product,
            name=line.name,
            price=line.price,
            quantity=line.quantity,
            ttl=ttl,
        )
        for number, (product, line) in enumerate(sorted(cart.lines.items()), start=1)
    ]
    total = sum((line.price * line.quantity for line in lines), Decimal())
    number = [] if id is None else [OrderNumber(id=id, user=user, order=order, ttl=ttl).create()]
    emptied = Cart.update(user=user, cart=cart.cart).set(Cart.f.lines, {})
    return transaction(
        Order(user=user, order=order, id=id, total=total, ttl=ttl).create(),
        *number,
        *(line.create() for line in lines),
        emptied.where(Cart.f.lines.eq(cart.lines)),
    )


@table.pattern("Release an order number")
def release_order_number(user: str, order: OrderId, id: str) -> Transaction:  # noqa: A002 - as above
    """Take the business id from an order: it is in IdLookupIndex no longer, and the id is free."""
    return transaction(
        Order.update(user=user, order=order).remove(Order.f.id).where(Order.f.id.eq(id)),
        OrderNumber.delete(id=id),
    )


@table.pattern("Grant a reward")
def grant_reward(reward: Reward) -> Put[Reward]:
    """Grant a reward; granting the same one again fails with AlreadyExists, and adds nothing."""
    return reward.create()
