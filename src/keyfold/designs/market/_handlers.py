"""Change handlers of the market: the bill of each placed order, and the reward of each paid bill.

They run in the process that calls `store.follow(market.table)`, separate from the one that places
orders.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from typing import TypeVar

from keyfold import Change, Request, Ulid
from keyfold.designs.market._items import Bill, BillId, Order, OrderId, Reward, RewardId, table
from keyfold.errors import FieldNotRecorded

# The share of a bill's amount that is granted as a reward.
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


def total_of(order: Order, use: str) -> Decimal:
    """Return the total of an order; raises FieldNotRecorded if it has none.

    `use` says what needs it.
    """
    if order.total is None:
        key = f"{order.order} of {order.user}"
        advice = "Record it with the pattern Record the total of an order."
        raise FieldNotRecorded("Order", key, "total", use, advice)
    return order.total


@table.on_change(Order)
def bill_order(change: Change[Order]) -> Request[Bill | None] | None:
    """Create the bill of an order that was placed.

    Raises FieldNotRecorded for an order without a total, which becomes a dead letter: record the
    total, and retry the letter.
    """
    order = change.new
    if change.kind != "inserted" or order is None or order.status == "cancelled":
        return None
    if order.total is None:
        # The change has the order as it was inserted. The total may have been recorded since.
        return Order.get(user=order.user, order=order.order).consistent().then(_bill_of)
    return _bill_of(order)


def _bill_of(order: Order) -> Request[Bill]:
    bill = Bill(
        user=order.user,
        bill=id_for(BillId, order.order),
        order=order.order,
        amount=total_of(order, "its bill"),
        ttl=order.ttl,
    )
    # A change may be delivered twice, and the bill may be paid, or void, by then: keep it.
    return bill.create().or_get()


@table.on_change(Bill)
def reward_order(change: Change[Bill]) -> Request[Reward] | None:
    """Create the reward of an order whose bill was paid: a share of the amount, rounded down."""
    bill = change.new
    if bill is None or bill.status != "paid":
        return None
    if change.old is not None and change.old.status == "paid":
        return None
    amount = (bill.amount * REWARD_SHARE).quantize(_CENT, ROUND_DOWN)
    if not amount:
        return None
    reward = Reward(
        user=bill.user,
        reward=id_for(RewardId, bill.order),
        amount=amount,
        reason="order",
        order=bill.order,
        ttl=bill.ttl,
    )
    return reward.create().or_get()
