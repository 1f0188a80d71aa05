"""The shards of a stream: ranges of the hash of partition keys, and their lineage.

A shard takes the changes of the keys in its range from the time it is opened until it is closed.
It is closed after four hours, or when it has taken many records. It then has one child with the
same range or, if it was full and is wide enough, two with half of the range each. So the shard of
a change follows from the change's number and key, and all changes of an item are in one line of
shards, parent before child.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired, TypedDict

from keyfold.engine.items.keys import END
from keyfold.engine.streams.change_log import STREAM_SECONDS

SHARD_SECONDS = 4 * 3_600
SHARD_RECORDS = 10_000

# Row keys begin with the hash of the partition key, in four bytes.
_HASH_BYTES = 4
HASHES = 1 << 8 * _HASH_BYTES
# A shard with a range of this width or less is not split, however busy one of its keys may be.
_LEAST_WIDTH = HASHES >> 8
# How many times records are counted while a shard fills.
_COUNTS_PER_SHARD = 4


class ShardBody(TypedDict):
    """A shard as stored in its stream's record."""

    id: str
    parent: NotRequired[str]
    # Hashes from `low` up to but not including `high`.
    low: int
    high: int
    # Changes after `start`, until `end` once it is closed.
    start: int
    end: NotRequired[int]
    opened_at: float
    closed_at: NotRequired[float]
    # The number of records when they were last counted, and the last change at that time.
    records: int
    counted: int


_REQUIRED_FIELDS = frozenset(ShardBody.__annotations__) - {"parent", "end", "closed_at"}


def check_shard(shard: ShardBody) -> None:
    """Raise KeyError, TypeError or ValueError if a stored shard is invalid."""
    if not shard.keys() >= _REQUIRED_FIELDS or not 0 <= shard["low"] < shard["high"] <= HASHES:
        raise KeyError(shard)
    _ordinal(shard)


def find_shard_faults(shards: list[ShardBody]) -> list[str]:
    """Return the problems of the shards of an enabled stream.

    The open shards must cover every hash exactly once, and each must begin where its parent ended.
    """
    facts: list[str] = []
    open_ones = sorted((each["low"], each["high"]) for each in shards if "end" not in each)
    bounds = [0, *(high for _, high in open_ones)]
    if [low for low, _ in open_ones] != bounds[:-1] or bounds[-1] != HASHES:
        facts.append("has open shards that do not cover every key exactly once")
    by_id = {shard["id"]: shard for shard in shards}
    for shard in shards:
        parent = by_id.get(shard.get("parent", ""))
        if parent is not None and parent.get("end") != shard["start"]:
            facts.append(f"has a shard {shard['id']} that does not begin where its parent ended")
    return facts


def key_range(shard: ShardBody) -> tuple[bytes, bytes]:
    """Return a shard's range of row keys: the first, and the exclusive end."""
    high = END if shard["high"] == HASHES else _to_bytes(shard["high"])
    return _to_bytes(shard["low"]), high


def _to_bytes(number: int) -> bytes:
    return number.to_bytes(_HASH_BYTES, "big")


def find_shard(shards: list[ShardBody], shard_id: str) -> ShardBody | None:
    """Return the shard with an id, or None."""
    return next((shard for shard in shards if shard["id"] == shard_id), None)


def open_first(last: int, now: float) -> list[ShardBody]:
    """Return the shards of a new stream: one that covers every key."""
    return [_open(0, 0, HASHES, last, now, None)]


def close_all(shards: list[ShardBody], last: int, now: float) -> None:
    """Close every open shard without children, since the stream ends."""
    for shard in shards:
        if "end" not in shard:
            _close(shard, last, now)


def is_due(shards: list[ShardBody], last: int, now: float, shard_records: int) -> bool:
    """Return whether `roll` may have to close a shard."""
    step = max(1, shard_records // _COUNTS_PER_SHARD)
    return any(
        now - shard["opened_at"] >= SHARD_SECONDS or last - shard["counted"] >= step
        for shard in shards
        if "end" not in shard
    )


def roll(
    shards: list[ShardBody],
    last: int,
    now: float,
    shard_records: int,
    count: Callable[[int, bytes, bytes], int],
) -> list[ShardBody]:
    """Return the shards after closing those that are due, with their children.

    `last` is the number of the newest change; `count` returns the number of changes after a
    number in a range of row keys.
    """
    # Ids begin with the time, and must not decrease if the clock goes back.
    now = max(now, *(shard["opened_at"] for shard in shards))
    rolled = [shard.copy() for shard in shards]
    ordinal = 1 + max(_ordinal(shard) for shard in shards)
    for shard in rolled[:]:
        if "end" in shard:
            continue
        shard["records"] += count(shard["counted"], *key_range(shard))
        shard["counted"] = last
        low, high = shard["low"], shard["high"]
        is_full = shard["records"] >= shard_records
        if is_full and high - low > _LEAST_WIDTH:
            bounds = [(low, (low + high) // 2), ((low + high) // 2, high)]
        elif is_full or now - shard["opened_at"] >= SHARD_SECONDS:
            bounds = [(low, high)]
        else:
            continue
        _close(shard, last, now)
        for child_low, child_high in bounds:
            rolled.append(_open(ordinal, child_low, child_high, last, now, shard["id"]))
            ordinal += 1
    return rolled


def drop_expired(shards: list[ShardBody], now: float) -> list[ShardBody]:
    """Return the shards without those that were closed so long ago that all records expired."""
    return [
        shard
        for shard in shards
        if "closed_at" not in shard or shard["closed_at"] + STREAM_SECONDS > now
    ]


def _open(
    ordinal: int, low: int, high: int, last: int, now: float, parent: str | None
) -> ShardBody:
    shard = ShardBody(
        # Ids sort in the order in which shards were opened, also within a millisecond.
        id=f"shardId-{max(0, int(now * 1000)):020}-{ordinal:08x}",
        low=low,
        high=high,
        start=last,
        opened_at=now,
        records=0,
        counted=last,
    )
    if parent is not None:
        shard["parent"] = parent
    return shard


def _close(shard: ShardBody, last: int, now: float) -> None:
    shard["end"], shard["closed_at"] = last, now


def _ordinal(shard: ShardBody) -> int:
    return int(shard["id"].rpartition("-")[2], 16)
