"""Tables of a database, read without a declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from keyfold.errors import ResourceNotFoundException, ServiceError, TableMissing
from keyfold.imports._inference import infer_entities
from keyfold.imports._inferred import InferredIndex, InferredTable
from keyfold.imports._naming import quote
from keyfold.store import Executor
from keyfold.values import Item

_PROJECTIONS = {"ALL": "all", "KEYS_ONLY": "keys"}
_STREAMS = {
    "KEYS_ONLY": "keys",
    "NEW_IMAGE": "new",
    "OLD_IMAGE": "old",
    "NEW_AND_OLD_IMAGES": "new and old",
}
DEFAULT_LIMIT = 10_000


def import_dynamodb(
    database: Executor, name: str, *, url: str = "", limit: int | None = DEFAULT_LIMIT
) -> InferredTable:
    """Return a table of a database, with entities inferred from its items, `limit` of them at most.

    Raises TableMissing.
    """
    described = _describe(database, name, url)
    ttl = _find_ttl(database, name)
    table = read_description(described, ttl=ttl)
    items = [*islice(_scan(database, name), limit)]
    made = infer_entities(table, items, ttl=ttl)
    if not made.entities:
        raise TableMissing(url, f"table {name} has no items", "Entities are inferred from items.")
    return made


def _describe(database: Executor, name: str, url: str) -> Mapping[str, Any]:
    try:
        return database.execute("DescribeTable", {"TableName": name})["Table"]
    except ResourceNotFoundException:
        known = ", ".join(database.execute("ListTables", {})["TableNames"]) or "none"
        fact = f"there is no table {name!r}; it has {known}"
        raise TableMissing(url, fact, "Name one of those.") from None


def _find_ttl(database: Executor, name: str) -> str | None:
    try:
        response = database.execute("DescribeTimeToLive", {"TableName": name})
    except ServiceError:
        return None  # some endpoints do not have it, and a principal may lack the right
    described: Any = response["TimeToLiveDescription"]
    is_on = described.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return described.get("AttributeName") if is_on else None


def _scan(database: Executor, name: str) -> Iterator[Item]:
    request: dict[str, Any] = {"TableName": name}
    while True:
        page = database.execute("Scan", request)
        yield from page["Items"]
        if not page.get("LastEvaluatedKey"):
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def read_description(described: Mapping[str, Any], *, ttl: str | None = None) -> InferredTable:
    """Return a table without entities, of its description by DescribeTable."""
    partition, sort = _read_key(described["KeySchema"])
    types = {
        each["AttributeName"]: each["AttributeType"] for each in described["AttributeDefinitions"]
    }
    indexes = tuple(
        _read_index(each, is_local=is_local)
        for role, is_local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True))
        for each in described.get(role) or ()
    )
    settings: dict[str, str] = {}
    if ttl is not None:
        settings["ttl"] = quote(ttl)
    stream: Any = described.get("StreamSpecification") or {}
    if stream.get("StreamEnabled"):
        settings["stream"] = quote(_STREAMS[stream["StreamViewType"]])
    key_types = {name: kind for name, kind in types.items() if kind != "S"}
    return InferredTable(
        described["TableName"],
        partition[0],
        sort[0] if sort else None,
        key_types=key_types,
        indexes=indexes,
        settings=settings,
    )


def _read_key(schema: Sequence[Mapping[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    partition = tuple(each["AttributeName"] for each in schema if each["KeyType"] == "HASH")
    sort = tuple(each["AttributeName"] for each in schema if each["KeyType"] == "RANGE")
    return partition, sort


def _read_index(described: Mapping[str, Any], *, is_local: bool) -> InferredIndex:
    partition, sort = _read_key(described["KeySchema"])
    projection: Any = described["Projection"]
    project = _PROJECTIONS.get(projection["ProjectionType"])
    named = tuple(projection.get("NonKeyAttributes") or ())
    return InferredIndex(described["IndexName"], partition, sort, project or named, is_local)
