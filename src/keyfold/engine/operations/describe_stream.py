"""The DescribeStream operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.streams.iterators import ending_number, starting_number
from keyfold.engine.streams.lifecycle import stream_arn, with_stream
from keyfold.engine.streams.shards import ShardBody
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID

PAGE_SHARDS = 100


def describe_stream(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a stream and a page of its shards, parents before children."""
    limit = request.get("Limit") or PAGE_SHARDS
    if limit > PAGE_SHARDS:
        raise ValidationException(
            f"{INVALID}Limit cannot be greater than the maximum: {PAGE_SHARDS}"
        )
    stream = with_stream(context, request["StreamArn"], lambda _, stream: stream)
    shards = stream["shards"]
    wanted = request.get("ShardFilter")
    if wanted is not None:
        shards = [shard for shard in shards if shard.get("parent") == wanted["ShardId"]]
    start = request.get("ExclusiveStartShardId")
    if start is not None:
        # Ids sort in shard order, so the start may be the id of a shard that no longer exists.
        shards = [shard for shard in shards if shard["id"] > start]
    page = shards[:limit]
    described: dict[str, Any] = {
        "StreamArn": stream_arn(context, stream),
        "StreamLabel": stream["label"],
        "StreamStatus": "DISABLED" if "end" in stream else "ENABLED",
        "StreamViewType": stream["view"],
        "CreationRequestDateTime": stream["created_at"],
        "TableName": stream["table"],
        "KeySchema": stream["key"],
        "Shards": [_describe(shard) for shard in page],
    }
    if len(page) < len(shards):
        described["LastEvaluatedShardId"] = page[-1]["id"]
    return {"StreamDescription": described}


def _describe(shard: ShardBody) -> dict[str, Any]:
    numbers = {"StartingSequenceNumber": starting_number(shard)}
    if "end" in shard:
        numbers["EndingSequenceNumber"] = ending_number(shard["end"])
    described: dict[str, Any] = {"ShardId": shard["id"], "SequenceNumberRange": numbers}
    if "parent" in shard:
        described["ParentShardId"] = shard["parent"]
    return described
