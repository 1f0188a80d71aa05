"""Throughput that is set beside the provisioned one: maximums on demand, and warm throughput."""

from __future__ import annotations

from typing import Any

from keyfold.engine._wording import INVALID
from keyfold.errors import ValidationException

# What removes a maximum again.
UNLIMITED = -1

_ON_DEMAND = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
_WARM = ("ReadUnitsPerSecond", "WriteUnitsPerSecond")


def check_on_demand(throughput: dict[str, Any] | None, mode: str, owner: str) -> None:
    """Raise unless maximums are given where the billing mode has them, and can be kept to."""
    if throughput is None:
        return
    if mode != "PAY_PER_REQUEST":
        raise ValidationException(
            f"{INVALID}OnDemandThroughput should not be specified for {owner} "
            "when BillingMode is PROVISIONED"
        )
    given = _given(throughput, _ON_DEMAND, "OnDemandThroughput", owner)
    for name, units in given.items():
        if units != UNLIMITED and units < 1:
            raise ValidationException(f"Given value {units} for {name} is out of bounds")


def check_warm(throughput: dict[str, Any] | None, before: dict[str, Any], owner: str) -> None:
    """Raise unless warm throughput is at least one unit, and no less than it was."""
    if throughput is None:
        return
    for name, units in _given(throughput, _WARM, "WarmThroughput", owner).items():
        if units < 1:
            raise ValidationException(f"Given value {units} for {name} is out of bounds")
        if units < before.get(name, 0):
            raise ValidationException(
                f"{INVALID}Requested {name} for WarmThroughput for {owner} is lower than current "
                "WarmThroughput, decreasing WarmThroughput is not supported"
            )


def _given(
    throughput: dict[str, Any], names: tuple[str, ...], parameter: str, owner: str
) -> dict[str, int]:
    given = {name: throughput[name] for name in names if throughput.get(name) is not None}
    if not given:
        raise ValidationException(
            f"{INVALID}At least one of {names[0]} or {names[1]} must be specified "
            f"in {parameter} for {owner}"
        )
    return given


def merge_throughput(before: dict[str, Any] | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return what holds after a change that may leave out what is to stay."""
    known = {name: units for name, units in given.items() if units is not None}
    return {**(before or {}), **known}


def describe_warm(throughput: dict[str, Any], status: str) -> dict[str, Any]:
    """Return warm throughput as descriptions have it."""
    return {**throughput, "Status": status}
