"""How the market is read: the document's access patterns, and what else its keys are for."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict

from keyfold import Chain, Collection, CollectionGet, First, Query
from keyfold.designs.market._items import (
    Address,
    BillId,
    Cart,
    Order,
    OrderId,
    OrderLine,
    Payment,
    PaymentId,
    Reward,
    User,
    by_id,
    by_key,
    table,
)

# Access patterns of the document.


class UserProfile(Collection):
    """All that is in a user's profile shard."""

    user: User
    addresses: list[Address]
    carts: list[Cart]


@table.pattern("Get user profile")
def user_profile(user: str) -> CollectionGet[UserProfile]:
    """A user with addresses and carts, in one query; None if there is no such user."""
    return UserProfile.get(user=user)


@table.pattern("Get the list of last N orders for user")
def last_orders(user: str, count: int) -> Query[Order]:
    """The newest orders of a user: as many as are wanted, if there are so many.

    The lines of orders lie between them and are read past. The page says how many items were
    `scanned`, and what that `consumed`.
    """
    return Order.query(user=user).descending().limit(count)


@table.pattern("Display bonuses for user")
def bonuses(user: str) -> Query[Reward]:
    """The rewards of a user, newest first."""
    return Reward.query(user=user).descending()


class OrderWithLines(Collection):
    """An order, and its lines in the order of their numbers."""

    order: Order
    lines: list[OrderLine]


@table.pattern("Get a single order with all its items by id")
def order_by_id(id: str) -> Chain[OrderWithLines | None]:  # noqa: A002 - the document's word
    """The order that has a business id, with its lines; None if there is none.

    Whoever may not look into the index has it looked up, and gets the order if they may read that.
    """
    found = Order.query(by_id, id=id, tp="order").first()
    return found.lookup_then(lambda order: OrderWithLines.get(user=order.user, order=order.order))


# What else the document's indexes and keys are for.


@table.pattern("Lookup by system key")
def find_by_key(key: str) -> Chain[Any]:
    """The item that has a system key, of whatever type it is; None if there is none.

    The index knows in which partition it lies, and nothing more. It is looked up for everybody; the
    item is for whoever may read it.
    """
    found = table.query(by_key, sk=key).refs().first()
    return found.lookup_then(lambda ref: table.get(pk=ref.key["pk"]["S"], sk=key))


@table.pattern("Lookup by business id")
def find_by_id(id: str, tp: str) -> First[Any]:  # noqa: A002 - the document's word
    """The item of a type that has a business id; None if there is none."""
    return table.query(by_id, id=id, tp=tp).first()


class PaymentSummary(BaseModel):
    """What is to be seen of a payment by whoever may not see how it was made."""

    model_config = ConfigDict(frozen=True)

    payment: PaymentId
    bill: BillId
    amount: Decimal


@table.pattern("List payments of user")
def payments(user: str) -> Query[PaymentSummary]:
    """The payments of a user without cards and their holders, newest first."""
    return Payment.query(user=user).descending().only(PaymentSummary)


@table.pattern(
    "Orders between two dates",
    example={
        "since": datetime(2026, 1, 1, tzinfo=UTC),
        "until": datetime(2026, 1, 31, tzinfo=UTC),
    },
)
def orders_between(user: str, since: datetime, until: datetime) -> Query[Order]:
    """The orders that a user placed between two moments, both included, oldest first.

    It is a range of keys, since an order's id begins with its time; no order outside is read.
    """
    low, high = OrderId.range(since=since, until=until)
    return Order.query(user=user).between(low, high)
