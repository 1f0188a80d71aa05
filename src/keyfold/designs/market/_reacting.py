"""What follows from a placed order: its reward and its bill, made from the table's changes.

The order shard is read-only to its user, and what belongs to an order is made by another process
than the one that places it: whoever runs `store.follow(market.table)`.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from typing import TypeVar

from keyfold import Change, Request, Ulid
from keyfold.designs.market._items import Bill, BillId, Order, OrderId, Reward, RewardId, table

# What of an order's total comes back as a bonus.
REWARD_SHARE = Decimal("0.05")
_CENT = Decimal("0.01")

I = TypeVar("I", bound=Ulid)  # noqa: E741 - an id


def id_for(kind: type[I], order: OrderId) -> I:
    """Return the id of what an order has one of: the order's own ULID, with another letter.

    So it is the same each time it is made, and no other order's.

    >>> id_for(RewardId, OrderId("O#01JZ10H7X367VB2NF4YQ973DHW"))
    RewardId('R#01JZ10H7X367VB2NF4YQ973DHW')
    """
    return kind(kind.head + order.removeprefix(OrderId.head))


@table.on_change(Order)
def bill_order(change: Change[Order]) -> Request[Bill] | None:
    """Make the bill of an order that was placed."""
    order = change.new
    if change.kind != "inserted" or order is None:
        return None
    bill = Bill(
        user=order.user,
        bill=id_for(BillId, order.order),
        order=order.order,
        amount=order.total,
        ttl=order.ttl,
    )
    # A change may be seen twice, and the bill be paid in between: what is there stays as it is.
    return bill.create().or_get()


@table.on_change(Order)
def reward_order(change: Change[Order]) -> Request[Reward] | None:
    """Grant the reward of an order that was placed: a share of its total, rounded down."""
    order = change.new
    if change.kind != "inserted" or order is None:
        return None
    amount = (order.total * REWARD_SHARE).quantize(_CENT, ROUND_DOWN)
    if not amount:
        return None
    reward = Reward(
        user=order.user,
        reward=id_for(RewardId, order.order),
        amount=amount,
        reason="order",
        order=order.order,
        ttl=order.ttl,
    )
    return reward.create().or_get()
