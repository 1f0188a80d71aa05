"""The market's orders with, without and with another reverse index, to compare what it costs.

The market's document says of this index: "It does not affect writes, as no write (except delete) can affect
the table's primary key." `keyfold cost --table market_reverse_index:without --compare
market_reverse_index:with_keys` says what it does; docs/how-to/price-a-design.md has the numbers.

These tables have the market's entities and the patterns that change them most, with its names and rates.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from keyfold import Entity, Index, Key, Request, Table, transaction
from keyfold.designs import market
from keyfold.designs.market import CartId, CartLine, OrderId, ProductId

CART = CartId("C#01JZ10H7X367VB2NF4YQ973DHV")
APPLE = ProductId("I#01JZ10H7X367VB2NF4YQ973DHY")
NEW_ORDER = OrderId("O#01JZ10H7X367VB2NF4YQ973E0B")
EXAMPLE = {"user": "rabinovich", "cart": CART, "product": APPLE}


def declare(name: str, reverse: Literal["keys", "all"] | None) -> Table:
    """Return the orders of the market, with the reverse index as it is projected, or without it."""
    by_id = Index("IdLookupIndex", key=Key("id", "tp"))
    by_key = Index("ReverseIndex", key=Key("sk", "pk"), project=reverse or "keys")
    indexes = [by_id] if reverse is None else [by_key, by_id]
    table = Table(name, key=Key("pk", "sk"), indexes=indexes, ttl="ttl")

    class Product(market.Product, table=table, key=("U#{user}#P", "{product}"), unique="id"):
        pass

    class Cart(market.Cart, table=table, key=("U#{user}", "{cart}"), unique="id"):
        pass

    class Order(market.Order, table=table, key=("U#{user}#O", "{order}"), unique="id"):
        pass

    class OrderLine(market.OrderLine, table=table, key=("U#{user}#O", "{order}#{line:03}")):
        pass

    table.expect(Product, items="50k")
    table.expect(Cart, items="200k")
    table.expect(Order, items="3.6M", growth="300k/month")
    table.expect(OrderLine, items="10.8M", growth="900k/month")

    @table.pattern("Put a product into a cart", rate="3/s", example=EXAMPLE)
    def put_in_cart(user: str, cart: CartId, product: ProductId, line: CartLine) -> Request[Any]:
        return Cart.update(user=user, cart=cart).set(Cart.f.lines[product], line)

    @table.pattern("Take a product out of a cart", rate="1/s", example={"taken": APPLE})
    def take_from_cart(user: str, cart: CartId, taken: ProductId) -> Request[Any]:
        return Cart.update(user=user, cart=cart).remove(Cart.f.lines[taken])

    @table.pattern("Place an order", rate="10k/day", example={**EXAMPLE, "order": NEW_ORDER})
    def place_order(user: str, cart: CartId, product: ProductId, order: OrderId) -> Request[Any]:
        price = Decimal("0.30")
        return transaction(
            Order(user=user, order=order, id="2025-0003", total=price).create(),
            OrderLine(user=user, order=order, line=1, product=product, price=price).create(),
            Product.check(Product.f.price.eq(price), user="eve", product=product),
            Cart.update(user=user, cart=cart).set(Cart.f.lines, {}),
        )

    if reverse is not None:

        @table.pattern(
            "Lookup by system key", rate="1/s", example={"key": "O#01JZ10H7X367VB2NF4YQ973DHW"}
        )
        def find_by_key(key: str) -> Request[Any]:
            found = table.query(by_key, sk=key).refs().first()
            return found.lookup_then(
                lambda ref: table.get(pk=ref.key["pk"]["S"], sk=key).consistent()
            )

    @table.examples
    def make_examples() -> list[Entity]:
        kinds = (Product, Cart, Order, OrderLine)
        return [
            kind.model_validate(each.model_dump(), by_name=True)
            for each in market.table.example_entities()
            for kind in kinds
            if kind.__name__ == type(each).__name__
        ]

    return table


without = declare("OrdersWithout", None)
with_keys = declare("OrdersWithKeys", "keys")
with_copies = declare("OrdersWithCopies", "all")
