"""Key conditions and start keys as ranges of bytes.

Whatever a query asks of its sort key, it is one range of the order that rows or index
entries are kept in: from `low` up to but not including `high`.
"""

from __future__ import annotations

from typing import assert_never

from keyfold.engine._keys import (
    END,
    MAX_PARTITION_BYTES,
    MAX_SORT_BYTES,
    PARTITION_TOO_LONG,
    SORT_TOO_LONG,
    KeySchema,
    encode_part,
    join_partition,
)
from keyfold.engine.expressions import (
    AtLeast,
    AtMost,
    BeginsWith,
    Greater,
    KeyAttribute,
    Less,
    ResolvedKeyCondition,
    SortRange,
    Within,
)
from keyfold.engine.storage import Span
from keyfold.errors import ValidationException
from keyfold.values import prefix_end, terminate_part

HASHES = 1 << 32


def condition_span(condition: ResolvedKeyCondition, schema: KeySchema) -> tuple[bytes, bytes]:
    """Return the range of rows, or index entries, that a key condition selects."""
    parts = [
        encode_part(attribute, value)
        for attribute, value in zip(schema.partition, condition.partition, strict=True)
    ]
    if sum(map(len, parts)) > MAX_PARTITION_BYTES:
        raise ValidationException(PARTITION_TOO_LONG)
    low = join_partition(schema, parts)
    sort = schema.sort
    several = len(sort) > 1
    equals = condition.sort_equals
    for attribute, value in zip(sort, equals, strict=False):
        low += _closed(attribute, value, several=several)
    if condition.sort_range is not None:
        return _range_span(low, sort[len(equals)], condition.sort_range, several=several)
    if equals and not several:
        return low, low + b"\0"
    return low, _end_of(low)


def _closed(attribute: KeyAttribute, value: dict[str, str], *, several: bool) -> bytes:
    part = encode_part(attribute, value)
    if len(part) > MAX_SORT_BYTES:
        raise ValidationException(SORT_TOO_LONG)
    return terminate_part(part) if several else part


def _range_span(
    prefix: bytes, attribute: KeyAttribute, wanted: SortRange, *, several: bool
) -> tuple[bytes, bytes]:
    def at(value: dict[str, str]) -> bytes:
        return prefix + _closed(attribute, value, several=several)

    def past(value: dict[str, str]) -> bytes:
        # A single sort key ends its entry, so the next greater bytes are one zero longer. With
        # several, more parts may follow: past all of them.
        return _end_of(at(value)) if several else at(value) + b"\0"

    match wanted:
        case Less(value):
            return prefix, at(value)
        case AtMost(value):
            return prefix, past(value)
        case Greater(value):
            return past(value), _end_of(prefix)
        case AtLeast(value):
            return at(value), _end_of(prefix)
        case Within(lower, upper):
            return at(lower), past(upper)
        case BeginsWith(value):
            start = encode_part(attribute, value)
            if several:
                start = terminate_part(start)[:-2]
            return prefix + start, _end_of(prefix + start)
        case _:
            assert_never(wanted)


def _end_of(prefix: bytes) -> bytes:
    return prefix_end(prefix) or END


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
    """Return the span that goes on after a start key: its row, and its entry for an index."""
    if row_key is None:
        return Span(low, high, reverse, column)
    if column is None or entry is None:
        if reverse:
            return Span(low, min(high, row_key), reverse)
        return Span(max(low, row_key + b"\0"), high, reverse)
    after = (entry, row_key)
    if reverse:
        return Span(low, min(high, entry + b"\0"), reverse, column, after)
    return Span(max(low, entry), high, reverse, column, after)


def partition_of(entry: bytes) -> bytes:
    """Return the part of a row key or index entry that stands for its partition."""
    length = int.from_bytes(entry[4:6], "big")
    return entry[: 6 + length]
