"""Fault injection: decides at random, from one seed, which call meets which fault."""

from __future__ import annotations

from random import Random
from typing import Any

from keyfold.errors import (
    ProvisionedThroughputExceededException,
    ServiceError,
    TransactionCanceledException,
    TransactionConflictException,
)
from keyfold.testing._fault_profile import FaultProfile
from keyfold.testing._operations import (
    ITEM_OPERATIONS,
    SINGLE_WRITES,
    TRANSACTIONS,
    writes_items,
)

_THROTTLED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
_ONGOING = "Transaction is ongoing for the item"


class FaultInjector:
    """Draws the faults of each call.

    A rate of 0 draws no random number, so faults that a profile does not use never change the
    draws of those that it does.
    """

    def __init__(self, faults: FaultProfile) -> None:
        self.faults = faults
        rates = (
            faults.throttling,
            faults.unprocessed,
            faults.conflicts,
            faults.stale_reads,
            faults.index_lag,
        )
        # Whether a call has to be inspected at all; latency does not depend on the call.
        self.is_active = any(rates)
        self.needs_replica = faults.stale_reads > 0 or faults.index_lag > 0
        self._random = Random(faults.seed)  # noqa: S311 - not a secret, and has to be repeatable

    def draw_delay(self) -> float:
        """Return the seconds by which a call is delayed; usually 0."""
        return self.faults.latency_seconds if self._happens(self.faults.latency) else 0.0

    def draw_refusal(self, operation: str, request: dict[str, Any]) -> ServiceError | None:
        """Return the error that a call is refused with; None if it is carried out."""
        faults = self.faults
        if operation in ITEM_OPERATIONS and self._happens(faults.throttling):
            return ProvisionedThroughputExceededException(_THROTTLED)
        is_write = operation in SINGLE_WRITES or (
            operation == "ExecuteStatement" and writes_items(operation, request)
        )
        if is_write and self._happens(faults.conflicts):
            return TransactionConflictException(_ONGOING)
        if operation in TRANSACTIONS:
            members: Any = request.get(TRANSACTIONS[operation])
            if isinstance(members, list) and members and self._happens(faults.conflicts):
                return self._conflict(len(members))  # pyright: ignore[reportUnknownArgumentType] - of JSON
        return None

    def draw_leftovers(self, count: int) -> list[int]:
        """Return the indexes of the members that a batch of `count` leaves out; never all."""
        rate = self.faults.unprocessed
        left = [index for index in range(count) if self._happens(rate)]
        return left if len(left) < count else left[1:]

    def draw_staleness(self, *, of_global_index: bool) -> bool:
        """Return whether an eventually consistent read is answered by the replica."""
        faults = self.faults
        return self._happens(faults.stale_reads) or (
            of_global_index and self._happens(faults.index_lag)
        )

    def _conflict(self, count: int) -> TransactionCanceledException:
        """Return the cancellation of a transaction that conflicts with another on one item."""
        reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in range(count)]
        reasons[self._random.randrange(count)] = {
            "Code": "TransactionConflict",
            "Message": _ONGOING,
        }
        codes = ", ".join(reason["Code"] for reason in reasons)
        return TransactionCanceledException(
            "Transaction cancelled, please refer cancellation reasons for specific reasons "
            f"[{codes}]",
            {"CancellationReasons": reasons},
        )

    def _happens(self, rate: float) -> bool:
        return rate > 0 and self._random.random() < rate
