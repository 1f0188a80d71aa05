"""The document's own example, as an application would declare it: customers and their orders.

>>> import keyfold
>>> from keyfold.designs.letsgo import shop
>>> with keyfold.open(shop.table, ":memory:") as store:
...     _ = store.run(shop.Customer(customer_id="customer-123").put())
...     _ = store.run(shop.place_order("customer-123", shop.Order(order_id="order-456")))
...     [order] = store.run(shop.orders_of_customer("customer-123"))
>>> order.order_id
'order-456'
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from keyfold import Page, Request, Transaction, batch, part, transaction
from keyfold.designs.letsgo._items import Item, check_exists, table
from keyfold.requests import Chain

__all__ = [
    "Customer",
    "CustomerOrder",
    "Order",
    "orders_of_customer",
    "place_order",
    "table",
]


class Customer(Item, category="customers", key="{customer_id}"):
    """A customer."""

    customer_id: str = part()
    name: str | None = None


class Order(Item, category="orders", key="{order_id}"):
    """An order; it does not name its customer, whom the relationship knows."""

    order_id: str = part()
    total: Decimal | None = None


class CustomerOrder(Item, category="customer-order", key="/{customer_id}/{order_id}"):
    """The relationship between a customer and an order."""

    customer_id: str = part()
    order_id: str = part()


@table.pattern(
    "place_order", example={"customer_id": "{customer_id}", "order": Order(order_id="{order_id}")}
)
def place_order(customer_id: str, order: Order) -> Transaction:
    """Create an order and its relationship to a customer; fails if the customer does not exist."""
    return transaction(
        check_exists("customers", customer_id),
        order.create(),
        CustomerOrder(customer_id=customer_id, order_id=order.order_id).create(),
    )


@table.pattern("orders_of_customer")
def orders_of_customer(
    customer_id: str, limit: int | None = None, next_token: str | None = None
) -> Chain[Page[Order]]:
    """Get the orders of a customer: query the relationships by prefix, then get their orders.

    `limit` is the number of orders per page, and the cursor of a page is the `next_token` of the
    next. An order that was deleted is left out, even if its relationship remains.
    """
    placed = CustomerOrder.query(customer_id=customer_id).after(next_token)
    return (placed if limit is None else placed.limit(limit)).then(_get_orders)


def _get_orders(placed: Page[CustomerOrder]) -> Request[Page[Order]]:
    def as_page(found: list[Order | None], _: datetime) -> Page[Order]:
        orders = [order for order in found if order is not None]
        return Page(orders, cursor=placed.cursor, invalid=placed.invalid)

    return batch([Order.get(order_id=each.order_id) for each in placed]).map(as_page)
