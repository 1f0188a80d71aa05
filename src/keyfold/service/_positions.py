"""Positions in a table's stream, and event ids: positions that are sealed for one principal.

A position says how far each shard was read. A client gets it as the id of an event, and sends it back
as `Last-Event-ID`. It is encrypted and authenticated for the principal, so it shows nothing of the
stream, and is of no use to others. Its length depends on the number of shards only in coarse steps.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from keyfold.errors import CursorInvalid, EventIdInvalid
from keyfold.store._cursors import CursorBox

_FORMAT = 2
_TAG_BYTES = 8
# Sequence numbers have up to 40 digits.
_NUMBER_BYTES = 17
_HEADER = struct.Struct(f">BQ{_TAG_BYTES}sH")
_ENTRY = struct.Struct(f">{_TAG_BYTES}sBB{_NUMBER_BYTES}s")
_START, _AFTER, _SINCE = range(3)
# An id has room for 8 shards, for 37, for 151 and so on: a length that followed the number of shards
# would tell a client how much others write.
_FIRST_SIZE, _STEP = 256, 4
_MAX_ID_LENGTH = 100_000


class ShardPoint(NamedTuple):
    """How far a shard was read: from its beginning, after a record, or from a time on.

    `since` is for a shard in which nothing was read after that time, in seconds since 1970.
    """

    after: str | None = None
    since: int | None = None

    @property
    def number(self) -> int:
        """The sequence number of the last record that was read; -1 if there is none."""
        return -1 if self.after is None else int(self.after)


@dataclass(frozen=True, slots=True)
class WatchPosition:
    """How far a stream was read, by the tags of its shards; `at` is when, in seconds since 1970."""

    at: int
    stream: bytes
    shards: Mapping[bytes, ShardPoint]


def make_tag(name: str) -> bytes:
    """Return a short hash of the label of a stream or of the id of a shard."""
    return blake2b(name.encode(), digest_size=_TAG_BYTES).digest()


def pack_position(position: WatchPosition) -> bytes:
    """Return a position as bytes, padded to one of a few sizes."""
    parts = [_HEADER.pack(_FORMAT, position.at, position.stream, len(position.shards))]
    for tag, point in position.shards.items():
        if point.after is not None:
            kind, digits, number = _AFTER, len(point.after), int(point.after)
        elif point.since is not None:
            kind, digits, number = _SINCE, 0, max(0, point.since)
        else:
            kind, digits, number = _START, 0, 0
        parts.append(_ENTRY.pack(tag, kind, digits, number.to_bytes(_NUMBER_BYTES)))
    packed = b"".join(parts)
    size = _FIRST_SIZE
    while size < len(packed):
        size *= _STEP
    return packed.ljust(size, b"\0")


def unpack_position(packed: bytes) -> WatchPosition | None:
    """Return the position in the result of `pack_position`; None for another format."""
    if len(packed) < _HEADER.size:
        return None
    form, at, stream, count = _HEADER.unpack_from(packed)
    if form != _FORMAT or len(packed) < _HEADER.size + count * _ENTRY.size:
        return None
    shards: dict[bytes, ShardPoint] = {}
    for place in range(count):
        tag, kind, digits, data = _ENTRY.unpack_from(packed, _HEADER.size + place * _ENTRY.size)
        number = int.from_bytes(data)
        match kind:
            case 1:
                # Some engines' numbers begin with zeros.
                shards[tag] = ShardPoint(after=str(number).zfill(digits))
            case 2:
                shards[tag] = ShardPoint(since=number)
            case _:
                shards[tag] = ShardPoint()
    return WatchPosition(at, stream, shards)


class EventIds:
    """Seals positions in one table's stream as event ids of one principal, and opens them."""

    __slots__ = ("_binding", "_box")

    def __init__(self, box: CursorBox, table: str) -> None:
        # Cursors of queries have other bindings, so no cursor is an event id.
        self._box, self._binding = box, f"changes\0{table}"

    def seal(self, packed: bytes) -> str:
        """Return the event id of a packed position."""
        return self._box.seal_bytes(packed, self._binding)

    def open(self, event_id: str) -> WatchPosition:
        """Return the position of an event id; raises EventIdInvalid."""
        if len(event_id) > _MAX_ID_LENGTH:
            raise EventIdInvalid("it is too long")
        try:
            position = unpack_position(self._box.open_bytes(event_id, self._binding))
        except CursorInvalid as error:
            fact = error.fact.replace("a cursor", "an event id").replace("query", "table")
            raise EventIdInvalid(fact) from None
        if position is None:
            raise EventIdInvalid("it is of another version of the service")
        return position
