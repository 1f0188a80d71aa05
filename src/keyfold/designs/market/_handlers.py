"""Change handlers of the market, which create the bill and the reward of each placed order.

They run in the process that calls `store.follow(market.table)`, separate from the one that places
orders.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from typing import TypeVar

from keyfold import Change, Request, Ulid
from keyfold.designs.market._items import Bill, BillId, Order, OrderId, Reward, RewardId, table
from keyfold.errors import FieldNotRecorded

# The share of an order's total that is granted as a reward.
REWARD_SHARE = Decimal("0.05")
_CENT = Decimal("0.01")

I = TypeVar("I", bound=Ulid)  # noqa: E741 - an id
R = TypeVar("R")


def id_for(kind: type[I], order: OrderId) -> I:
    """Return the id of an order's bill or reward: the order's ULID with the prefix of `kind`.

    It is the same each time, which makes the handlers idempotent, and unique to the order.

    >>> id_for(RewardId, OrderId("O#01JZ10H7X367VB2NF4YQ973DHW"))
    RewardId('R#01JZ10H7X367VB2NF4YQ973DHW')
    """
    return kind(kind.head + order.removeprefix(OrderId.head))


@table.on_change(Order)
def bill_order(change: Change[Order]) -> Request[Bill | None] | None:
    """Create the bill of an order that was placed.

    Raises FieldNotRecorded for an order without a total, which becomes a dead letter: record the
    total, and retry the letter.
    """
    return _follow_from(change, _bill_of)


@table.on_change(Order)
def reward_order(change: Change[Order]) -> Request[Reward | None] | None:
    """Create the reward of an order that was placed: a share of its total, rounded down.

    Raises FieldNotRecorded as `bill_order` does.
    """
    order = change.new
    if order is not None and order.total is not None and not _reward_amount(order):
        return None
    return _follow_from(change, _reward_of)


def total_of(order: Order, use: str) -> Decimal:
    """Return the total of an order; raises FieldNotRecorded if it has none."""
    if order.total is None:
        key = f"{order.order} of {order.user}"
        advice = "Record it with Order.update(…).set(Order.f.total, …)."
        raise FieldNotRecorded("Order", key, "total", use, advice)
    return order.total


def _follow_from(
    change: Change[Order], make: Callable[[Order], Request[R]]
) -> Request[R | None] | None:
    """Return the request that follows from an order that was inserted."""
    order = change.new
    if change.kind != "inserted" or order is None:
        return None
    if order.total is None:
        # The change has the order as it was inserted. The total may have been recorded since.
        return Order.get(user=order.user, order=order.order).consistent().then(make)
    return make(order)


def _bill_of(order: Order) -> Request[Bill]:
    bill = Bill(
        user=order.user,
        bill=id_for(BillId, order.order),
        order=order.order,
        amount=total_of(order, "its bill"),
        ttl=order.ttl,
    )
    # A change may be delivered twice, and the bill may be paid in between: keep an existing bill.
    return bill.create().or_get()


def _reward_of(order: Order) -> Request[Reward]:
    reward = Reward(
        user=order.user,
        reward=id_for(RewardId, order.order),
        amount=_reward_amount(order),
        reason="order",
        order=order.order,
        ttl=order.ttl,
    )
    return reward.create().or_get()


def _reward_amount(order: Order) -> Decimal:
    return (total_of(order, "its reward") * REWARD_SHARE).quantize(_CENT, ROUND_DOWN)
