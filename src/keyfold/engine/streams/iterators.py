"""Shard iterators: positions in a shard, which clients pass from call to call.

The text of an iterator is self-contained, so any process that has the file open can continue from
it. Positions are sequence numbers of the log; clients see them as decimal numbers of one width,
so that they also sort as text.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, NamedTuple

import orjson

from keyfold.engine.storage import StorageReader
from keyfold.engine.streams.shards import ShardBody, key_range
from keyfold.errors import (
    ExpiredIteratorException,
    TrimmedDataAccessException,
    ValidationException,
)

ITERATOR_SECONDS = 15 * 60

TRIMMED = "The data you are trying to access has been trimmed"

_KIND = "1"

# 21 digits, the fewest that the API allows.
_LEAST_NUMBER = 10**20
# Between the numbers of two changes there is room for the end of a shard and the start of the
# next: even a shard without records has both numbers.
_STEP = 4
_END, _START = 1, 2


class StreamPosition(NamedTuple):
    """Where to continue reading: a shard of a stream, and the change to read after."""

    stream: str
    shard: str
    after: int


def to_iterator(position: StreamPosition, now: float) -> str:
    """Return the iterator for a position, valid for fifteen minutes."""
    payload = orjson.dumps([position.shard, position.after, now])
    return f"{position.stream}|{_KIND}|{urlsafe_b64encode(payload).decode()}"


def read_iterator(text: str, now: float) -> StreamPosition:
    """Return the position of an iterator.

    Raises ExpiredIteratorException if it is too old, ValidationException if it is malformed.
    """
    try:
        stream, kind, payload = text.rsplit("|", 2)
        if kind != _KIND:
            raise ValueError(kind)
        raw = urlsafe_b64decode(payload)
        shard, after, issued_at = _check_types(orjson.loads(raw))
    except (TypeError, ValueError):
        raise ValidationException("Invalid ShardIterator") from None
    if now - issued_at >= ITERATOR_SECONDS:
        raise ExpiredIteratorException("The provided iterator exceeds the maximum age allowed.")
    return StreamPosition(stream, shard, after)


def _check_types(parts: Any) -> tuple[str, int, float]:
    shard, after, issued_at = parts
    # A clock may return whole seconds as an int.
    if not (
        isinstance(shard, str) and isinstance(after, int) and isinstance(issued_at, int | float)
    ):
        raise TypeError(parts)
    return shard, after, issued_at


def to_sequence_number(sequence: int) -> str:
    """Return the sequence number of a change as clients see it.

    >>> to_sequence_number(1)
    '100000000000000000004'
    """
    return str(_LEAST_NUMBER + sequence * _STEP)


def starting_number(shard: ShardBody) -> str:
    """Return a number below those of a shard's records, and above those of earlier shards."""
    return str(_LEAST_NUMBER + shard["start"] * _STEP + _START)


def ending_number(end: int) -> str:
    """Return a number above those of the records of a shard that was closed after `end`."""
    return str(_LEAST_NUMBER + end * _STEP + _END)


def find_position(number: str, shard: ShardBody, last: int, *, includes: bool) -> int:
    """Return the change to read after, from a sequence number that a client has seen.

    With `includes`, reading starts at that number, not after it. Raises ValidationException for
    a number that is not of this shard.
    """
    offset = int(number) - _LEAST_NUMBER if number.isascii() and number.isdecimal() else -1
    newest = min(last, shard.get("end", last))
    if not shard["start"] * _STEP + _START <= offset <= newest * _STEP + _START:
        raise ValidationException(
            "One or more parameter values were invalid: Invalid SequenceNumber"
        )
    return -(-offset // _STEP) - 1 if includes else offset // _STEP


def check_not_trimmed(
    reader: StorageReader, log: int, shard: ShardBody, after: int, horizon: int
) -> None:
    """Raise TrimmedDataAccessException if a record after a position is past its retention.

    `horizon` is the number of the newest change that is past it.
    """
    until = min(horizon, shard.get("end", horizon))
    if after >= until:
        return
    first, _ = reader.log_span(log)
    low, high = key_range(shard)
    # Changes already removed may have been of this shard; those still stored can be counted.
    if after < first or reader.count_changes(log, after=after, until=until, low=low, high=high):
        raise TrimmedDataAccessException(TRIMMED)
