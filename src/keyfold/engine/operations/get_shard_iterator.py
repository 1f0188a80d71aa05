"""The GetShardIterator operation."""

from __future__ import annotations

from math import ceil, inf, nextafter
from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageReader
from keyfold.engine.streams.change_log import STREAM_SECONDS
from keyfold.engine.streams.iterators import (
    StreamPosition,
    check_not_trimmed,
    find_position,
    to_iterator,
)
from keyfold.engine.streams.lifecycle import StreamBody, stream_arn, with_stream
from keyfold.engine.streams.shards import ShardBody, find_shard
from keyfold.errors import ResourceNotFoundException, ValidationException
from keyfold.values.wording import INVALID

_BY_NUMBER = frozenset({"AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"})


def get_shard_iterator(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return an iterator for a position in a shard, valid for 15 minutes."""
    now = context.clock()
    kind: str = request["ShardIteratorType"]
    number, timestamp = request.get("SequenceNumber"), request.get("Timestamp")
    _check_parameters(kind, number, timestamp, now)

    def find(reader: StorageReader, stream: StreamBody) -> StreamPosition:
        shard = find_shard(stream["shards"], request["ShardId"])
        if shard is None:
            raise ResourceNotFoundException("Requested resource not found: Shard does not exist")
        after = find_start(reader, stream["log"], shard)
        return StreamPosition(stream_arn(context, stream), shard["id"], after)

    def find_start(reader: StorageReader, log: int, shard: ShardBody) -> int:
        _, last = reader.log_span(log)
        horizon = reader.find_change(log, now - STREAM_SECONDS)
        end = shard.get("end", last)
        if number is not None:
            after = find_position(number, shard, last, includes=kind == "AT_SEQUENCE_NUMBER")
            check_not_trimmed(reader, log, shard, after, horizon)
            return after
        oldest = max(shard["start"], horizon)
        if timestamp is not None:
            # Clients see the times of records in whole seconds.
            before = nextafter(ceil(timestamp), -inf)
            return min(max(oldest, reader.find_change(log, before)), end)
        return end if kind == "LATEST" else min(oldest, end)

    position = with_stream(context, request["StreamArn"], find)
    return {"ShardIterator": to_iterator(position, now)}


def _check_parameters(kind: str, number: str | None, timestamp: float | None, now: float) -> None:
    if number is not None and kind not in _BY_NUMBER:
        raise ValidationException(
            f"{INVALID}SequenceNumber should not be passed for this iterator type"
        )
    if timestamp is not None and kind != "AT_TIMESTAMP":
        raise ValidationException(f"{INVALID}Timestamp should not be passed for this iterator type")
    if number is None and kind in _BY_NUMBER:
        raise ValidationException(f"{INVALID}Invalid SequenceNumber")
    if kind == "AT_TIMESTAMP" and (timestamp is None or timestamp > now):
        raise ValidationException(f"{INVALID}Invalid Timestamp")
