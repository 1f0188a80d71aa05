"""On-demand maximums and warm throughput of tables and indexes."""

from __future__ import annotations

from typing import Any, Literal

from keyfold.capacity import ON_DEMAND_UNITS, count_partitions
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID

# The value that removes a maximum.
UNLIMITED = -1

_ON_DEMAND = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
# Each with its initial value for an on-demand table, and the provisioned capacity that is its
# minimum otherwise.
_WARM = {
    "ReadUnitsPerSecond": (ON_DEMAND_UNITS["Read"], "ReadCapacityUnits"),
    "WriteUnitsPerSecond": (ON_DEMAND_UNITS["Write"], "WriteCapacityUnits"),
}
_INITIAL = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)


def check_on_demand(
    throughput: dict[str, Any] | None, mode: str, index: str | None, *, may_clear: bool
) -> None:
    """Raise ValidationException for on-demand maximums that are out of range.

    Also raise it if the billing mode is not on-demand. With `may_clear`, a maximum may be removed,
    which is not allowed for a new table or index.
    """
    for name in _ON_DEMAND:
        units = (throughput or {}).get(name)
        if units is None:
            continue
        if mode != "PAY_PER_REQUEST":
            owner = "" if index is None else f" for index : {index}"
            raise ValidationException(
                f"{INVALID}{name} for OnDemandThroughput{owner} cannot be specified "
                "when the table BillingMode is PROVISIONED"
            )
        if units < 1 and not (may_clear and units == UNLIMITED):
            owner = "table" if index is None else f"index : {index}"
            raise ValidationException(
                f"{INVALID}Requested {name} for OnDemandThroughput for {owner} "
                "is outside of valid range"
            )


def check_new_warm(
    throughput: dict[str, Any] | None,
    mode: str,
    provisioned: dict[str, Any] | None,
    index: str | None,
) -> None:
    """Raise ValidationException for warm throughput below a new table's or index's initial one."""
    for name, units in _warm_units(throughput):
        initial, capacity = _WARM[name]
        request = f"{INVALID}Requested {name} for WarmThroughput for {_owner(index)} is lower than"
        if mode == "PAY_PER_REQUEST" and units < initial:
            raise ValidationException(f"{request} initial throughput for OnDemand. See: {_INITIAL}")
        if mode != "PAY_PER_REQUEST" and units < (provisioned or {}).get(capacity, 0):
            raise ValidationException(f"{request} {capacity} of ProvisionedThroughput")


def check_warm_change(
    throughput: dict[str, Any] | None,
    before: dict[str, Any],
    mode: str,
    provisioned: dict[str, Any] | None,
    index: str | None,
) -> None:
    """Raise ValidationException for warm throughput below the current one."""
    for name, units in _warm_units(throughput):
        initial, capacity = _WARM[name]
        start = initial if mode == "PAY_PER_REQUEST" else (provisioned or {}).get(capacity, 0)
        if units < max(before.get(name, 0), start):
            raise ValidationException(
                f"{INVALID}Requested {name} for WarmThroughput for {_owner(index)} is lower than "
                "current WarmThroughput, decreasing WarmThroughput is not supported"
            )


def _warm_units(throughput: dict[str, Any] | None) -> list[tuple[str, int]]:
    given = throughput or {}
    return [(name, given[name]) for name in _WARM if given.get(name) is not None]


def _owner(index: str | None) -> str:
    return "table" if index is None else f"index {index}"


def check_not_empty(
    request: dict[str, Any], name: Literal["OnDemandThroughput", "WarmThroughput"]
) -> None:
    """Raise ValidationException for an empty object, at which the service fails."""
    if request.get(name) == {}:
        raise ValidationException(f"{INVALID}{name} must not be empty")


def merge_throughput(before: dict[str, Any] | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return the throughput after a change, which may omit members that stay the same."""
    known = {name: units for name, units in given.items() if units is not None}
    return {**(before or {}), **known}


def count_initial_partitions(
    warm: dict[str, Any] | None, mode: str, provisioned: dict[str, Any] | None
) -> int:
    """Return the number of partitions that the throughput of a table or global index requires."""
    units = describe_warm(warm or {}, mode, provisioned, "ACTIVE")
    return count_partitions(
        0,
        read_units_per_second=units["ReadUnitsPerSecond"],
        write_units_per_second=units["WriteUnitsPerSecond"],
    )


def describe_warm(
    throughput: dict[str, Any], mode: str, provisioned: dict[str, Any] | None, status: str
) -> dict[str, Any]:
    """Return the warm throughput of a description; members that were not set are initial."""
    described: dict[str, Any] = {}
    for name, (initial, capacity) in _WARM.items():
        start = initial if mode == "PAY_PER_REQUEST" else (provisioned or {}).get(capacity, 0)
        described[name] = max(throughput.get(name, 0), start)
    return {**described, "Status": status}
