"""Key conditions and start keys as ranges of bytes.

Every key condition selects one range of the sorted rows or index entries: from `low` up to but
not including `high`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from keyfold.engine.items.key_conditions import ResolvedKeyCondition
from keyfold.engine.items.key_faults import (
    MAX_PARTITION_BYTES,
    MAX_SORT_BYTES,
    KeyFault,
    KeyFaultKind,
    condition_fault_error,
)
from keyfold.engine.items.keys import (
    END,
    KeyAttribute,
    KeySchema,
    encode_part,
    end_of,
    join_partition,
)
from keyfold.engine.storage import Span
from keyfold.expressions.key_conditions import (
    AtLeast,
    AtMost,
    BeginsWith,
    EqualTo,
    Greater,
    Less,
    SortRange,
    Within,
)
from keyfold.values import terminate_part

HASHES = 1 << 32


def condition_span(condition: ResolvedKeyCondition, schema: KeySchema) -> tuple[bytes, bytes]:
    """Return the range of rows, or index entries, that a key condition selects.

    Raises ValidationException for a value that is too long.
    """
    parts = [
        encode_part(attribute, value)
        for attribute, value in zip(schema.partition, condition.partition, strict=True)
    ]
    size = sum(map(len, parts))
    if size > MAX_PARTITION_BYTES:
        names = tuple(attribute.name for attribute in schema.partition)
        raise condition_fault_error(KeyFault(KeyFaultKind.TOO_LONG, names, size_bytes=size))
    low = join_partition(schema, parts)
    sort = schema.sort
    several = len(sort) > 1
    equals = condition.sort_equals
    for attribute, value in zip(sort, equals, strict=False):
        low += _closed(attribute, value, several=several)
    if condition.sort_range is not None:
        return _range_span(low, sort[len(equals)], condition.sort_range, several=several)
    if equals and not several:
        return low, next_after(low)
    return low, end_of(low)


def _closed(attribute: KeyAttribute, value: dict[str, str], *, several: bool) -> bytes:
    part = encode_part(attribute, value)
    if len(part) > MAX_SORT_BYTES:
        fault = KeyFault(
            KeyFaultKind.TOO_LONG, (attribute.name,), half="RANGE", size_bytes=len(part)
        )
        raise condition_fault_error(fault)
    return terminate_part(part) if several else part


def _range_span(
    prefix: bytes, attribute: KeyAttribute, wanted: SortRange, *, several: bool
) -> tuple[bytes, bytes]:
    def at(value: dict[str, str]) -> bytes:
        return prefix + _closed(attribute, value, several=several)

    # With several sort keys, more parts may follow, and the range must end after all of them.
    past = end_of if several else next_after
    match wanted:
        case Less(value) | AtMost(value) | Greater(value) | AtLeast(value):
            low = at(value)
            high = past(low)
        case Within(lower, upper):
            low = at(lower)
            high = past(at(upper))
        case BeginsWith(value):
            start = encode_part(attribute, value)
            low = prefix + (terminate_part(start)[:-2] if several else start)
            high = end_of(low)
        case _:
            assert_never(wanted)
    return RANGES[type(wanted)](prefix, low, high)


def next_after(entry: bytes) -> bytes:
    """Return the smallest bytes greater than `entry`, for an entry with a single sort key."""
    return entry + b"\0"


def _between(prefix: bytes, low: bytes, high: bytes) -> tuple[bytes, bytes]:  # noqa: ARG001 - one signature for all
    return low, high


# The range that each constraint on a sort key selects of the entries that start with `prefix`:
# `low` is where the entries for its value begin, `high` where they end.
RANGES: dict[type[EqualTo | SortRange], Callable[[bytes, bytes, bytes], tuple[bytes, bytes]]] = {
    EqualTo: _between,
    Within: _between,
    BeginsWith: _between,
    Less: lambda prefix, low, _: (prefix, low),
    AtMost: lambda prefix, _, high: (prefix, high),
    AtLeast: lambda prefix, low, _: (low, end_of(prefix)),
    Greater: lambda prefix, _, high: (high, end_of(prefix)),
}


def segment_span(segment: int, total: int) -> tuple[bytes, bytes]:
    """Return the range of hashes that one segment of a parallel scan covers."""
    low = (segment * HASHES // total).to_bytes(4, "big")
    if segment == total - 1:
        return low, END
    return low, ((segment + 1) * HASHES // total).to_bytes(4, "big")


def resume_span(
    low: bytes,
    high: bytes,
    *,
    reverse: bool,
    column: str | None,
    entry: bytes | None,
    row_key: bytes | None,
) -> Span:
    """Return the span that continues after a start key: `row_key`, and `entry` for an index.

    Without a `row_key`, return the whole span.
    """
    if row_key is None:
        return Span(low, high, reverse, column)
    if column is None or entry is None:
        if reverse:
            return Span(low, min(high, row_key), reverse)
        return Span(max(low, row_key + b"\0"), high, reverse)
    # The place stands for a bound: an entry outside that bound, as in a forged token, must not move it.
    is_inside = entry < high if reverse else entry >= low
    return Span(low, high, reverse, column, (entry, row_key) if is_inside else None)


def partition_of(entry: bytes) -> bytes:
    """Return the prefix of a row key or index entry that identifies its partition."""
    length = int.from_bytes(entry[4:6], "big")
    return entry[: 6 + length]
