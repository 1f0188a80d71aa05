"""What is in the market's table: its keys, indexes and shards, and the items of each."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from keyfold import Entity, Expiry, Index, Key, Table, Ulid, attr, part


class AccountId(Ulid, prefix="A"):
    """System key of an account."""


class BillId(Ulid, prefix="B"):
    """System key of a bill."""


class CartId(Ulid, prefix="C"):
    """System key of a cart."""


class ProductId(Ulid, prefix="I"):
    """System key of a product, which the document calls an inventory item."""


class OrderId(Ulid, prefix="O"):
    """System key of an order."""


class PaymentId(Ulid, prefix="P"):
    """System key of a payment."""


class RewardId(Ulid, prefix="R"):
    """System key of a reward."""


by_key = Index("ReverseIndex", key=Key("sk", "pk"), project="keys")
by_id = Index("IdLookupIndex", key=Key("id", "tp"))
table = Table(
    "Market", key=Key("pk", "sk"), indexes=[by_key, by_id], ttl="ttl", stream="new and old"
)

profiles = table.shard("U#{user}", name="profile")
orders = table.shard("U#{user}#O", name="orders")
products = table.shard("U#{user}#P", name="products")
rewards = table.shard("U#{user}#R", name="rewards")
billing = table.shard("U#{user}#B", name="billing")


class _Item(Entity):
    """What any item may have: a time to expire."""

    ttl: Expiry | None = None


class _Known(_Item):
    """What an item has that can be found by a business id: the id; its type is beside it.

    With both it is in IdLookupIndex; without one of them it is not.
    """

    id: str | None = None


# The profile shard, which its user may change.


class User(_Known, table=table, key=(profiles, "U#{user}")):
    """Somebody who buys and sells; `user` is what the identity provider calls them."""

    user: str = part()
    tp: Literal["user"] | None = "user"
    name: str
    phones: list[str] = attr(default_factory=list[str])
    account: AccountId | None = None


class Address(_Item, table=table, key=(profiles, "U#{user}#{number:03}")):
    """An address of a user, numbered from 1."""

    user: str = part()
    number: int = part()
    street: str
    city: str
    country: str


class CartLine(BaseModel):
    """So many of one product, in a cart."""

    model_config = ConfigDict(frozen=True)

    name: str
    price: Decimal = attr(ge=0)
    quantity: int = attr(default=1, gt=0)


class Cart(_Known, table=table, key=(profiles, "{cart}")):
    """What a user is about to order, by product."""

    user: str = part()
    cart: CartId = part()
    tp: Literal["cart"] | None = "cart"
    lines: dict[ProductId, CartLine] = attr(default_factory=dict[ProductId, CartLine])


# The order shard, which its user may read.


class Order(_Known, table=table, key=(orders, "{order}")):
    """An order; its lines follow it in the same partition."""

    user: str = part()
    order: OrderId = part()
    tp: Literal["order"] | None = "order"
    total: Decimal


class OrderLine(_Item, table=table, key=(orders, "{order}#{line:03}")):
    """One line of an order, numbered from 1."""

    user: str = part()
    order: OrderId = part()
    line: int = part()
    product: ProductId
    name: str
    price: Decimal
    quantity: int


class OrderNumber(_Item, table=table, key=("N#{id}", "N#{id}")):
    """That an order has this business id, so that no other can have it."""

    # In the key alone: an item that stored `id` and `tp` would be in IdLookupIndex itself.
    id: str = part()
    user: str
    order: OrderId


# The other shards, and accounts.


class Product(_Known, table=table, key=(products, "{product}")):
    """Something that a user sells."""

    user: str = part()
    product: ProductId = part()
    tp: Literal["product"] | None = "product"
    name: str
    price: Decimal


class Reward(_Known, table=table, key=(rewards, "{reward}")):
    """A bonus that a user was granted."""

    user: str = part()
    reward: RewardId = part()
    tp: Literal["reward"] | None = "reward"
    amount: Decimal
    reason: str | None = None
    order: OrderId | None = None


class Bill(_Known, table=table, key=(billing, "{bill}")):
    """What a user is to pay for an order."""

    user: str = part()
    bill: BillId = part()
    tp: Literal["bill"] | None = "bill"
    order: OrderId
    amount: Decimal


class Payment(_Known, table=table, key=(billing, "{payment}")):
    """What a user has paid, and by which card; its number is kept by whoever charges it."""

    user: str = part()
    payment: PaymentId = part()
    tp: Literal["payment"] | None = "payment"
    bill: BillId
    amount: Decimal
    card: str | None = None
    holder: str | None = None


class Account(_Known, table=table, key=("{account}", "{account}")):
    """A group of users, in a partition of its own."""

    account: AccountId = part()
    tp: Literal["account"] | None = "account"
    name: str
