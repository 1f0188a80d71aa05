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
by_id = Index(
    "IdLookupIndex", key=Key("id", "tp"), lint_ignore={"I04": "users hardly ever change their id"}
)
table = Table(
    "Market",
    key=Key("pk", "sk"),
    indexes=[by_key, by_id],
    ttl="ttl",
    stream="new and old",
    lint_ignore={
        "O03": "a few changes of carts in a second, which the handlers leave out, cost nothing",
        "P04": "what has no rate is called so seldom that it costs nothing",
    },
)

profiles = table.shard("U#{user}", name="profile")
orders = table.shard("U#{user}#O", name="orders")
products = table.shard("U#{user}#P", name="products")
rewards = table.shard("U#{user}#R", name="rewards")
billing = table.shard("U#{user}#B", name="billing")
accounts = table.shard("{account}", name="accounts")


class _Item(Entity):
    """Base class of all items, which may expire."""

    ttl: Expiry | None = None


class _IdentifiedItem(_Item):
    """Base class of items that may have a business id; each subclass has a type, `tp`.

    IdLookupIndex is a sparse index: it contains the items that have both. Each subclass declares
    `id` unique, so that no two items of a type have one id.
    """

    id: str | None = None


# A field that the document's rows lack is optional: None means that it was not recorded.

# The profile shard, which its user may read and write.


class User(_IdentifiedItem, table=table, key=(profiles, "U#{user}"), unique="id"):
    """A user who buys and sells; `user` is the id from the identity provider."""

    user: str = part()
    tp: Literal["user"] | None = "user"
    name: str | None = None
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
    """A quantity of one product in a cart, and the seller whose product it is.

    It has no price: customers write their carts, so an order takes its prices from the products.
    """

    model_config = ConfigDict(frozen=True)

    seller: str
    quantity: int = attr(default=1, gt=0)


class Cart(
    _IdentifiedItem,
    table=table,
    key=(profiles, "{cart}"),
    unique="id",
    lint_ignore={"S01": "an order takes 48 lines at most, so nobody needs a larger cart"},
):
    """A shopping cart of a user, with a line for each product."""

    user: str = part()
    cart: CartId = part()
    tp: Literal["cart"] | None = "cart"
    lines: dict[ProductId, CartLine] = attr(default_factory=dict[ProductId, CartLine])


# The order shard, which its user may read but not write.


class Order(_IdentifiedItem, table=table, key=(orders, "{order}"), unique="id"):
    """An order; its lines follow it in the same partition."""

    user: str = part()
    order: OrderId = part()
    tp: Literal["order"] | None = "order"
    total: Decimal | None = None
    status: Literal["placed", "cancelled"] = "placed"


class OrderLine(
    _Item,
    table=table,
    key=(orders, "{order}#{line:03}"),
    lint_ignore={"S04": "an order keeps the price at which it was placed"},
):
    """One line of an order, numbered from 1, with the name and the price of its product."""

    user: str = part()
    order: OrderId = part()
    line: int = part()
    product: ProductId | None = None
    seller: str | None = None
    name: str | None = None
    price: Decimal | None = None
    quantity: int | None = None


# The product shard, which its user may write, and everybody may read.


class Product(_IdentifiedItem, table=table, key=(products, "{product}"), unique="id"):
    """A product that a user sells."""

    user: str = part()
    product: ProductId = part(default_factory=ProductId.new)
    tp: Literal["product"] | None = "product"
    name: str | None = None
    price: Decimal | None = attr(default=None, ge=0)


# The shards that only processes write: rewards, bills and payments.


class Reward(_IdentifiedItem, table=table, key=(rewards, "{reward}"), unique="id"):
    """A reward (bonus) granted to a user."""

    user: str = part()
    reward: RewardId = part()
    tp: Literal["reward"] | None = "reward"
    amount: Decimal | None = None
    reason: str | None = None
    order: OrderId | None = None


class Bill(_IdentifiedItem, table=table, key=(billing, "{bill}"), unique="id"):
    """A bill for an order: open, then paid, or void if the order was cancelled."""

    user: str = part()
    bill: BillId = part()
    tp: Literal["bill"] | None = "bill"
    order: OrderId
    amount: Decimal
    status: Literal["open", "paid", "void"] = "open"


class Payment(_IdentifiedItem, table=table, key=(billing, "{payment}"), unique="id"):
    """A payment of a bill. The card's number is stored by the payment provider, not here."""

    user: str = part()
    payment: PaymentId = part()
    tp: Literal["payment"] | None = "payment"
    bill: BillId
    amount: Decimal
    card: str | None = None
    holder: str | None = None


# Accounts, each in a partition of its own.


class Account(_IdentifiedItem, table=table, key=(accounts, "{account}"), unique="id"):
    """An account: a group of users; `users` is their number."""

    account: AccountId = part()
    tp: Literal["account"] | None = "account"
    name: str | None = None
    users: int = attr(default=0, ge=0)


class AccountMember(_Item, table=table, key=(accounts, "{account}#{user}"), unique="user"):
    """A user of an account, stored with the account: each user is in one account at most."""

    account: AccountId = part()
    user: str
