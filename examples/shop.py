"""An online shop in one table: customers, products with stock, carts, and orders with their lines.

`python shop.py` places some orders in memory, and prints what the access patterns return.
`keyfold patterns --table shop:table` lists the patterns with their requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Self

import keyfold
from keyfold import (
    Collection,
    CreatedAt,
    Entity,
    Expiry,
    Get,
    Index,
    Key,
    Put,
    Query,
    Store,
    Table,
    Transaction,
    Ulid,
    Update,
    attr,
    part,
    transaction,
)
from keyfold.errors import TransactionFailed, UniqueTaken
from keyfold.requests import CollectionGet, Upsert

# An order is stored with its customer, and its lines in a partition of their own: so a customer's
# orders are read without their lines. ByOrder brings an order and its lines together.
by_order = Index("ByOrder", key=Key("order_pk", "order_sk"))
# Sparse: an order is in it while it has the field `open_since`.
open_orders = Index("OpenOrders", key=Key("warehouse", "open_since"))

table = Table("Shop", key=Key("pk", "sk"), indexes=[by_order, open_orders], ttl="expires")


class OrderId(Ulid, prefix="ord", separator="_"):
    """Looks like ord_01JZ10H7X367VB2NF4YQ973DHW; sorts by the time of the order."""


class Status(StrEnum):
    """The state of an order."""

    PLACED = "placed"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"


class Customer(Entity, table=table, key=("CUSTOMER#{customer}", "PROFILE"), unique="email"):
    """A customer. No two have the same email address."""

    customer: str = part()
    name: str
    email: str
    since: CreatedAt | None = None


class Address(Entity, table=table, key=("CUSTOMER#{customer}", "ADDRESS#{label}")):
    """One of the addresses of a customer, such as `home`."""

    customer: str = part()
    label: str = part()
    street: str
    city: str
    country: str = attr(min_length=2, max_length=2)


class Product(Entity, table=table, key=("PRODUCT#{sku}", "PRODUCT")):
    """A product. Its stock cannot become negative: an update that would do so fails."""

    sku: str = part()
    title: str
    price: Decimal = attr(gt=0)
    stock: int = attr(ge=0)


class CartLine(Entity, table=table, key=("CART#{customer}", "SKU#{sku}")):
    """A product in the cart of a customer, at the price that the customer has seen."""

    customer: str = part()
    sku: str = part()
    price: Decimal
    quantity: int = attr(default=0, ge=0)
    expires: Expiry | None = None


class Order(
    Entity,
    table=table,
    key=("CUSTOMER#{customer}", "ORDER#{order}"),
    indexes={by_order: ("{order}", "ORDER")},
):
    """An order. It is in the index OpenOrders until it is shipped or cancelled."""

    customer: str = part()
    order: OrderId = part()
    warehouse: str
    total: Decimal
    status: Status = Status.PLACED
    tracking: str | None = None
    open_since: datetime | None = None

    def before_write(self, now: datetime) -> Self:  # noqa: ARG002 - what Entity passes
        """Keep `open_since` in step with the status: the store calls this for each write."""
        is_open = self.status is Status.PLACED
        return self.model_copy(update={"open_since": self.order.time if is_open else None})


class OrderLine(
    Entity,
    table=table,
    key=("{order}", "LINE#{line:03}"),
    indexes={by_order: ("{order}", "LINE#{line:03}")},
):
    """A product of an order, at the price that was agreed."""

    order: OrderId = part()
    line: int = part()
    sku: str
    price: Decimal
    quantity: int = attr(ge=1)


class CustomerWithOrders(Collection):
    """A customer and the latest orders."""

    customer: Customer
    orders: list[Order]


class OrderWithLines(Collection):
    """An order and everything in it."""

    order: Order
    lines: list[OrderLine]


@table.pattern("Register a customer", rate="200/day")
def register(customer: Customer) -> Put[Customer]:
    """Store a new customer; fails if the name or the email address is taken."""
    return customer.create()


@table.pattern("Customer with the last ten orders", rate="2/s", peak="10/s")
def customer_with_orders(customer: str) -> CollectionGet[CustomerWithOrders]:
    """A customer's profile and latest orders, in one query."""
    return CustomerWithOrders.get(customer=customer).descending().limit(10)


