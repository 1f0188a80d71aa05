"""The market's table: its keys, indexes and shards, and the entities in each shard."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from keyfold import Entity, Expiry, Index, Key, Table, Ulid, attr, part


class _SystemKey(Ulid, is_system_key=True):
    """Base class of system keys, which end users see as handles."""


class AccountId(_SystemKey, prefix="A"):
    """System key of an account."""


class BillId(_SystemKey, prefix="B"):
    """System key of a bill."""


class CartId(_SystemKey, prefix="C"):
    """System key of a cart."""


class ProductId(_SystemKey, prefix="I"):
    """System key of a product, which the document calls an inventory item."""


class OrderId(_SystemKey, prefix="O"):
    """System key of an order."""


class PaymentId(_SystemKey, prefix="P"):
    """System key of a payment."""


class RewardId(_SystemKey, prefix="R"):
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
    """Base class of all items, which may expire."""

    ttl: Expiry | None = None


class _IdentifiedItem(_Item):
    """Base class of items that may have a business id; each subclass has a type, `tp`.

    IdLookupIndex is a sparse index: it contains the items that have both.
    """

    id: str | None = None


# The profile shard, which its user may read and write.


class User(_IdentifiedItem, table=table, key=(profiles, "U#{user}")):
    """A user who buys and sells; `user` is the id from the identity provider."""

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
    """A quantity of one product in a cart."""

    model_config = ConfigDict(frozen=True)

    name: str
    price: Decimal = attr(ge=0)
    quantity: int = attr(default=1, gt=0)


class Cart(_IdentifiedItem, table=table, key=(profiles, "{cart}")):
    """A shopping cart of a user, with a line for each product."""

    user: str = part()
    cart: CartId = part()
    tp: Literal["cart"] | None = "cart"
    lines: dict[ProductId, CartLine] = attr(default_factory=dict[ProductId, CartLine])


# The order shard, which its user may read but not write.


class Order(_IdentifiedItem, table=table, key=(orders, "{order}")):
    """An order; its lines follow it in the same partition.

    `total` is None if it was not recorded, as in the rows of the design document.
    """

    user: str = part()
    order: OrderId = part()
    tp: Literal["order"] | None = "order"
    total: Decimal | None = None


class OrderLine(_Item, table=table, key=(orders, "{order}#{line:03}")):
    """One line of an order, numbered from 1; a field that was not recorded is None."""

    user: str = part()
    order: OrderId = part()
    line: int = part()
    product: ProductId | None = None
    name: str | None = None
    price: Decimal | None = None
    quantity: int | None = None


class OrderNumber(_Item, table=table, key=("N#{id}", "N#{id}")):
    """A claim of an order to its business id, so that no other order can have it."""

    # A part of the key only: an item that stored `id` and `tp` would be in IdLookupIndex.
    id: str = part()
    user: str
    order: OrderId


# The other shards, and accounts.


class Product(_IdentifiedItem, table=table, key=(products, "{product}")):
    """A product that a user sells."""

    user: str = part()
    product: ProductId = part()
    tp: Literal["product"] | None = "product"
    name: str
    price: Decimal


class Reward(_IdentifiedItem, table=table, key=(rewards, "{reward}")):
    """A reward (bonus) granted to a user."""

    user: str = part()
    reward: RewardId = part()
    tp: Literal["reward"] | None = "reward"
    amount: Decimal
    reason: str | None = None
    order: OrderId | None = None


class Bill(_IdentifiedItem, table=table, key=(billing, "{bill}")):
    """A bill for an order."""

    user: str = part()
    bill: BillId = part()
    tp: Literal["bill"] | None = "bill"
    order: OrderId
    amount: Decimal


class Payment(_IdentifiedItem, table=table, key=(billing, "{payment}")):
    """A payment of a bill. The card's number is stored by the payment provider, not here."""

    user: str = part()
    payment: PaymentId = part()
    tp: Literal["payment"] | None = "payment"
    bill: BillId
    amount: Decimal
    card: str | None = None
    holder: str | None = None


class Account(_IdentifiedItem, table=table, key=("{account}", "{account}")):
    """An account: a group of users, in a separate partition."""

    account: AccountId = part()
    tp: Literal["account"] | None = "account"
    name: str
