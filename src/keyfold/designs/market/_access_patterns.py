"""Read access patterns of the market: those of the design document, and others its keys allow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from keyfold import Collection, Query
from keyfold.designs.market._items import (
    Address,
    Cart,
    Order,
    OrderId,
    OrderLine,
    Reward,
    User,
    by_id,
    by_key,
    table,
)
from keyfold.requests import Chain, CollectionGet, Mapped

# Access patterns of the design document.


class UserProfile(Collection):
    """The contents of a user's profile shard."""

    user: User
    addresses: list[Address]
    carts: list[Cart]


@table.pattern("Get user profile")
def user_profile(user: str) -> CollectionGet[UserProfile]:
    """Get a user with addresses and carts, in one query; None if the user does not exist."""
    return UserProfile.get(user=user)


@table.pattern("Get the list of last N orders for user")
def last_orders(user: str, count: int) -> Query[Order]:
    """Query the `count` newest orders of a user, newest first.

    Order lines are stored between the orders and are read but not returned. The page has the
    number of items `scanned`, and the capacity `consumed`.
    """
    return Order.query(user=user).descending().limit(count)


@table.pattern("Display bonuses for user")
def bonuses(user: str) -> Query[Reward]:
    """Query the rewards of a user, newest first."""
    return Reward.query(user=user).descending()


class OrderWithLines(Collection):
    """An order, and its lines sorted by number."""

    order: Order
    lines: list[OrderLine]


@table.pattern("Get a single order with all its items by id")
def order_by_id(id: str) -> Mapped[OrderWithLines | None]:  # noqa: A002 - the document's term
    """Get the order with a business id, and its lines; None if there is none.

    Principals that may not read the index may still run the lookup in it; they get the order if
    they may read the order itself. The index may lag behind a write: an order that was just given
    the id may not be found yet. The order itself is read consistently, so one that no longer has
    the id is not returned.
    """
    found = Order.query(by_id, id=id, tp="order").first()
    order = found.lookup_then(
        lambda order: OrderWithLines.get(user=order.user, order=order.order).consistent()
    )
    return order.map(lambda found, _: found if found and found.order.id == id else None)


# Other access patterns that the document's keys and indexes allow.


@table.pattern("Lookup by system key")
def find_by_key(key: str) -> Chain[Any]:
    """Get the item with a system key, whatever its entity; None if there is none.

    The index is keys-only: it has the partition of the item. It may lag behind a write: an item
    that was just created may not be found yet. The item itself is read consistently. Every principal
    may run the lookup; only those that may read the item get it.
    """
    found = table.query(by_key, sk=key).refs().first()
    return found.lookup_then(lambda ref: table.get(pk=ref.key["pk"]["S"], sk=key).consistent())


@table.pattern("Lookup by business id")
def find_by_id(id: str, tp: str) -> Mapped[Any]:  # noqa: A002 - the document's term
    """Get the item with a business id and a type; None if there is none.

    Every principal may run the lookup; only those that may read the item get it. The index may lag
    behind a write: as with orders, an item that was just given the id may not be found yet, and one
    that no longer has the id is not returned.
    """
    found = table.query(by_id, id=id, tp=tp).refs().first()
    item = found.lookup_then(
        lambda ref: table.get(pk=ref.key["pk"]["S"], sk=ref.key["sk"]["S"]).consistent()
    )
    return item.map(lambda found, _: found if found and found.id == id else None)


@table.pattern(
    "Orders between two dates",
    example={
        "since": datetime(2026, 1, 1, tzinfo=UTC),
        "until": datetime(2026, 1, 31, tzinfo=UTC),
    },
)
def orders_between(user: str, since: datetime, until: datetime) -> Query[Order]:
    """Query the orders that a user placed between two times, both included, oldest first.

    An order's id begins with its time, so this is a range of keys: no other orders are read.
    """
    low, high = OrderId.range(since=since, until=until)
    return Order.query(user=user).between(low, high)
