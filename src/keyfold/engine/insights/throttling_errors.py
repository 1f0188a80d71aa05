"""The errors of throttled requests, with their reasons, as the service words them."""

from __future__ import annotations

from typing import Any

from keyfold.capacity import Refusal
from keyfold.errors import (
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ServiceError,
    ThrottlingException,
)

# What a throttled request may raise.
THROTTLED = (
    ThrottlingException,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
)

_MAXIMUM = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
_KEY_RANGE = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically "
    "scaling your table or index so please try again shortly. If exceptions persist, check if you "
    "have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "bp-partition-key-design.html"
)
_ACCOUNT = (
    "Throughput exceeds the current throughput limit for your account. To request a limit "
    "increase, contact AWS Support at https://aws.amazon.com/support."
)
_TABLE = (
    "The level of configured provisioned throughput for the table was exceeded. Consider "
    "increasing your provisioning level with the UpdateTable API."
)
_INDEX = (
    "The level of configured provisioned throughput for one or more global secondary indexes of "
    "the table was exceeded. Consider increasing your provisioning level for the under-provisioned "
    "global secondary indexes with the UpdateTable API"
)


def throttling_error(refusal: Refusal, table_arn: str, *, is_on_demand: bool) -> ServiceError:
    """Return the error for a refused request to a table, or to an index of it."""
    resource = f"{table_arn}/index/{refusal.name}" if refusal.name else table_arn
    reasons = [{"reason": refusal.reason, "resource": resource}]
    if refusal.limit == "AccountLimitExceeded":
        return RequestLimitExceeded(_ACCOUNT, {"ThrottlingReasons": reasons})
    if is_on_demand:
        is_maximum = refusal.limit == "MaxOnDemandThroughputExceeded"
        return ThrottlingException(
            _MAXIMUM if is_maximum else _KEY_RANGE, {"throttlingReasons": reasons}
        )
    message = _INDEX if refusal.name else _TABLE
    return ProvisionedThroughputExceededException(message, {"ThrottlingReasons": reasons})


def cancellation_reason(error: ServiceError) -> dict[str, Any]:
    """Return the reason of a transaction that is cancelled for a throttled member."""
    is_provisioned = isinstance(error, ProvisionedThroughputExceededException)
    code = "ProvisionedThroughputExceeded" if is_provisioned else "ThrottlingError"
    return {"Code": code, "Message": error.message}
