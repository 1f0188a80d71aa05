"""Read streams as a consumer does: shard by shard, parents before their children."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyfold.engine import Engine


def list_shards(engine: Engine, arn: str, page: int = 2) -> list[dict[str, Any]]:
    """Return every shard of a stream, in the order in which they are listed."""
    shards: list[dict[str, Any]] = []
    request: dict[str, Any] = {"StreamArn": arn, "Limit": page}
    while True:
        described = engine.execute("DescribeStream", request)["StreamDescription"]
        shards += described["Shards"]
        if "LastEvaluatedShardId" not in described:
            return shards
        request["ExclusiveStartShardId"] = described["LastEvaluatedShardId"]


def open_shards(engine: Engine, arn: str) -> list[dict[str, Any]]:
    """Return the open shards."""
    shards = list_shards(engine, arn)
    return [each for each in shards if "EndingSequenceNumber" not in each["SequenceNumberRange"]]


def get_iterator(
    engine: Engine, arn: str, shard: str, kind: str = "TRIM_HORIZON", **more: Any
) -> str:
    """Return an iterator for a shard."""
    request = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind, **more}
    return engine.execute("GetShardIterator", request)["ShardIterator"]


def read_on(
    engine: Engine, iterator: str, limit: int | None = None
) -> tuple[list[dict[str, Any]], str | None]:
    """Read from an iterator until there are no more records; return them and the next iterator."""
    found: list[dict[str, Any]] = []
    request: dict[str, Any] = {} if limit is None else {"Limit": limit}
    place: str | None = iterator
    while place is not None:
        answer = engine.execute("GetRecords", {**request, "ShardIterator": place})
        found += answer["Records"]
        place = answer.get("NextShardIterator")
        if not answer["Records"]:
            break
    return found, place


def read_stream(engine: Engine, arn: str, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the records of all shards; those of a child only after its parent's."""
    known: set[str] = set()
    ended: set[str] = set()
    for shard in list_shards(engine, arn):
        parent = shard.get("ParentShardId")
        assert parent is None or parent in ended or parent not in known
        known.add(shard["ShardId"])
        records, place = read_on(engine, get_iterator(engine, arn, shard["ShardId"]), limit)
        if place is None:
            ended.add(shard["ShardId"])
        yield from records
