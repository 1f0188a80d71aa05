"""Fault profiles: the faults to inject into a service."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf
from typing import cast

from keyfold.clocks import Duration, read_duration
from keyfold.errors import OptionInvalid

_MOST_SECONDS = 10 * 365 * 86_400


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultProfile:
    """Faults to inject, as rates, with a seed: those that DynamoDB's callers meet at times.

    A rate is the share of calls with the fault, from 0 (never) to 1 (always). All random numbers
    come from `seed`: the same calls in the same order meet the same faults.

    `throttling` refuses reads and writes of items with a
    `ProvisionedThroughputExceededException`, before anything is done.

    `unprocessed` is the share of a batch's members that are returned in `UnprocessedItems` or
    `UnprocessedKeys`. At least one member is always processed, and an invalid batch is refused
    as a whole.

    `conflicts` refuses writes of single items with a `TransactionConflictException`, and cancels
    transactions with `TransactionConflict` as the reason of one member.

    `stale_reads` has eventually consistent reads answered by a replica that lacks the last
    writes, up to `lag_writes` of them; `index_lag` does so only for queries, scans and statements
    that read global indexes. With every stale response the replica catches up by one write, and when the clock
    is moved, completely.

    `latency` makes calls take `latency_seconds` longer.

    `expiry_grace` is not a rate: it is how long items stay after their expiry, a timedelta or a
    number of seconds.

    >>> FaultProfile(throttling=0.1, seed=7).throttling
    0.1

    Raises OptionInvalid for a value out of range.
    """

    seed: int = 0
    throttling: float = 0.0
    unprocessed: float = 0.0
    conflicts: float = 0.0
    stale_reads: float = 0.0
    index_lag: float = 0.0
    latency: float = 0.0
    latency_seconds: float = 0.05
    expiry_grace: Duration = 0.0
    lag_writes: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name))


def _check(name: str, value: object) -> None:
    match name:
        case "seed":
            is_valid, advice = _is_whole(value), "Give a whole number."
        case "lag_writes":
            is_valid = _is_whole(value) and _is_between(value, 1, inf)
            advice = "Give a whole number, 1 or more."
        case "expiry_grace":
            read_duration(f"FaultProfile.{name}", cast(Duration, value))
            return
        case "latency_seconds":
            is_valid = _is_between(value, 0, _MOST_SECONDS)
            advice = "Give a number of seconds, 0 or more."
        case _:
            is_valid = _is_between(value, 0, 1)
            advice = "Give a rate from 0 (never) to 1 (always)."
    if not is_valid:
        raise OptionInvalid(f"FaultProfile.{name}", value, advice)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_between(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
