"""Tables that are made to take data: by a declaration, or like the one the data comes from."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from keyfold.errors import ResourceInUseException, ResourceNotFoundException
from keyfold.model import Table
from keyfold.transfer._calls import CallEnvironment, Caller

_POLL_SECONDS = 1.0


def has_table(caller: Caller, name: str) -> bool:
    """Tell whether a database has a table."""
    try:
        caller.call("DescribeTable", {"TableName": name})
    except ResourceNotFoundException:
        return False
    return True


def read_ttl(caller: Caller, name: str) -> str | None:
    """Return the attribute by which a table's items expire; None if they do not."""
    told = caller.call("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]
    is_on = told.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return told.get("AttributeName") if is_on else None


def ensure_declared(caller: Caller, surroundings: CallEnvironment, table: Table, name: str) -> None:
    """Make a table by its declaration if it is not there, under a name that may be another."""
    table.check()
    _ensure(caller, surroundings, {**table.to_dynamodb(), "TableName": name}, table.ttl)


def ensure_like(
    caller: Caller, surroundings: CallEnvironment, described: dict[str, Any], ttl: str | None
) -> None:
    """Make a table as it is described if it is not there: keys, indexes and expiry.

    It is paid for by request: what capacity another database needs is not this one's to say.
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
    _ensure(caller, surroundings, request, ttl)


def _ensure(
    caller: Caller, surroundings: CallEnvironment, request: dict[str, Any], ttl: str | None
) -> None:
    name = {"TableName": request["TableName"]}
    if not has_table(caller, request["TableName"]):
        # Somebody else may be quicker; the table is waited for all the same.
        with suppress(ResourceInUseException):
            caller.call("CreateTable", request)
    while caller.call("DescribeTable", name)["Table"]["TableStatus"] != "ACTIVE":
        surroundings.sleep(_POLL_SECONDS)
    if ttl is None or read_ttl(caller, request["TableName"]) is not None:
        return
    # A run that was killed may have made the table and no more. One with items is left alone.
    if not caller.call("Scan", {**name, "Limit": 1})["Items"]:
        specification = {"AttributeName": ttl, "Enabled": True}
        caller.call("UpdateTimeToLive", {**name, "TimeToLiveSpecification": specification})
