"""Shard iterators: positions in a shard, as clients carry them from call to call.

Everything that an iterator says is in its text, so any process that has the file open can go on
from it. Positions are sequence numbers of the log; what clients see of those are decimal numbers
of one width, so that they sort as text, too.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, NamedTuple

import orjson

from keyfold.engine._shards import ShardBody, key_range
from keyfold.engine.storage import StorageReader
from keyfold.errors import (
    ExpiredIteratorException,
    TrimmedDataAccessException,
    ValidationException,
)

ITERATOR_SECONDS = 15 * 60

TRIMMED = "The data you are trying to access has been trimmed"

_KIND = "1"

# 21 digits, the fewest that the API knows.
_LEAST_NUMBER = 10**20
# Between the numbers of two changes there is room for the end of a shard and the start of the
# next: a shard without a record has two numbers as well.
_STEP = 4
_END, _START = 1, 2


class StreamPosition(NamedTuple):
    """Where to go on reading: in a shard of a stream, after a change."""

    stream: str
    shard: str
    after: int


def to_iterator(position: StreamPosition, now: float) -> str:
    """Return a position as clients carry it, good for fifteen minutes."""
    place = orjson.dumps([position.shard, position.after, now])
    return f"{position.stream}|{_KIND}|{urlsafe_b64encode(place).decode()}"


def read_iterator(text: str, now: float) -> StreamPosition:
    """Return the position that an iterator means.

    Raises ExpiredIteratorException for one that is too old, ValidationException for one that
    never was.
    """
    try:
        stream, kind, place = text.rsplit("|", 2)
        if kind != _KIND:
            raise ValueError(kind)
        raw = urlsafe_b64decode(place)
        shard, after, issued_at = _check_types(orjson.loads(raw))
    except (TypeError, ValueError):
        raise ValidationException("Invalid ShardIterator") from None
    if now - issued_at >= ITERATOR_SECONDS:
        raise ExpiredIteratorException("The provided iterator exceeds the maximum age allowed.")
    return StreamPosition(stream, shard, after)


def _check_types(parts: Any) -> tuple[str, int, float]:
    shard, after, issued_at = parts
    # A clock may tell whole seconds.
    if not (
        isinstance(shard, str) and isinstance(after, int) and isinstance(issued_at, int | float)
    ):
        raise TypeError(parts)
    return shard, after, issued_at


def to_sequence_number(sequence: int) -> str:
    """Return the number of a change as clients see it.

    >>> to_sequence_number(1)
    '100000000000000000004'
    """
    return str(_LEAST_NUMBER + sequence * _STEP)


def starting_number(shard: ShardBody) -> str:
    """Return a number below those of all records of a shard, and above those before it."""
    return str(_LEAST_NUMBER + shard["start"] * _STEP + _START)


def ending_number(end: int) -> str:
    """Return a number above those of all records of a shard that was closed after a change."""
    return str(_LEAST_NUMBER + end * _STEP + _END)


def find_position(number: str, shard: ShardBody, last: int, *, includes: bool) -> int:
    """Return the change after which to read, from a number that a client has seen.

    Raises ValidationException for one that this shard cannot have given.
    """
    place = int(number) - _LEAST_NUMBER if number.isascii() and number.isdecimal() else -1
    newest = min(last, shard.get("end", last))
    if not shard["start"] * _STEP + _START <= place <= newest * _STEP + _START:
        raise ValidationException(
            "One or more parameter values were invalid: Invalid SequenceNumber"
        )
    return -(-place // _STEP) - 1 if includes else place // _STEP


def check_not_trimmed(
    reader: StorageReader, log: int, shard: ShardBody, after: int, horizon: int
) -> None:
    """Raise TrimmedDataAccessException where a record that follows a position is too old.

    `horizon` is the number of the newest change that is.
    """
    until = min(horizon, shard.get("end", horizon))
    if after >= until:
        return
    first, _ = reader.log_span(log)
    low, high = key_range(shard)
    # What is removed may have been of this shard; of what is still there it can be told.
    if after < first or reader.count_changes(log, after=after, until=until, low=low, high=high):
        raise TrimmedDataAccessException(TRIMMED)