@table.pattern("More orders of a customer", rate="20k/day")
def more_orders(customer: str, cursor: str | None) -> Query[Order]:
    """The orders after those that were shown, by the cursor of the page before."""
    return Order.query(customer=customer).descending().limit(10).after(cursor)


@table.pattern("Addresses of a customer", rate="1/s")
def addresses_of(customer: str) -> Query[Address]:
    """A customer's addresses by label."""
    return Address.query(customer=customer)


@table.pattern("Product", rate="20/s", peak="100/s")
def product(sku: str) -> Get[Product]:
    """A product with its price and stock."""
    return Product.get(sku=sku)


@table.pattern("Restock a product", rate="500/day")
def restock(sku: str, quantity: int) -> Update[Product]:
    """Add to the stock of a product."""
    return Product.update(sku=sku).increment(Product.f.stock, quantity)


@table.pattern("Add to the cart", rate="3/s", peak="15/s")
def add_to_cart(customer: str, product: Product, quantity: int) -> Upsert[CartLine]:
    """Count up a product in a cart, or put it there; carts are kept for a week."""
    return (
        CartLine.update(customer=customer, sku=product.sku)
        .increment(CartLine.f.quantity, quantity)
        .set(CartLine.f.price, product.price)
        .expiring_in(timedelta(days=7))
        .or_create()
    )


@table.pattern("Cart of a customer", rate="3/s", peak="15/s")
def cart_of(customer: str) -> Query[CartLine]:
    """Everything in a customer's cart."""
    return CartLine.query(customer=customer)


def make_order(cart: Sequence[CartLine], warehouse: str) -> tuple[Order, list[OrderLine]]:
    """Return an order of everything in a cart, with its lines; nothing is written yet."""
    order = Order(
        customer=cart[0].customer,
        order=OrderId.new(),
        warehouse=warehouse,
        total=sum((line.price * line.quantity for line in cart), Decimal()),
    )
    lines = [
        OrderLine(
            order=order.order, line=number, sku=each.sku, price=each.price, quantity=each.quantity
        )
        for number, each in enumerate(cart, 1)
    ]
    return order, lines


@table.pattern(
    "Place an order",
    rate="10k/day",
    peak="1/s",
    lint_ignore={"P08": "a cart has a few products, far from 33"},
)
def place_order(order: Order, lines: list[OrderLine]) -> Transaction:
    """Write an order with its lines, take them from the stock, and empty the cart of them.

    All of it happens or nothing: if a product is sold out, or has another price by now, the
    transaction fails with TransactionFailed.
    """
    return transaction(
        order.create(),
        *(line.create() for line in lines),
        *(
            Product.update(sku=line.sku)
            .increment(Product.f.stock, -line.quantity)
            .where(Product.f.price.eq(line.price))
            for line in lines
        ),
        *(CartLine.delete(customer=order.customer, sku=line.sku) for line in lines),
    )


@table.pattern("Order with its lines", rate="1/s")
def order_with_lines(order: OrderId) -> CollectionGet[OrderWithLines]:
    """An order and its lines, in one query, by the order's id alone."""
    return OrderWithLines.get(by_order, order=order)


@table.pattern("Open orders of a warehouse", rate="5k/day")
def open_orders_of(warehouse: str) -> Query[Order]:
    """The orders that a warehouse has to ship, the oldest first."""
    return Order.query(open_orders, warehouse=warehouse)


@table.pattern("Ship an order", rate="10k/day")
def ship(order: Order, tracking: str) -> Update[Order]:
    """Mark an order as shipped; fails if its status has changed since it was read."""
    return order.change(status=Status.SHIPPED, tracking=tracking)


# How many there are, for `keyfold cost`, `heat` and `lint`.
table.expect(Customer, items="100k", growth="6k/month")
table.expect(Address, items="120k", growth="7k/month", per_partition=1)
table.expect(Product, items="20k")
table.expect(CartLine, items="60k", per_partition=3)
table.expect(Order, items="1M", growth="300k/month", per_partition=10)
table.expect(OrderLine, items="3M", growth="900k/month", per_partition=3)


