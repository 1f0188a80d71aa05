"""Carts: patterns that create, fill and delete them."""

from __future__ import annotations

from datetime import datetime

from keyfold import Delete, Put, Update
from keyfold.designs.market._items import Cart, CartId, CartLine, ProductId, table

_EXAMPLE_CART = CartId("C#01JZ10H7X367VB2NF4YQ973DHV")


@table.pattern("Create a cart", example={"user": "rabinovich", "cart": _EXAMPLE_CART})
def create_cart(user: str, cart: CartId | None = None, ttl: datetime | None = None) -> Put[Cart]:
    """Create an empty cart, with a new id unless one is given; returns it.

    With a `ttl`, it expires at that time if nobody deletes it before.
    """
    return Cart(user=user, cart=cart or CartId.new(), ttl=ttl).create()


@table.pattern(
    "Put a product into a cart", example={"line": CartLine(seller="rabinovich", quantity=3)}
)
def put_in_cart(user: str, cart: CartId, product: ProductId, line: CartLine) -> Update[Cart]:
    """Put a product into a cart, replacing the existing quantity; fails if there is no such cart."""
    return Cart.update(user=user, cart=cart).set(Cart.f.lines[str(product)], line)


@table.pattern("Take a product out of a cart")
def take_from_cart(user: str, cart: CartId, product: ProductId) -> Update[Cart]:
    """Remove a product from a cart; does nothing if the product is not in it."""
    return Cart.update(user=user, cart=cart).remove(Cart.f.lines[str(product)])


@table.pattern("Delete a cart")
def delete_cart(user: str, cart: CartId) -> Delete[Cart]:
    """Delete a cart; returns it, or None if there was none."""
    return Cart.delete(user=user, cart=cart)
