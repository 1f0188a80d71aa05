"""The current state of tables, read with DynamoDB's API."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from keyfold.errors import ResourceNotFoundException
from keyfold.model import Billing, OnDemand, Provisioned
from keyfold.store import Executor
from keyfold.store._drivers import drive
from keyfold.store._plans import Plan, Response, repeat_call

KeyShape = tuple[tuple[str, str, str], ...]
"""The name, HASH or RANGE, and the type of each attribute of a key."""


class IndexState(NamedTuple):
    """An existing index; `holds` is its projection type and the non-key attributes it lists."""

    name: str
    key: KeyShape
    holds: tuple[str, frozenset[str]]
    is_local: bool
    status: str


class TableState(NamedTuple):
    """An existing table, its settings and indexes."""

    name: str
    arn: str
    status: str
    key: KeyShape
    indexes: Mapping[str, IndexState]
    billing: Billing
    is_protected: bool
    stream: str | None
    ttl: str | None
    tags: Mapping[str, str]

    @property
    def is_settled(self) -> bool:
        """Whether no change is in progress, so that the table accepts another."""
        return self.status == "ACTIVE" and all(
            index.status == "ACTIVE" for index in self.indexes.values()
        )


def read_state(database: Executor, name: str) -> TableState | None:
    """Return the current state of a table; None if it does not exist."""
    return drive(plan_state(name), database.execute, time.sleep)


def plan_state(name: str) -> Plan[TableState | None]:
    """Read the current state of a table; None if it does not exist."""
    try:
        described = (yield from _read("DescribeTable", {"TableName": name}))["Table"]
        expiry = yield from _read("DescribeTimeToLive", {"TableName": name})
    except ResourceNotFoundException:
        return None
    tags = yield from _read_tags(described["TableArn"])
    types = {
        each["AttributeName"]: each["AttributeType"]
        for each in described.get("AttributeDefinitions", ())
    }
    indexes = [
        _read_index(each, types, is_local=is_local)
        for field, is_local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True))
        for each in described.get(field) or ()
    ]
    stream: dict[str, Any] = described.get("StreamSpecification") or {}
    return TableState(
        name=name,
        arn=described["TableArn"],
        status=described["TableStatus"],
        key=shape_key(described["KeySchema"], types),
        indexes={index.name: index for index in indexes},
        billing=_read_billing(described),
        is_protected=bool(described.get("DeletionProtectionEnabled")),
        stream=stream.get("StreamViewType") if stream.get("StreamEnabled") else None,
        ttl=_read_expiry(expiry.get("TimeToLiveDescription") or {}),
        tags=tags,
    )


def _read(operation: str, request: dict[str, Any]) -> Plan[Response]:
    return repeat_call(random.random, operation, request)


def shape_key(elements: list[dict[str, str]], types: Mapping[str, str]) -> KeyShape:
    """Return a key schema with attribute types, in a form that can be compared."""
    return tuple(
        (each["AttributeName"], each["KeyType"], types.get(each["AttributeName"], "?"))
        for each in elements
    )


def shape_projection(projection: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    """Return a projection in a form that can be compared, regardless of the order of names."""
    return projection["ProjectionType"], frozenset(projection.get("NonKeyAttributes") or ())


def _read_index(
    described: Mapping[str, Any], types: Mapping[str, str], *, is_local: bool
) -> IndexState:
    return IndexState(
        name=described["IndexName"],
        key=shape_key(described["KeySchema"], types),
        holds=shape_projection(described["Projection"]),
        is_local=is_local,
        # Local indexes have no status.
        status=described.get("IndexStatus", "ACTIVE"),
    )


def _read_billing(described: Mapping[str, Any]) -> Billing:
    summary: dict[str, Any] = described.get("BillingModeSummary") or {}
    throughput: dict[str, Any] = described.get("ProvisionedThroughput") or {}
    if summary.get("BillingMode") == "PAY_PER_REQUEST":
        return OnDemand(
            *_maximums(described),
            indexes={
                each["IndexName"]: OnDemand(*_maximums(each))
                for each in described.get("GlobalSecondaryIndexes") or ()
            },
        )
    return Provisioned(
        *_units(throughput),
        indexes={
            each["IndexName"]: Provisioned(*_units(each.get("ProvisionedThroughput") or {}))
            for each in described.get("GlobalSecondaryIndexes") or ()
        },
    )


def _maximums(described: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the maximums of a table or index on demand; the service describes none as -1."""
    found: dict[str, Any] = described.get("OnDemandThroughput") or {}
    read, write = (found.get(f"Max{each}RequestUnits", -1) for each in ("Read", "Write"))
    return None if read < 0 else read, None if write < 0 else write


def _units(throughput: Mapping[str, Any]) -> tuple[int, int]:
    return throughput.get("ReadCapacityUnits", 0), throughput.get("WriteCapacityUnits", 0)


def _read_expiry(described: Mapping[str, Any]) -> str | None:
    is_on = described.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return described.get("AttributeName") if is_on else None


def _read_tags(arn: str) -> Plan[dict[str, str]]:
    tags: dict[str, str] = {}
    request: dict[str, Any] = {"ResourceArn": arn}
    while True:
        response = yield from _read("ListTagsOfResource", request)
        tags |= {each["Key"]: each["Value"] for each in response.get("Tags") or ()}
        if not response.get("NextToken"):
            return tags
        request = {"ResourceArn": arn, "NextToken": response["NextToken"]}
