"""The GetRecords operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.items.responses import Rendering
from keyfold.engine.storage import RowChange, StorageReader
from keyfold.engine.streams.change_log import STREAM_SECONDS
from keyfold.engine.streams.iterators import (
    TRIMMED,
    StreamPosition,
    check_not_trimmed,
    read_iterator,
    to_iterator,
)
from keyfold.engine.streams.lifecycle import StreamBody, with_stream
from keyfold.engine.streams.records import to_record
from keyfold.engine.streams.shards import find_shard, key_range
from keyfold.errors import TrimmedDataAccessException, ValidationException
from keyfold.values.wording import INVALID

MAX_RECORDS = 1_000
MAX_BYTES = 1 << 20


def get_records(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Return the records of a shard that follow a position, and the next position.

    There is no next position after the last record of a closed shard.
    """
    limit = request.get("Limit") or MAX_RECORDS
    if limit > MAX_RECORDS:
        raise ValidationException(f"{INVALID}Limit should be less than or equal to {MAX_RECORDS}")
    now = context.clock()
    arn, shard_id, start = read_iterator(request["ShardIterator"], now)

    def read(
        reader: StorageReader, stream: StreamBody
    ) -> tuple[StreamBody, list[RowChange], int | None]:
        shard = find_shard(stream["shards"], shard_id)
        if shard is None:
            raise TrimmedDataAccessException(TRIMMED)
        log, (low, high) = stream["log"], key_range(shard)
        horizon = reader.find_change(log, now - STREAM_SECONDS)
        check_not_trimmed(reader, log, shard, start, horizon)
        _, last = reader.log_span(log)
        until = shard.get("end", last)
        found = reader.read_changes(
            log,
            after=start,
            until=until,
            low=low,
            high=high,
            limit=limit,
            max_bytes=MAX_BYTES,
        )
        size = sum(len(change.old or b"") + len(change.new or b"") for change in found)
        is_all = len(found) < limit and size < MAX_BYTES
        # Skip past changes of other shards too, so that the next call need not read them again.
        after = until if is_all else found[-1].sequence
        return stream, found, after if "end" not in shard or after < until else None

    stream, changes, after = with_stream(context, arn, read)
    # Rendered after the read transaction, which would make writers wait.
    response: dict[str, Any] = {
        "Records": [to_record(context, stream, arn, change, rendering) for change in changes]
    }
    if after is not None:
        response["NextShardIterator"] = to_iterator(StreamPosition(arn, shard_id, after), now)
    return response
