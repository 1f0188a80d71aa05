"""Market: the profiles, orders, products, rewards and bills of many users, in one sharded table.

>>> import keyfold
>>> from decimal import Decimal
>>> apple = Product(user="eve", product=ProductId.new(), name="Apple", price=Decimal("0.30"))
>>> cart = Cart(user="rabinovich", cart=CartId.new())
>>> with keyfold.open(table, ":memory:") as store:
...     _ = store.run(add_product(apple))
...     _ = store.run(create_user(User(user="rabinovich", name="Rabinovich")))
...     _ = store.run(create_cart("rabinovich", cart.cart))
...     line = CartLine(seller="eve", quantity=3)
...     cart = store.run(put_in_cart("rabinovich", cart.cart, apple.product, line))
...     _ = store.run(place_order(cart, OrderId.new(), "2026-0001"))
...     found = store.run(order_by_id("2026-0001"))
>>> found.order.total, [line.name for line in found.lines]
(Decimal('0.9'), ['Apple'])
"""

from __future__ import annotations

from keyfold.designs.market._access_patterns import (
    OrderWithLines,
    UserProfile,
    bonuses,
    find_by_id,
    find_by_key,
    last_orders,
    order_by_id,
    orders_between,
    user_profile,
)
from keyfold.designs.market._accounts import (
    create_account,
    delete_account,
    join_account,
    leave_account,
    rename_account,
    users_of_account,
)
from keyfold.designs.market._carts import create_cart, delete_cart, put_in_cart, take_from_cart
from keyfold.designs.market._examples import make_examples
from keyfold.designs.market._handlers import REWARD_SHARE, bill_order, id_for, reward_order
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
    accounts,
    billing,
    by_id,
    by_key,
    orders,
    products,
    profiles,
    rewards,
    table,
)
from keyfold.designs.market._ordering import (
    MAX_ORDER_LINES,
    cancel_order,
    place_order,
    record_total,
    release_order_number,
)
from keyfold.designs.market._paying import (
    BillSummary,
    PaymentSummary,
    RewardChanges,
    bills,
    change_reward,
    create_bill,
    grant_reward,
    pay_bill,
    payments,
    revoke_reward,
)
from keyfold.designs.market._roles import (
    customer,
    fulfilment,
    registration,
    seller,
    support,
    visitor,
)
from keyfold.designs.market._selling import (
    ProductChanges,
    add_product,
    change_product,
    products_of,
    remove_product,
)
from keyfold.designs.market._users import (
    UserChanges,
    change_user,
    change_user_id,
    create_user,
    delete_address,
    delete_user,
    save_address,
)

__all__ = [
    "MAX_ORDER_LINES",
    "REWARD_SHARE",
    "Account",
    "AccountId",
    "AccountMember",
    "Address",
    "Bill",
    "BillId",
    "BillSummary",
    "Cart",
    "CartId",
    "CartLine",
    "Order",
    "OrderId",
    "OrderLine",
    "OrderWithLines",
    "Payment",
    "PaymentId",
    "PaymentSummary",
    "Product",
    "ProductChanges",
    "ProductId",
    "Reward",
    "RewardChanges",
    "RewardId",
    "User",
    "UserChanges",
    "UserProfile",
    "accounts",
    "add_product",
    "bill_order",
    "billing",
    "bills",
    "bonuses",
    "by_id",
    "by_key",
    "cancel_order",
    "change_product",
    "change_reward",
    "change_user",
    "change_user_id",
    "create_account",
    "create_bill",
    "create_cart",
    "create_user",
    "customer",
    "delete_account",
    "delete_address",
    "delete_cart",
    "delete_user",
    "find_by_id",
    "find_by_key",
    "fulfilment",
    "grant_reward",
    "id_for",
    "join_account",
    "last_orders",
    "leave_account",
    "make_examples",
    "order_by_id",
    "orders",
    "orders_between",
    "pay_bill",
    "payments",
    "place_order",
    "products",
    "products_of",
    "profiles",
    "put_in_cart",
    "record_total",
    "registration",
    "release_order_number",
    "remove_product",
    "rename_account",
    "revoke_reward",
    "reward_order",
    "rewards",
    "save_address",
    "seller",
    "support",
    "table",
    "take_from_cart",
    "user_profile",
    "users_of_account",
    "visitor",
]
