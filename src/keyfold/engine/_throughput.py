"""Throughput that is set beside the provisioned one: maximums on demand, and warm throughput."""

from __future__ import annotations

from typing import Any, Literal

from keyfold.engine._wording import INVALID
from keyfold.errors import ValidationException

# What removes a maximum again.
UNLIMITED = -1

_ON_DEMAND = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
# Each with what a table on demand starts with, and with what it must not be below otherwise.
_WARM = {
    "ReadUnitsPerSecond": (12_000, "ReadCapacityUnits"),
    "WriteUnitsPerSecond": (4_000, "WriteCapacityUnits"),
}
_INITIAL = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)


def check_on_demand(
    throughput: dict[str, Any] | None, mode: str, index: str | None, *, may_clear: bool
) -> None:
    """Raise unless maximums are given where the billing mode has them, and can be kept to.

    With `may_clear` they may be removed, which for a new table or index makes no sense.
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
    """Raise for warm throughput that is less than a new table or index starts with."""
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
    """Raise for warm throughput that is less than there is."""
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
    """Raise for a change that names nothing to change; the service fails at it."""
    if request.get(name) == {}:
        raise ValidationException(f"{INVALID}{name} must not be empty")


def merge_throughput(before: dict[str, Any] | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return what holds after a change that may leave out what is to stay."""
    known = {name: units for name, units in given.items() if units is not None}
    return {**(before or {}), **known}


def describe_warm(
    throughput: dict[str, Any], mode: str, provisioned: dict[str, Any] | None, status: str
) -> dict[str, Any]:
    """Return warm throughput as descriptions have it: what was not set is what it starts with."""
    described: dict[str, Any] = {}
    for name, (initial, capacity) in _WARM.items():
        start = initial if mode == "PAY_PER_REQUEST" else (provisioned or {}).get(capacity, 0)
        described[name] = max(throughput.get(name, 0), start)
    return {**described, "Status": status}
