"""Calls to a table's stream: which shards it has, and positions in them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from keyfold.errors import (
    LeasesMissing,
    ResourceInUseException,
    ResourceNotFoundException,
    StreamUnsuitable,
    TrimmedDataAccessException,
    ValidationException,
)
from keyfold.model._changes import VIEW_TYPES, Images
from keyfold.model._tables import Table
from keyfold.store._making import Ask, wait_until_active
from keyfold.store._plans import Plan, Response


class StreamState(NamedTuple):
    """The newest stream of a table; it can be read for a day after it was switched off."""

    arn: str
    label: str
    is_on: bool


class StreamShard(NamedTuple):
    """A part of a stream, with the changes of some of the items."""

    id: str
    parent: str | None
    is_closed: bool


def describe_stream(ask: Ask, table: Table) -> Plan[StreamState | None]:
    """Return the newest stream of a table; None if it never had one."""
    return _read_state((yield from _describe_table(ask, table)))


def _describe_table(ask: Ask, table: Table) -> Plan[Response]:
    return (yield from ask("DescribeTable", {"TableName": table.name}))["Table"]


def _is_on(described: Response) -> bool:
    return bool(described.get("StreamSpecification", {}).get("StreamEnabled"))


def _read_state(described: Response) -> StreamState | None:
    arn = described.get("LatestStreamArn")
    if arn is None:
        return None
    return StreamState(arn, described["LatestStreamLabel"], _is_on(described))


def list_shards(ask: Ask, arn: str) -> Plan[list[StreamShard]]:
    """Return the shards of a stream, parents before children."""
    found: dict[str, StreamShard] = {}
    request: dict[str, Any] = {"StreamArn": arn}
    while True:
        description = (yield from ask("DescribeStream", request))["StreamDescription"]
        for each in description["Shards"]:
            is_closed = "EndingSequenceNumber" in each["SequenceNumberRange"]
            found[each["ShardId"]] = StreamShard(
                each["ShardId"], each.get("ParentShardId"), is_closed
            )
        last = description.get("LastEvaluatedShardId")
        if last is None:
            return sorted(found.values(), key=lambda shard: (_depth(found, shard), shard.id))
        request = {"StreamArn": arn, "ExclusiveStartShardId": last}


def _depth(shards: dict[str, StreamShard], shard: StreamShard) -> int:
    depth = 0
    while shard.parent in shards:
        shard, depth = shards[shard.parent], depth + 1
    return depth


class Opened(NamedTuple):
    """A position in a shard; `is_gap` tells that changes before it are lost."""

    iterator: str
    is_gap: bool = False


def open_shard(
    ask: Ask, arn: str, shard: str, *, after: str | None, at_end: bool
) -> Plan[Opened | None]:
    """Return where to go on after a record, or the beginning or the end; None if it is gone."""
    request: dict[str, Any] = {"StreamArn": arn, "ShardId": shard}
    kind = "LATEST" if at_end else "TRIM_HORIZON"
    try:
        if after is not None:
            asked = {
                **request,
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "SequenceNumber": after,
            }
            with suppress(TrimmedDataAccessException):
                response = yield from ask("GetShardIterator", asked)
                return Opened(response["ShardIterator"])
        response = yield from ask("GetShardIterator", {**request, "ShardIteratorType": kind})
        return Opened(response["ShardIterator"], is_gap=after is not None)
    except ResourceNotFoundException:
        return None


# What must be there before a table can be followed.


def check_stream(ask: Ask, table: Table, *, may_change: bool) -> Plan[StreamState | None]:
    """Return the newest stream of a table, which shows what handlers need; raises StreamUnsuitable.

    A stream that is off is switched on if that is allowed.
    """
    described = yield from _describe_table(ask, table)
    if may_change and not _is_on(described):
        asked = {"TableName": table.name, "StreamSpecification": table.stream_to_dynamodb()}
        # Another worker may be quicker.
        with suppress(ResourceInUseException, ValidationException):
            yield from ask("UpdateTable", asked)
        yield from wait_until_active(ask, table.name)
        described = yield from _describe_table(ask, table)
    if _is_on(described):
        view = described["StreamSpecification"]["StreamViewType"]
        shown: Images = next(images for images, each in VIEW_TYPES.items() if each == view)
        for handler in table.handlers.values():
            if handler.find_problems(table.name, shown):
                fact = f"it shows {shown}, and handler {handler.name!r} needs {handler.images}"
                advice = "Switch it off, and on again with another view type."
                raise StreamUnsuitable(table.name, fact, advice)
    return _read_state(described)


def check_leases(ask: Ask, leases: Table, *, may_make: bool) -> Plan[None]:
    """See to it that the lease table is there; raises LeasesMissing."""
    try:
        yield from ask("DescribeTable", {"TableName": leases.name})
    except ResourceNotFoundException:
        if not may_make:
            raise LeasesMissing(leases.name) from None
        with suppress(ResourceInUseException):
            yield from ask("CreateTable", leases.to_dynamodb())
    yield from wait_until_active(ask, leases.name)
