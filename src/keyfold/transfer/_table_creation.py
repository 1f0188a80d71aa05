"""Creation of the tables that copies and loads write to.

A table is created from a declaration, or with the schema of the source table.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from keyfold.errors import ResourceInUseException, ResourceNotFoundException
from keyfold.model import Table
from keyfold.store._table_creation import wait_until_active
from keyfold.store._unique_marker import guard_names, plan_record_complete
from keyfold.transfer._calls import MeteredCaller


def has_table(caller: MeteredCaller, name: str) -> bool:
    """Return whether a database has a table."""
    try:
        caller.call("DescribeTable", {"TableName": name})
    except ResourceNotFoundException:
        return False
    return True


def read_ttl(caller: MeteredCaller, name: str) -> str | None:
    """Return the name of a table's TTL attribute; None if TTL is off."""
    described = caller.call("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]
    is_on = described.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return described.get("AttributeName") if is_on else None


def ensure_declared(caller: MeteredCaller, table: Table, name: str) -> None:
    """Create a table from its declaration, as `name`, unless a table of that name exists."""
    table.check()
    if _ensure(caller, {**table.to_dynamodb(), "TableName": name}, table.ttl):
        # It is empty, and every write from now on maintains the guards.
        caller.run(plan_record_complete(caller.plan, table, name, guard_names(table)))


def ensure_like(caller: MeteredCaller, described: dict[str, Any], ttl: str | None) -> bool:
    """Create a table from a DescribeTable description, unless one exists; return whether it did.

    The new table has the same keys, indexes and TTL. It has no stream yet: that is enabled once the
    items are there, so that handlers do not take them for changes. It is billed per request: the
    source's provisioned capacity says nothing about what the target needs.
    """
    request: dict[str, Any] = {
        "TableName": described["TableName"],
        "KeySchema": described["KeySchema"],
        "AttributeDefinitions": described["AttributeDefinitions"],
        "BillingMode": "PAY_PER_REQUEST",
    }
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if described.get(kind):
            request[kind] = [
                {part: index[part] for part in ("IndexName", "KeySchema", "Projection")}
                for index in described[kind]
            ]
    return _ensure(caller, request, ttl)


def enable_stream_like(caller: MeteredCaller, described: dict[str, Any], name: str) -> None:
    """Enable the stream that a DescribeTable description has, if any, on a table without one."""
    stream = described.get("StreamSpecification")
    if not stream or not stream.get("StreamEnabled"):
        return
    table = caller.call("DescribeTable", {"TableName": name})["Table"]
    if not table.get("StreamSpecification", {}).get("StreamEnabled"):
        caller.call("UpdateTable", {"TableName": name, "StreamSpecification": stream})
        caller.run(wait_until_active(caller.plan, name))


def _ensure(caller: MeteredCaller, request: dict[str, Any], ttl: str | None) -> bool:
    """Create a table unless it exists; return whether it was created."""
    name = {"TableName": request["TableName"]}
    is_missing = not has_table(caller, request["TableName"])
    if is_missing:
        # Another process may create the table first; wait until it is active in either case.
        with suppress(ResourceInUseException):
            caller.call("CreateTable", request)
    caller.run(wait_until_active(caller.plan, request["TableName"]))
    if ttl is None or read_ttl(caller, request["TableName"]) is not None:
        return is_missing
    # A run killed right after CreateTable leaves an empty table without TTL. A table that has
    # items is left alone.
    if not caller.call("Scan", {**name, "Limit": 1})["Items"]:
        specification = {"AttributeName": ttl, "Enabled": True}
        caller.call("UpdateTimeToLive", {**name, "TimeToLiveSpecification": specification})
    return is_missing
