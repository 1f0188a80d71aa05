"""Calls to a table's stream: its state, its shards, and positions in them."""

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
from keyfold.store._plans import MakeCall, Plan, Response
from keyfold.store._table_creation import wait_until_active


class StreamState(NamedTuple):
    """The newest stream of a table; it can be read for a day after it was disabled."""

    arn: str
    label: str
    is_on: bool


class StreamShard(NamedTuple):
    """A shard of a stream, which has the changes of some of the items."""

    id: str
    parent: str | None
    is_closed: bool


def describe_stream(call: MakeCall, table: Table) -> Plan[StreamState | None]:
    """Return the newest stream of a table; None if it never had one."""
    return _read_state((yield from _describe_table(call, table)))


def _describe_table(call: MakeCall, table: Table) -> Plan[Response]:
    return (yield from call("DescribeTable", {"TableName": table.name}))["Table"]


def _is_on(described: Response) -> bool:
    return bool(described.get("StreamSpecification", {}).get("StreamEnabled"))


def _read_state(described: Response) -> StreamState | None:
    arn = described.get("LatestStreamArn")
    if arn is None:
        return None
    return StreamState(arn, described["LatestStreamLabel"], _is_on(described))


def list_shards(call: MakeCall, arn: str) -> Plan[list[StreamShard]]:
    """Return the shards of a stream, parents before children."""
    found: dict[str, StreamShard] = {}
    request: dict[str, Any] = {"StreamArn": arn}
    while True:
        description = (yield from call("DescribeStream", request))["StreamDescription"]
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


class ShardPosition(NamedTuple):
    """A position in a shard; `is_gap` if changes before it were dropped unread."""

    iterator: str
    is_gap: bool = False


def open_shard(
    call: MakeCall, arn: str, shard: str, *, after: str | None, at_end: bool
) -> Plan[ShardPosition | None]:
    """Return the position after a record, or the beginning or end of a shard.

    Return None if the shard no longer exists.
    """
    request: dict[str, Any] = {"StreamArn": arn, "ShardId": shard}
    kind = "LATEST" if at_end else "TRIM_HORIZON"
    try:
        if after is not None:
            payload = {
                **request,
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "SequenceNumber": after,
            }
            with suppress(TrimmedDataAccessException):
                response = yield from call("GetShardIterator", payload)
                return ShardPosition(response["ShardIterator"])
        response = yield from call("GetShardIterator", {**request, "ShardIteratorType": kind})
        return ShardPosition(response["ShardIterator"], is_gap=after is not None)
    except ResourceNotFoundException:
        return None


# Prerequisites for following a table.


def check_stream(call: MakeCall, table: Table, *, may_change: bool) -> Plan[StreamState | None]:
    """Return the newest stream of a table; with `may_change`, enable it if it is off.

    Raises StreamUnsuitable if its view type does not include the images that handlers need.
    """
    described = yield from _describe_table(call, table)
    if may_change and not _is_on(described):
        payload = {"TableName": table.name, "StreamSpecification": table.stream_to_dynamodb()}
        # Another worker may have enabled it first.
        with suppress(ResourceInUseException, ValidationException):
            yield from call("UpdateTable", payload)
        yield from wait_until_active(call, table.name)
        described = yield from _describe_table(call, table)
    if _is_on(described):
        view = described["StreamSpecification"]["StreamViewType"]
        shown: Images = next(images for images, each in VIEW_TYPES.items() if each == view)
        for handler in table.handlers.values():
            if handler.find_problems(table.name, shown):
                fact = f"its records show {shown}; handler {handler.name!r} needs {handler.images}"
                advice = "Disable it, and enable it again with another view type."
                raise StreamUnsuitable(table.name, fact, advice)
    return _read_state(described)


def check_leases(call: MakeCall, leases: Table, *, may_make: bool) -> Plan[None]:
    """Wait until the lease table is active, creating it with `may_make`; raises LeasesMissing."""
    try:
        yield from call("DescribeTable", {"TableName": leases.name})
    except ResourceNotFoundException:
        if not may_make:
            raise LeasesMissing(leases.name) from None
        with suppress(ResourceInUseException):
            yield from call("CreateTable", leases.to_dynamodb())
    yield from wait_until_active(call, leases.name)
