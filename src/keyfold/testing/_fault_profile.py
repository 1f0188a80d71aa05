"""What a test may ask the service to be like on a bad day."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf

from keyfold.errors import OptionInvalid

_MOST_SECONDS = 10 * 365 * 86_400


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultProfile:
    """What DynamoDB does to its callers now and then, by rate and seed.

    A rate is the share of calls that meet it, from 0 (never) to 1 (always). Every draw comes
    from `seed`: the same calls in the same order meet the same again.

    `throttling` refuses reads and writes of items with a
    `ProvisionedThroughputExceededException`, before anything is done.

    `unprocessed` is the share of a batch's members that come back in `UnprocessedItems` or
    `UnprocessedKeys`. At least one is always processed, and a batch with a fault is refused as
    a whole.

    `conflicts` refuses writes of single items with a `TransactionConflictException`, and cancels
    transactions with `TransactionConflict` as the reason of one member.

    `stale_reads` has eventually consistent reads answered by a copy that lacks the last writes,
    up to `lag_writes` of them; `index_lag` does so for queries and scans of global indexes
    alone. Every stale answer brings the copy one write nearer, and moving the clock all of them.

    `latency` makes calls take `latency_seconds` longer.

    `ttl_lag_seconds` is no rate: so long do expired items stay after their time.

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
    ttl_lag_seconds: float = 0.0
    lag_writes: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name))


def _check(name: str, value: object) -> None:
    match name:
        case "seed":
            is_fitting, advice = _is_whole(value), "Give a whole number."
        case "lag_writes":
            is_fitting = _is_whole(value) and _is_between(value, 1, inf)
            advice = "Give a whole number, 1 or more."
        case "latency_seconds" | "ttl_lag_seconds":
            is_fitting = _is_between(value, 0, _MOST_SECONDS)
            advice = "Give a number of seconds, 0 or more."
        case _:
            is_fitting = _is_between(value, 0, 1)
            advice = "Give a rate from 0 (never) to 1 (always)."
    if not is_fitting:
        raise OptionInvalid(f"FaultProfile.{name}", value, advice)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_between(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
