"""Market: the profiles, orders, products, rewards and bills of many users, in one sharded table.

>>> import keyfold
>>> from decimal import Decimal
>>> apple = ProductId("I#01JZ10H7X367VB2NF4YQ973DHW")
>>> cart = Cart(user="rabinovich", cart=CartId.new())
>>> with keyfold.open(table, ":memory:") as store:
...     _ = store.run(User(user="rabinovich", name="Rabinovich").create())
...     _ = store.run(cart.create())
...     line = CartLine(name="Apple", price=Decimal("0.30"), quantity=3)
...     cart = store.run(put_in_cart("rabinovich", cart.cart, apple, line))
...     _ = store.run(place_order(cart, OrderId.new(), "2026-0001"))
...     found = store.run(order_by_id("2026-0001"))
>>> found.order.total, [line.name for line in found.lines]
(Decimal('0.9'), ['Apple'])
"""

from __future__ import annotations

from keyfold.designs.market._handlers import REWARD_SHARE, bill_order, id_for, reward_order
from keyfold.designs.market._items import (
    Account,
    AccountId,
    Address,
    Bill,
    BillId,
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    OrderLine,
    OrderNumber,
    Payment,
    PaymentId,
    Product,
    ProductId,
    Reward,
    RewardId,
    User,
    billing,
    by_id,
    by_key,
    orders,
    products,
    profiles,
    rewards,
    table,
)
from keyfold.designs.market._reading import (
    OrderWithLines,
    PaymentSummary,
    UserProfile,
    bonuses,
    find_by_id,
    find_by_key,
    last_orders,
    order_by_id,
    orders_between,
    payments,
    user_profile,
)
from keyfold.designs.market._roles import customer, fulfilment, seller, support, visitor
from keyfold.designs.market._writing import (
    grant_reward,
    place_order,
    put_in_cart,
    release_order_number,
    take_from_cart,
)

__all__ = [
    "REWARD_SHARE",
    "Account",
    "AccountId",
    "Address",
    "Bill",
    "BillId",
    "Cart",
    "CartId",
    "CartLine",
    "Order",
    "OrderId",
    "OrderLine",
    "OrderNumber",
    "OrderWithLines",
    "Payment",
    "PaymentId",
    "PaymentSummary",
    "Product",
    "ProductId",
    "Reward",
    "RewardId",
    "User",
    "UserProfile",
    "bill_order",
    "billing",
    "bonuses",
    "by_id",
    "by_key",
    "customer",
    "find_by_id",
    "find_by_key",
    "fulfilment",
    "grant_reward",
    "id_for",
    "last_orders",
    "order_by_id",
    "orders",
    "orders_between",
    "payments",
    "place_order",
    "products",
    "profiles",
    "put_in_cart",
    "release_order_number",
    "reward_order",
    "rewards",
    "seller",
    "support",
    "table",
    "take_from_cart",
    "user_profile",
    "visitor",
]
