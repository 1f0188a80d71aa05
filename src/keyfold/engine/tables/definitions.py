"""Validation of table and index definitions, in the order in which the service does it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keyfold.engine.tables.table import IndexBody, KeyElement
from keyfold.engine.tables.throughput import check_new_warm, check_on_demand, merge_throughput
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID

MAX_LOCAL_INDEXES = 5
MAX_GLOBAL_INDEXES = 20
MAX_KEY_PARTS = 4
# A partition key and a sort key.
PAIR = 2
MAX_INCLUDED = 100
MAX_UNITS = 1_000_000_000_000


def check_throughput(throughput: dict[str, Any] | None) -> None:
    """Raise for more capacity units than the service accepts."""
    for name in ("ReadCapacityUnits", "WriteCapacityUnits"):
        units = (throughput or {}).get(name)
        if units is not None and units > MAX_UNITS:
            raise ValidationException(f"Given value {units} for {name} is out of bounds")


def check_billing(mode: str, throughput: dict[str, Any] | None) -> None:
    """Raise unless throughput is given exactly when the billing mode requires it."""
    if mode == "PROVISIONED" and throughput is None:
        raise ValidationException(
            f"{INVALID}ReadCapacityUnits and WriteCapacityUnits "
            "must both be specified when BillingMode is PROVISIONED"
        )
    if mode == "PAY_PER_REQUEST" and throughput is not None:
        raise ValidationException(
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits "
            "can be specified when BillingMode is PAY_PER_REQUEST"
        )


def check_pair_length(elements: list[KeyElement], path: str) -> None:
    """Raise when the key of a table or a local index has more than two attributes.

    `path` is where the key is in the request. Keys of global indexes may have more, so the
    request's shape allows it.
    """
    if len(elements) > PAIR:
        listed = ", ".join(
            f"KeySchemaElement(attributeName={each['AttributeName']}, keyType={each['KeyType']})"
            for each in elements
        )
        raise ValidationException(
            f"1 validation error detected: Value '[{listed}]' at '{path}' failed to satisfy "
            f"constraint: Member must have length less than or equal to {PAIR}"
        )


def check_index_throughput(mode: str, index: dict[str, Any]) -> None:
    """Raise unless an index has throughput exactly when the billing mode requires it."""
    name, throughput = index["IndexName"], index.get("ProvisionedThroughput")
    if mode == "PAY_PER_REQUEST" and throughput is not None:
        raise ValidationException(
            f"{INVALID}ProvisionedThroughput should not be specified for index: {name} "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if mode == "PROVISIONED" and throughput is None:
        raise ValidationException(
            f"{INVALID}ProvisionedThroughput is not specified for index: {name}"
        )
    check_throughput(throughput)
    check_on_demand(index.get("OnDemandThroughput"), mode, name, may_clear=False)
    check_new_warm(index.get("WarmThroughput"), mode, throughput, name)


def check_table_key(elements: list[KeyElement], defined: list[str]) -> None:
    """Raise unless a table's key is one partition key and at most one sort key."""
    if len(defined) < len(elements):
        raise ValidationException("Invalid KeySchema: Some index key attribute have no definition")
    _check_defined(elements, defined)
    _check_pair(elements)


def _check_defined(elements: list[KeyElement], defined: list[str]) -> None:
    names = list(dict.fromkeys(element["AttributeName"] for element in elements))
    if not set(names) <= set(defined):
        raise ValidationException(
            f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(defined)}]"
        )


def _check_pair(elements: list[KeyElement]) -> None:
    names = [element["AttributeName"] for element in elements]
    if len(set(names)) != len(names):
        message = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
        raise ValidationException(message)
    if elements[0]["KeyType"] != "HASH":
        message = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
        raise ValidationException(message)
    if len(elements) > 1 and elements[1]["KeyType"] != "RANGE":
        message = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
        raise ValidationException(message)


def check_local_indexes(
    indexes: list[dict[str, Any]], table_key: list[KeyElement], defined: list[str]
) -> None:
    """Raise unless the local indexes are valid for the table."""
    if not indexes:
        raise ValidationException(f"{INVALID}List of LocalSecondaryIndexes is empty")
    if len(table_key) < PAIR:
        raise ValidationException(
            f"{INVALID}Table KeySchema does not have a range key, "
            "which is required when specifying a LocalSecondaryIndex"
        )
    table_partition = table_key[0]["AttributeName"]
    seen: set[str] = set()
    for index in indexes:
        elements: list[KeyElement] = index["KeySchema"]
        _check_defined(elements, defined)
        _check_pair(elements)
        name, partition = index["IndexName"], elements[0]["AttributeName"]
        if len(elements) < PAIR:
            message = f"{INVALID}Index KeySchema does not have a range key for index: {name}"
            raise ValidationException(message)
        if partition != table_partition:
            raise ValidationException(
                f"{INVALID}Index KeySchema does not have the same leading hash key as table "
                f"KeySchema for index: {name}. "
                f"index hash key: {partition}, table hash key: {table_partition}"
            )
        check_projection(index["Projection"])
        _check_new_name(name, seen)
    if len(indexes) > MAX_LOCAL_INDEXES:
        raise ValidationException(
            f"{INVALID}Number of LocalSecondaryIndexes exceeds per-table limit "
            f"of {MAX_LOCAL_INDEXES}"
        )


