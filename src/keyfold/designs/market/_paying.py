"""Bills, payments and rewards: patterns that list, pay and grant them."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from keyfold import Delete, Put, Query, Transaction, Update, transaction
from keyfold.designs.market._handlers import id_for
from keyfold.designs.market._items import (
    Bill,
    BillId,
    Order,
    OrderId,
    Payment,
    PaymentId,
    Reward,
    RewardId,
    table,
)


class BillSummary(BaseModel):
    """A projection of a bill, for principals that may not see everything in its shard."""

    model_config = ConfigDict(frozen=True)

    bill: BillId
    id: str | None = None
    order: OrderId
    amount: Decimal
    status: Literal["open", "paid", "void"] = "open"


class PaymentSummary(BaseModel):
    """A projection of a payment without the card, for principals that may not see it."""

    model_config = ConfigDict(frozen=True)

    payment: PaymentId
    bill: BillId
    amount: Decimal


_EXAMPLE_PAYMENT = Payment(
    user="rabinovich",
    payment=PaymentId("P#01JZ10H7X367VB2NF4YQ973DHW"),
    bill=BillId("B#01JZ10H7X367VB2NF4YQ973DHW"),
    amount=Decimal("0.90"),
)


@table.pattern("List bills of user")
def bills(user: str) -> Query[BillSummary]:
    """Query the bills of a user, newest first."""
    return Bill.query(user=user).descending().only(BillSummary)


@table.pattern(
    "Create the bill of an order",
    example={
        "user": "rabinovich",
        "order": OrderId("O#01JZ10H7X367VB2NF4YQ973DHW"),
        "amount": Decimal("0.90"),
    },
)
def create_bill(user: str, order: OrderId, amount: Decimal) -> Transaction:
    """Create the bill of an order; fails if it has one, or if `amount` is not the order's total.

    The change handler `bill_order` does this for each placed order. A cancelled order has a void
    bill, so it is not billed again.
    """
    bill = Bill(user=user, bill=id_for(BillId, order), order=order, amount=amount)
    is_total = Order.check(Order.f.total.eq(amount), user=user, order=order)
    return transaction(bill.create(), is_total)


@table.pattern("Pay a bill", example={"payment": _EXAMPLE_PAYMENT})
def pay_bill(payment: Payment) -> Transaction:
    """Record a payment, and mark its bill as paid, in one transaction.

    Fails if the bill is not open, so that it is paid once, and if the payment is not for its whole
    amount.
    """
    is_due = Bill.f.amount.eq(payment.amount) & ~Bill.f.status.in_(["paid", "void"])
    paid = Bill.update(user=payment.user, bill=payment.bill).set(Bill.f.status, "paid")
    return transaction(paid.where(is_due), payment.create())


@table.pattern("List payments of user")
def payments(user: str) -> Query[PaymentSummary]:
    """Query the payments of a user, without cards and card holders, newest first."""
    return Payment.query(user=user).descending().only(PaymentSummary)


_EXAMPLE_REWARD = Reward.model_validate(
    {"user": "rabinovich", "reward": "R#01JZ10H7X367VB2NF4YQ973DHW", "amount": 5}
)


@table.pattern("Grant a reward", example={"reward": _EXAMPLE_REWARD})
def grant_reward(reward: Reward) -> Put[Reward]:
    """Create a reward; fails with AlreadyExists if it was granted before, and changes nothing."""
    return reward.create()


class RewardChanges(BaseModel):
    """What may change of a reward."""

    model_config = ConfigDict(frozen=True)

    amount: Decimal | None = None
    reason: str | None = None


@table.pattern("Change a reward", example={"changes": RewardChanges(amount=Decimal(6))})
def change_reward(user: str, reward: RewardId, changes: RewardChanges) -> Update[Reward]:
    """Change the fields of a reward that are set in `changes`; fails if there is no such reward."""
    return Reward.update(user=user, reward=reward).set_from(changes)


@table.pattern("Revoke a reward")
def revoke_reward(user: str, reward: RewardId) -> Delete[Reward]:
    """Delete a reward; returns it, or None if there was none."""
    return Reward.delete(user=user, reward=reward)
