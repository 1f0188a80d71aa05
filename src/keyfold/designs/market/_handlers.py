"""Change handlers of the market, which create the bill and the reward of each placed order.

They run in the process that calls `store.follow(market.table)`, separate from the one that places
orders.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from typing import TypeVar

from keyfold import Change, Request, Ulid
from keyfold.designs.market._items import Bill, BillId, Order, OrderId, Reward, RewardId, table

# The share of an order's total that is granted as a reward.
REWARD_SHARE = Decimal("0.05")
_CENT = Decimal("0.01")

I = TypeVar("I", bound=Ulid)  # noqa: E741 - an id


def id_for(kind: type[I], order: OrderId) -> I:
    """Return the id of an order's bill or reward: the order's ULID with the prefix of `kind`.

    It is the same each time, which makes the handlers idempotent, and unique to the order.

    >>> id_for(RewardId, OrderId("O#01JZ10H7X367VB2NF4YQ973DHW"))
    RewardId('R#01JZ10H7X367VB2NF4YQ973DHW')
    """
    return kind(kind.head + order.removeprefix(OrderId.head))


@table.on_change(Order)
def bill_order(change: Change[Order]) -> Request[Bill] | None:
    """Create the bill of an order that was placed."""
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
    # A change may be delivered twice, and the bill may be paid in between: keep an existing bill.
    return bill.create().or_get()


@table.on_change(Order)
def reward_order(change: Change[Order]) -> Request[Reward] | None:
    """Create the reward of an order that was placed: a share of its total, rounded down."""
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