def check_global_indexes(
    indexes: list[dict[str, Any]], defined: list[str], taken: Iterable[str]
) -> None:
    """Raise unless the global indexes are well formed and their names are not taken."""
    if not indexes:
        raise ValidationException(f"{INVALID}List of GlobalSecondaryIndexes is empty")
    seen = set(taken)
    for index in indexes:
        check_global_key(index["KeySchema"], defined)
        check_projection(index["Projection"])
        _check_new_name(index["IndexName"], seen)
    if len(indexes) > MAX_GLOBAL_INDEXES:
        raise ValidationException(
            f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit "
            f"of {MAX_GLOBAL_INDEXES}"
        )


def check_global_key(elements: list[KeyElement], defined: list[str]) -> None:
    """Raise unless a global index's key has at most four attributes of each key type."""
    _check_defined(elements, defined)
    if len(elements) <= PAIR and [element["KeyType"] for element in elements] != ["HASH", "HASH"]:
        _check_pair(elements)
        return
    names = [element["AttributeName"] for element in elements]
    if len(set(names)) != len(names):
        message = "The KeySchema contains multiple key attributes with the same name"
        raise ValidationException(message)
    kinds = [element["KeyType"] for element in elements]
    if kinds[0] != "HASH":
        message = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
        raise ValidationException(message)
    if "HASH" in kinds[kinds.index("RANGE") :] if "RANGE" in kinds else False:
        raise ValidationException(
            f"{INVALID}All HASH key attributes must precede RANGE key attributes in the KeySchema"
        )
    for kind in ("HASH", "RANGE"):
        if kinds.count(kind) > MAX_KEY_PARTS:
            raise ValidationException(
                f"{INVALID}The KeySchema exceeds the maximum allowed number "
                f"of {kind} key attributes"
            )


def check_projection(projection: dict[str, Any]) -> None:
    """Raise unless the projection has a type, and its attributes match it without duplicates."""
    kind = projection.get("ProjectionType")
    named = projection.get("NonKeyAttributes")
    if kind is None:
        raise ValidationException(f"{INVALID}Unknown ProjectionType: null")
    if kind != "INCLUDE" and named is not None:
        message = f"{INVALID}ProjectionType is {kind}, but NonKeyAttributes is specified"
        raise ValidationException(message)
    if kind == "INCLUDE" and not named:
        message = f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
        raise ValidationException(message)
    if named is not None and len(set(named)) != len(named):
        duplicate = next(name for name in named if named.count(name) > 1)
        raise ValidationException(f"{INVALID}Duplicate element in NonKeyAttributes: {duplicate}")


def check_included(indexes: Iterable[IndexBody]) -> None:
    """Raise when all indexes together name more attributes than the service allows."""
    total = sum(len(index["projection"].get("NonKeyAttributes", ())) for index in indexes)
    if total > MAX_INCLUDED:
        raise ValidationException(
            f"{INVALID}Number of user-specified projected attributes across all indexes "
            f"exceeds the limit of {MAX_INCLUDED}"
        )


def check_all_used(
    defined: list[str],
    table_key: list[KeyElement],
    index_keys: list[list[KeyElement]],
    searched: list[str],
) -> None:
    """Raise when an attribute is defined twice, or no key and no search schema uses it."""
    keys = [element["AttributeName"] for schema in (table_key, *index_keys) for element in schema]
    keys += searched
    if len(set(defined)) != len(defined):
        seen: set[str] = set()
        duplicate = next(name for name in defined if name in seen or seen.add(name))
        raise ValidationException(f"Attribute Name is duplicated: {duplicate}")
    if set(defined) <= set(keys):
        return
    if not index_keys and not searched:
        raise ValidationException(
            f"{INVALID}Number of attributes in KeySchema does not exactly match "
            "number of attributes defined in AttributeDefinitions"
        )
    raise ValidationException(
        f"{INVALID}Some AttributeDefinitions are not used. "
        f"AttributeDefinitions: [{', '.join(defined)}], "
        f"keys used: [{', '.join(dict.fromkeys(keys))}]"
    )


def check_stream(stream: dict[str, Any] | None) -> None:
    """Raise unless an enabled stream has a view type, and a disabled one has none."""
    if stream is None:
        return
    if stream.get("StreamEnabled") and not stream.get("StreamViewType"):
        raise ValidationException(
            f"{INVALID}Table is being created with a stream enabled, UpdateViewType is required"
        )
    if not stream.get("StreamEnabled") and stream.get("StreamViewType"):
        raise ValidationException(
            f"{INVALID}Table is being created with a stream disabled, "
            "UpdateViewType should not be specified"
        )


def _check_new_name(name: str, seen: set[str]) -> None:
    if name in seen:
        raise ValidationException(f"{INVALID}Duplicate index name: {name}")
    seen.add(name)


def index_body(
    definition: dict[str, Any], *, is_global: bool, column: str, status: str
) -> IndexBody:
    """Return the body of an index from its definition in a request."""
    body = IndexBody(
        name=definition["IndexName"],
        is_global=is_global,
        key=definition["KeySchema"],
        projection=definition["Projection"],
        column=column,
        status=status,
    )
    set_throughput(body, definition)
    return body


def set_throughput(body: IndexBody, given: dict[str, Any]) -> None:
    """Copy the throughput in a definition or change of an index to its body."""
    if given.get("ProvisionedThroughput") is not None:
        body["throughput"] = given["ProvisionedThroughput"]
    if given.get("OnDemandThroughput"):
        body["on_demand"] = merge_throughput(body.get("on_demand"), given["OnDemandThroughput"])
    if given.get("WarmThroughput"):
        body["warm"] = merge_throughput(body.get("warm"), given["WarmThroughput"])