@table.examples
def make_examples() -> list[Entity]:
    """Return a customer with a cart, an order that was shipped and one that was not."""
    first, second = (
        OrderId("ord_01JZ10H7X367VB2NF4YQ973DHW"),
        OrderId("ord_01JZ3JRQ3K5T4WJ6FQ2B8N1M0A"),
    )
    mug, tea = Decimal("9.50"), Decimal("4.20")
    since = datetime(2025, 6, 1, 12, tzinfo=UTC)
    return [
        Customer(customer="ada", name="Ada King", email="ada@example.com", since=since),
        Address(customer="ada", label="home", street="12 Mill Lane", city="Delft", country="NL"),
        Product(sku="mug", title="Mug", price=mug, stock=40),
        Product(sku="tea", title="Green tea", price=tea, stock=12),
        CartLine(customer="ada", sku="tea", price=tea, quantity=2),
        Order(
            customer="ada",
            order=first,
            warehouse="delft",
            total=mug + 2 * tea,
            status=Status.SHIPPED,
            tracking="NL-0001",
        ),
        OrderLine(order=first, line=1, sku="mug", price=mug, quantity=1),
        OrderLine(order=first, line=2, sku="tea", price=tea, quantity=2),
        Order(
            customer="ada", order=second, warehouse="delft", total=6 * tea, open_since=second.time
        ),
        OrderLine(order=second, line=1, sku="tea", price=tea, quantity=6),
    ]


def fill(store: Store) -> None:
    """Store a customer with an address, and three products."""
    store.run(register(Customer(customer="ada", name="Ada King", email="ada@example.com")))
    store.run(
        Address(
            customer="ada", label="home", street="12 Mill Lane", city="Delft", country="NL"
        ).put()
    )
    for sku, title, price, stock in [
        ("mug", "Mug", "9.50", 40),
        ("tea", "Green tea", "4.20", 12),
        ("pot", "Teapot", "35.00", 1),
    ]:
        store.run(Product(sku=sku, title=title, price=Decimal(price), stock=stock).create())


def buy(store: Store, customer: str, wanted: dict[str, int]) -> OrderId:
    """Fill a cart and order what is in it; raises TransactionFailed if something is sold out."""
    for sku, quantity in wanted.items():
        found = store.run(product(sku))
        assert found is not None, f"there is no product {sku}"
        store.run(add_to_cart(customer, found, quantity))
    order, lines = make_order(store.run(cart_of(customer)), "delft")
    store.run(place_order(order, lines))
    return order.order


def main() -> None:
    """Run the shop for a while, in memory."""
    with keyfold.open(table, ":memory:") as store:
        fill(store)
        try:
            store.run(register(Customer(customer="eve", name="Eve", email="ada@example.com")))
        except UniqueTaken as error:
            print(error.public)

        buy(store, "ada", {"mug": 1, "tea": 2})
        buy(store, "ada", {"tea": 6})
        last = buy(store, "ada", {"pot": 1, "mug": 2})
        try:
            buy(store, "ada", {"pot": 1})
        except TransactionFailed as error:
            print(error.public)

        oldest, *_ = store.run(open_orders_of("delft"))
        store.run(ship(oldest, tracking="NL-0001"))
        print("\nStill to be shipped from Delft:")
        for order in store.run(open_orders_of("delft")):
            print(f"  {order.order}  {order.total:>6} EUR")

        bought = store.run(order_with_lines(last))
        assert bought is not None
        print(f"\n{bought.order.order}:")
        for line in bought.lines:
            print(f"  {line.quantity} x {line.sku} at {line.price} EUR")

        shown = store.run(customer_with_orders("ada"))
        assert shown is not None
        print(f"\nLatest orders of {shown.customer.name} <{shown.customer.email}>:")
        for order in shown.orders:
            print(f"  {order.order}  {order.total:>6} EUR  {order.status}")


if __name__ == "__main__":
    main()
