"""Write access patterns of the market: transactions, and writes with conditions."""

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

_MAX_ACTIONS = 100
_EXAMPLE_PRODUCT = ProductId("I#01JZ10H7X367VB2NF4YQ973DHY")
_EXAMPLE_LINE = CartLine(name="Apple", price=Decimal("0.30"), quantity=3)
_EXAMPLE_CART = Cart(
    user="rabinovich",
    cart=CartId("C#01JZ10H7X367VB2NF4YQ973DHV"),
    lines={_EXAMPLE_PRODUCT: _EXAMPLE_LINE},
)


@table.pattern("Put a product into a cart", example={"line": _EXAMPLE_LINE})
def put_in_cart(user: str, cart: CartId, product: ProductId, line: CartLine) -> Update[Cart]:
    """Put a product into a cart, replacing the existing quantity; fails if there is no such cart."""
    return Cart.update(user=user, cart=cart).set(Cart.f.lines[str(product)], line)


@table.pattern("Take a product out of a cart")
def take_from_cart(user: str, cart: CartId, product: ProductId) -> Update[Cart]:
    """Remove a product from a cart; does nothing if the product is not in it."""
    return Cart.update(user=user, cart=cart).remove(Cart.f.lines[str(product)])


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
) -> Transaction:
    """Create an order from the contents of a cart, and empty the cart, in one transaction.

    The fulfilment process runs this, since users may not write to their order shard. Pass the
    cart as it was read (optimistic locking): if it was changed since, the transaction fails, and
    the cart has to be read again. It also fails if another order has the same business id. With a
    `ttl`, the order, its lines and the claim to its id expire together.

    Raises TransactionInvalid for an empty cart, and for one too large for one transaction.
    """
    user, max_lines = cart.user, _MAX_ACTIONS - (2 if id is None else 3)
    if not cart.lines:
        raise TransactionInvalid(f"{cart.cart} is empty", "Put something into it.")
    if len(cart.lines) > max_lines:
        raise TransactionInvalid(
            f"an order of {len(cart.lines)} lines does not fit into one",
            f"At most {max_lines} lines fit with the order itself; make several orders.",
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
    total = sum((line.price * line.quantity for line in cart.lines.values()), Decimal())
    number = [] if id is None else [OrderNumber(id=id, user=user, order=order, ttl=ttl).create()]
    return transaction(
        Order(user=user, order=order, id=id, total=total, ttl=ttl).create(),
        *number,
        *(line.create() for line in lines),
        cart.change(lines={}),
    )


@table.pattern("Release an order number")
def release_order_number(user: str, order: OrderId, id: str) -> Transaction:  # noqa: A002 - the document's term
    """Remove the business id of an order, which leaves IdLookupIndex; another order may take it."""
    return transaction(
        Order.update(user=user, order=order).remove(Order.f.id).where(Order.f.id.eq(id)),
        OrderNumber.delete(id=id),
    )


@table.pattern("Grant a reward")
def grant_reward(reward: Reward) -> Put[Reward]:
    """Create a reward; fails with AlreadyExists if it was granted before, and changes nothing."""
    return reward.create()
